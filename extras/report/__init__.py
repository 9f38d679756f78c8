"""Pages and verdicts on runs: the programs `laconic report`, `doctor` and `explain`."""

from laconic.experiments.command_line.programs import Program

REPORT = Program(
    "write the page of a run or of a sweep: curves, figures, transcripts",
    "laconic.extras.report.write",
)
"""Registered as `report`."""
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
