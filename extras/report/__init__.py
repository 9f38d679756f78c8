"""Read runs: `laconic doctor` says what is wrong with one, and `explain` how it learned."""

from laconic.experiments.command_line.programs import Program

DOCTOR = Program(
    "say what is wrong with a run, with figures and the settings to change",
    "laconic.extras.report.doctor",
)
"""Registered as `doctor`."""
EXPLAIN = Program(
    "explain the advantages of a training group, number by number",
    "laconic.extras.report.explain",
)
"""Registered as `explain`."""
