"""Compare a team with single agents, votes, debates and scripts: the program `laconic compare`."""

from laconic.experiments.command_line.programs import Program

COMPARE = Program(
    "compare a team with single agents, votes, debates and scripts",
    "laconic.extras.compare.compare",
    "compare",
    several=True,
    record="laconic.extras.compare.entries.CompareProgram",
)
"""Registered as `compare`."""
