"""Measure the cost of environments and training steps: the program `laconic measure-speed`."""

from __future__ import annotations

from typing import Any

from laconic.experiments.command_line.programs import Program

MEASURE_SPEED = Program(
    "measure the cost of the environment and of a training step",
    "laconic.extras.speed.measure_speed",
    "measure_speed",
    check="laconic.extras.speed:check",
)
"""Registered as `measure-speed`."""


def check(cfg: Any) -> None:
    """Check the settings of the program."""
    from laconic.experiments.session.checks import check_counts

    counts = {"seed": 0, "threads": 1, "train.tasks_per_step": 1, "train.group_size": 1}
    counts |= {"measure.conversations": 1, "measure.repetitions": 1}
    check_counts(cfg, counts, ("threads", "measure.conversations"))
