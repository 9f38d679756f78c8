"""A benchmark: named sets of environments, one comparable score, and the statistics of the field.

`laconic benchmark` trains learners on a set and reports them; `laconic card` describes an
environment.
"""

from laconic.experiments.command_line.programs import Program

BENCHMARK = Program(
    "train learners on a named set of environments, and report them beside others' results",
    "laconic.extras.benchmark.command",
)
"""Registered as `benchmark`."""
CARD = Program(
    "describe an environment: its tasks, what scripts and its start reach, and what that costs",
    "laconic.extras.benchmark.card",
)
"""Registered as `card`."""
