"""Show episodes in the terminal: the program `laconic watch`."""

from laconic.experiments.command_line.programs import Program

WATCH = Program(
    "look at episodes in the terminal, also of a run that goes on", "laconic.extras.viewer.watch"
)
"""Registered as `watch`."""
