"""Show episodes in the terminal: the program `laconic watch`."""

from laconic.experiments.command_line.programs import Program

WATCH = Program(
    "show the episodes of a run in the terminal, also during the run",
    "laconic.extras.viewer.watch",
)
"""Registered as `watch`."""
