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
    """Check the settings of the program.

    Raises:
        UnknownNameError: `measure.environments` names an environment without a shipped policy.
        SettingError: a number is out of its range, or two ways of measuring are asked for.
    """
    from laconic.envs.errors import SettingError
    from laconic.experiments.session.checks import check_counts

    counts = {"seed": 0, "threads": 1, "train.tasks_per_step": 1, "train.group_size": 1}
    counts |= {"measure.conversations": 1, "measure.repetitions": 1}
    check_counts(cfg, counts, ("threads", "measure.conversations"))
    if environments(cfg) and cfg.measure.conversations is not None:
        raise SettingError(
            "measure.environments measures training steps, and measure.conversations an engine;"
            " got both: leave one of them null"
        )


def environments(cfg: Any) -> tuple[str, ...]:
    """Return the environments that `measure.environments` names; none if it is null.

    Raises:
        UnknownNameError: one of them has no shipped policy.
    """
    from laconic.envs.errors import UnknownNameError
    from laconic.learners.agents.recipes import RECIPES

    chosen = cfg.measure.environments
    if chosen == "all":
        return tuple(RECIPES)
    names = (chosen,) if isinstance(chosen, str) else tuple(chosen or ())
    for name in names:
        if name not in RECIPES:
            raise UnknownNameError("measure.environments", name, ["all", *RECIPES])
    return names
