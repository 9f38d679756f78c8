"""How much better a sequence did than those it is compared with.

    advantage = (return - centre) / (scale + epsilon)

Members are compared when they share the parts of their key named by `group_by`. One class serves
the published estimators: mean and std per task (GRPO, arXiv 2402.03300; GSPO, 2507.18071) or per
task and agent (Dr. MAS, 2602.08847), the mean alone (Dr. GRPO, 2503.20783; MAGRPO, 2508.04652), the
mean of the others (RLOO, 2402.14740), median and MAD (MC-GRPO, 2601.22582). Pure arithmetic on
floats; knows neither tokens nor tensors.

Degenerate cases: a member compared with nobody, and members with equal returns, get exactly 0
(unless `centre` is `none`, which compares nothing).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal, NamedTuple, get_args

from envs.errors import SettingError

Part = Literal["task", "agent", "round"]
Centre = Literal["mean", "median", "leave_one_out", "none"]
Scale = Literal["std", "mad", "none"]

EQUAL = 1e-8
"""Returns whose spread is at most this part of their size (or of 1, if that is more) are equal."""


class Key(NamedTuple):
    """What a return belongs to."""

    task: str
    """Key of the task."""
    agent: str
    """Who earned it."""
    round: int | None = None
    """Round it is counted from; None for a whole episode."""


@dataclass(frozen=True, slots=True)
class Advantages:
    """What is compared with what, around which centre, on which scale."""

    group_by: tuple[Part, ...] = ("task", "agent")
    """Parts of the key that members share to be compared; `task` is always one of them. With
    ("task",) a team's roles share one baseline, and N agents with equal pay count N times."""
    centre: Centre = "mean"
    """What is taken from a return. `leave_one_out`: the mean of the other members. `median`: of an
    even number of members, the mean of the two in the middle. `none`: nothing."""
    scale: Scale = "std"
    """What the difference is divided by. `std`: the sample standard deviation (n - 1), as TRL and
    verl take it. `mad`: the median of the distances from the median; it is 0 when most members
    are equal, as with 0/1 rewards, and then `std` stands in for it. `none`: 1, without epsilon."""
    epsilon: float = 1e-6
    """Added to the scale, reward units (verl 1e-6, TRL 1e-4). A larger one keeps differences that
    are small in themselves small: with 1e-6 a group whose members all failed and differ by a
    price of 0.001 teaches as strongly as one that differs by the task reward."""

    def __post_init__(self) -> None:
        """Check the settings; a list (as yaml gives it) becomes a tuple.

        Raises:
            SettingError: a word is unknown, a number is out of range, or two settings contradict.
        """
        object.__setattr__(self, "group_by", _checked_parts(self.group_by))
        _check_word("centre", self.centre, get_args(Centre))
        _check_word("scale", self.scale, get_args(Scale))
        if self.centre == "none" and self.scale != "none":
            raise SettingError(
                f"advantages.scale must be 'none' when centre is 'none', because equal returns have"
                f" no scale; got {self.scale!r}"
            )
        number = isinstance(self.epsilon, int | float) and not isinstance(self.epsilon, bool)
        if not number or not 0 < self.epsilon < math.inf:
            raise SettingError(
                f"advantages.epsilon must be a finite number above 0; got {self.epsilon!r}"
            )

    def __call__(self, returns: Sequence[float], keys: Sequence[Key]) -> tuple[float, ...]:
        """Compare every return with those of its group.

        Args:
            returns: (members,) reward units.
            keys: (members,) what each return belongs to.

        Returns:
            (members,) advantages in the order of `returns`; empty for no members.

        Raises:
            SettingError: a return is not finite (the message names its agent and task), or the
                lengths differ.
        """
        if len(returns) != len(keys):
            raise SettingError(f"expected one key per return ({len(returns)}), got {len(keys)}")
        groups: dict[tuple[object, ...], list[int]] = {}
        for index, (value, key) in enumerate(zip(returns, keys, strict=True)):
            _check_return(value, key)
            groups.setdefault(tuple(getattr(key, part) for part in self.group_by), []).append(index)
        advantages = [0.0] * len(returns)
        for members in groups.values():
            compared = self._compare([float(returns[index]) for index in members])
            for index, advantage in zip(members, compared, strict=True):
                advantages[index] = advantage
        return tuple(advantages)

    def _compare(self, returns: list[float]) -> list[float]:
        """Advantages within one group, (members,) -> (members,)."""
        if self.centre == "none":
            return returns
        if len(returns) == 1 or _equal(returns):
            return [0.0] * len(returns)
        divisor = 1.0 if self.scale == "none" else self._spread(returns) + self.epsilon
        return [distance / divisor for distance in self._distances(returns)]

    def _distances(self, returns: list[float]) -> list[float]:
        middle = median(returns) if self.centre == "median" else fmean(returns)
        # r_i - mean of the others = (r_i - mean of all) * n / (n - 1)
        factor = len(returns) / (len(returns) - 1) if self.centre == "leave_one_out" else 1.0
        return [(value - middle) * factor for value in returns]

    def _spread(self, returns: list[float]) -> float:
        if self.scale == "mad":
            middle = median(returns)
            distances = [abs(value - middle) for value in returns]
            spread = median(distances)
            if spread > EQUAL * max(1.0, *distances):
                return spread
        mean = fmean(returns)
        return math.hypot(*(value - mean for value in returns)) / math.sqrt(len(returns) - 1)


def _equal(returns: list[float]) -> bool:
    size = max(1.0, *(abs(value) for value in returns))
    return max(returns) - min(returns) <= EQUAL * size


def _checked_parts(group_by: Sequence[str]) -> tuple[str, ...]:
    parts = (group_by,) if isinstance(group_by, str) else tuple(group_by)
    for part in parts:
        _check_word("group_by", part, get_args(Part))
    if "task" not in parts or len(set(parts)) != len(parts):
        raise SettingError(
            "advantages.group_by must name 'task' and each part once, because returns of different"
            f" tasks say nothing about each other; got {parts!r}"
        )
    return parts


def _check_word(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise SettingError(f"advantages.{name} must be one of {', '.join(known)}; got {value!r}")


def _check_return(value: float, key: Key) -> None:
    if not math.isfinite(value):
        where = "" if key.round is None else f" from round {key.round}"
        raise SettingError(
            f"the return of agent {key.agent!r}{where} in task {key.task!r} must be a finite"
            f" number; got {value!r}: check the environment's rewards"
        )
