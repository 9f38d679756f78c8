"""Measure the cost of environments and training steps: the program `laconic measure-speed`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from laconic.experiments.command_line.programs import Program

if TYPE_CHECKING:
    from laconic.envs.checks import Count, Whole, Word

MEASURE_SPEED = Program(
    "measure the cost of the environment and of a training step",
    "laconic.extras.speed.measure_speed",
    "measure_speed",
    check="laconic.extras.speed:check",
    record="laconic.extras.speed.SpeedSettings",
)
"""Registered as `measure-speed`."""


@dataclass(frozen=True)
class Step:
    """Settings `train` of `laconic measure-speed`."""

    steps: Whole
    tasks_per_step: Count
    group_size: Count


@dataclass(frozen=True)
class Measure:
    """Settings `measure`."""

    repetitions: Count
    warm_up: bool
    episodes: Count
    answers: Count
    ignore_ends: bool
    conversations: Count | None
    environments: Word | Sequence[Word] | None


@dataclass(frozen=True)
class SpeedSettings:
    """Settings of `laconic measure-speed`."""

    seed: Whole
    threads: Count | None
    train: Step
    measure: Measure


def check(cfg: Any) -> None:
    """Check the ways of measuring.

    Raises:
        UnknownNameError: `measure.environments` names an environment without a shipped policy.
        SettingError: two ways of measuring are asked for.
    """
    from laconic.envs.errors import SettingError

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
    from laconic.envs.registry import recipes

    chosen = cfg.measure.environments
    known = tuple(recipes())
    if chosen == "all":
        return known
    names = (chosen,) if isinstance(chosen, str) else tuple(chosen or ())
    for name in names:
        if name not in known:
            raise UnknownNameError("measure.environments", name, ["all", *known])
    return names
