"""Write the beginning of an environment or a method of one's own: the program `laconic init`."""

from laconic.experiments.command_line.programs import Program

INIT = Program(
    "write the package of an environment or a method of your own, with a test",
    "laconic.extras.init.write",
)
"""Registered as `init`."""
