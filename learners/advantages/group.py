"""How much better a sequence did than those it is compared with.

`Estimator` is what a learner asks of anything that gives returns their advantages; a further one is
a subclass, named in `advantages._target_`. `Advantages` serves the published ones that look at a
group alone:

    advantage = (return - centre) / (scale + epsilon)

Members are compared when they share the parts of their key named by `group_by`: mean and std per
task (GRPO, arXiv 2402.03300; GSPO, 2507.18071) or per task and agent (Dr. MAS, 2602.08847), the
mean alone (Dr. GRPO, 2503.20783; MAGRPO, 2508.04652), the mean of the others (RLOO, 2402.14740),
median and MAD (MC-GRPO, 2601.22582). Arithmetic on floats; knows neither tokens nor tensors.

Degenerate cases: a member compared with nobody, and members with equal returns, get exactly 0
(unless `centre` is `none`, which compares nothing).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, Literal, NamedTuple, get_args

from laconic.envs.checks import choice, number
from laconic.envs.errors import SettingError

Part = Literal["task", "agent", "round"]
Centre = Literal["mean", "median", "leave_one_out", "none"]
Scale = Literal["std", "population_std", "mad", "mad_or_std", "none"]

EQUAL = 1e-8
"""Returns whose spread is no more than this part of their size (or of 1, if larger) are equal."""


class Key(NamedTuple):
    """What a return belongs to."""

    task: str
    """Key of the task."""
    agent: str
    """Who earned it."""
    round: int | None = None
    """Round it is counted from; None for a whole episode."""


class Estimator(ABC):
    """Gives returns their advantages.

    Returns are (members,) in reward units, keys (members,) what each of them belongs to.
    """

    __slots__ = ()

    group_by: tuple[Part, ...]
    """Parts of the key that members of a group share."""

    @abstractmethod
    def __call__(self, returns: Sequence[float], keys: Sequence[Key]) -> tuple[float, ...]:
        """Advantages (members,) of the returns of one group of episodes, in their order.

        Raises:
            SettingError: a return is not finite, or the lengths differ.
        """

    def left_out(self, returns: Sequence[float], keys: Sequence[Key]) -> frozenset[int]:
        """Indices of the members that take part in the comparison but not in the loss: none."""
        return frozenset()

    def check(self, episodes: int, agents: int) -> None:  # noqa: B027
        """Refuse groups of so many episodes and trained agents, before any is played.

        Raises:
            SettingError: says what to change.
        """

    def observe(self, returns: Sequence[float], keys: Sequence[Key]) -> None:  # noqa: B027
        """Take in the returns of a whole update after it; an estimator need not remember any."""

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs; nothing, unless returns are remembered."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:  # noqa: B027
        """Go on from a state of `state_dict`."""


@dataclass(frozen=True, slots=True)
class Advantages(Estimator):
    """What is compared with what, around which centre, on which scale."""

    group_by: tuple[Part, ...] = ("task", "agent")
    """Parts of the key that members share to be compared; `task` is always one of them. With
    ("task",) a team's roles share one baseline, and N agents with equal returns count N times."""
    centre: Centre = "mean"
    """What is taken from a return. `leave_one_out`: the mean of the other members. `median`: of an
    even number of members, the mean of the two in the middle. `none`: nothing."""
    scale: Scale = "std"
    """What the difference is divided by. `std`: the sample standard deviation (n - 1), as TRL and
    verl take it. `population_std`: with n, as CoMLRL takes it. `mad`: the median of the distances
    from the median. It is 0 when more than half of the members are equal, as in every odd group
    with 0/1 rewards; epsilon alone is then the scale, as in MC-GRPO's code, and an advantage may
    reach 1 / epsilon. `mad_or_std`: the same, but `std` stands in for a MAD of 0. `none`: 1,
    without epsilon."""
    epsilon: float = 0.05
    """Added to the scale, reward units (verl 1e-6, TRL 1e-4). A larger one keeps differences that
    are small in themselves small: with 1e-6 a group whose members all failed and differ by a
    price of 0.001 teaches as strongly as one that differs by the task reward."""
    leave_out_pivot: bool = False
    """Whether the member in the middle of an odd group, whose advantage around the median is 0,
    is kept out of the loss (MC-GRPO). Of several equal ones it is one; a lone member, and an even
    group, has no pivot."""

    def __post_init__(self) -> None:
        """Check the settings; a list (as yaml gives it) becomes a tuple.

        Raises:
            UnknownNameError: a word is unknown.
            SettingError: a number is out of range, or two settings contradict.
        """
        object.__setattr__(self, "group_by", _checked_parts(self.group_by))
        choice("learner.advantages.centre", self.centre, get_args(Centre))
        choice("learner.advantages.scale", self.scale, get_args(Scale))
        if self.centre == "none" and self.scale != "none":
            raise SettingError(
                f"learner.advantages.scale must be 'none' when centre is 'none', because equal"
                f" returns have no scale; got {self.scale!r}"
            )
        if self.leave_out_pivot and self.centre != "median":
            raise SettingError(
                "learner.advantages.leave_out_pivot needs centre 'median', because no other centre"
                f" is a member of the group; got {self.centre!r}"
            )
        number("learner.advantages.epsilon", self.epsilon, above=0)

    def __call__(self, returns: Sequence[float], keys: Sequence[Key]) -> tuple[float, ...]:
        """Compare every return with those of its group; see `Estimator`."""
        check_returns(returns, keys)
        advantages = [0.0] * len(returns)
        for members in self._groups(keys):
            compared = self._compare([float(returns[index]) for index in members])
            for index, advantage in zip(members, compared, strict=True):
                advantages[index] = advantage
        return tuple(advantages)

    def left_out(self, returns: Sequence[float], keys: Sequence[Key]) -> frozenset[int]:
        """Indices of the pivots of all odd groups, if pivots are to be left out."""
        if not self.leave_out_pivot:
            return frozenset()
        odd = (group for group in self._groups(keys) if len(group) > 1 and len(group) % 2)
        return frozenset(sorted(group, key=returns.__getitem__)[len(group) // 2] for group in odd)

    def check(self, episodes: int, agents: int) -> None:
        """Refuse what cannot be compared: one episode, or a median of groups without a middle.

        See `Estimator`.
        """
        if episodes < 2 and self.centre != "none":
            raise SettingError(
                "train.group_size must be at least 2, because an advantage compares episodes of one"
                f" task; got {episodes}"
            )
        members = episodes if "agent" in self.group_by else episodes * agents
        if self.centre != "median" or members % 2:
            return
        shared = "" if members == episodes else f" x {agents} agents"
        raise SettingError(
            "learner.advantages.centre=median compares with the member in the middle, so a group"
            f" needs an odd number of members; got {episodes} episodes{shared}. Change"
            " train.group_size by one (learner=mc_grpo plays one episode more than"
            " train.group_size, which is to be even there)"
            + (" or put 'agent' into learner.advantages.group_by" if shared else "")
        )

    def _groups(self, keys: Sequence[Key]) -> list[list[int]]:
        """Indices of the members of each group."""
        groups: dict[tuple[object, ...], list[int]] = {}
        for index, key in enumerate(keys):
            groups.setdefault(tuple(getattr(key, part) for part in self.group_by), []).append(index)
        return list(groups.values())

    def _compare(self, returns: list[float]) -> list[float]:
        """Advantages within one group, (members,) -> (members,)."""
        if self.centre == "none":
            return returns
        size = max(1.0, *map(abs, returns))
        if len(returns) == 1 or max(returns) - min(returns) <= EQUAL * size:
            return [0.0] * len(returns)
        middle = median(returns) if self.centre == "median" else fmean(returns)
        # r_i - mean of the others = (r_i - mean of all) * n / (n - 1)
        factor = len(returns) / (len(returns) - 1) if self.centre == "leave_one_out" else 1.0
        divisor = 1.0 if self.scale == "none" else self._spread(returns) + self.epsilon
        return [(value - middle) * factor / divisor for value in returns]

    def _spread(self, returns: list[float]) -> float:
        if self.scale in ("mad", "mad_or_std"):
            middle = median(returns)
            distances = [abs(value - middle) for value in returns]
            spread = median(distances)
            if self.scale == "mad" or spread > EQUAL * max(1.0, *distances):
                return spread
        mean = fmean(returns)
        count = len(returns) - (self.scale != "population_std")
        return math.hypot(*(value - mean for value in returns)) / math.sqrt(count)


def check_returns(returns: Sequence[float], keys: Sequence[Key]) -> None:
    """Refuse returns that no estimator could compare.

    Raises:
        SettingError: a return is not finite (the message names its agent and task), or the lengths
            differ.
    """
    if len(returns) != len(keys):
        raise SettingError(f"expected one key per return ({len(returns)}), got {len(keys)}")
    for value, key in zip(returns, keys, strict=True):
        if not math.isfinite(value):
            where = "" if key.round is None else f" from round {key.round}"
            raise SettingError(
                f"the return of agent {key.agent!r}{where} in task {key.task!r} must be a finite"
                f" number; got {value!r}: check the environment's rewards"
            )


def _checked_parts(group_by: Sequence[str]) -> tuple[str, ...]:
    parts = (group_by,) if isinstance(group_by, str) else tuple(group_by)
    for part in parts:
        choice("learner.advantages.group_by", part, get_args(Part))
    if "task" not in parts or len(set(parts)) != len(parts):
        raise SettingError(
            "learner.advantages.group_by must name 'task' and each part once, because returns of"
            f" different tasks say nothing about each other; got {parts!r}"
        )
    return parts
