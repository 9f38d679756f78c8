"""How much better a sequence did than those it is compared with.

`Estimator` is what a learner asks of anything that turns returns into advantages; an estimator of
your own is a subclass, named in `advantages._target_`. `Advantages` covers the published ones that
look at a group alone:

    advantage = (return - center) / (scale + epsilon)

Members are compared when they share the parts of their key named by `group_by`: mean and std per
task (GRPO, arXiv 2402.03300; GSPO, 2507.18071) or per task and agent (Dr. MAS, 2602.08847), the
mean alone (Dr. GRPO, 2503.20783; MAGRPO, 2508.04652), the mean of the others (RLOO, 2402.14740),
median and MAD (MC-GRPO, 2601.22582). Arithmetic on floats; knows neither tokens nor tensors.

Degenerate cases: a member compared with no other, and members with equal returns, get exactly 0
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
ScaleOver = Literal["group", "batch"]
Member = Literal["sequence", "episode"]

EQUAL = 1e-8
"""Returns whose spread is no more than this part of their size (or of 1, if larger) are equal."""


class Key(NamedTuple):
    """What a return belongs to."""

    task: str
    """Key of the task."""
    agent: str
    """Agent that earned it."""
    round: int | None = None
    """Round it is counted from; None for a whole episode."""
    episode: int | None = None
    """Index of the episode in its group; None where it is not known."""


class Comparison(NamedTuple):
    """How the advantage of one return comes about: (return - center) / scale."""

    center: float
    """What is taken from the return, reward units."""
    scale: float
    """What the difference is divided by, above 0; reward units, or 1 without a scale."""


class Estimator(ABC):
    """Gives returns their advantages.

    Returns are (members,) in reward units, keys (members,) what each of them belongs to.
    """

    __slots__ = ()

    group_by: tuple[Part, ...]
    """Parts of the key that members of a group share."""

    @abstractmethod
    def __call__(self, returns: Sequence[float], keys: Sequence[Key]) -> tuple[float, ...]:
        """Return the advantages (members,) of the returns of one group of episodes, in order.

        Raises:
            SettingError: a return is not finite, or the lengths differ.
        """

    def compare(
        self, returns: Sequence[float], keys: Sequence[Key]
    ) -> tuple[Comparison, ...] | None:
        """Return the center and scale of each advantage, (members,), where the estimator has them.

        `laconic explain` shows them. None says that advantages come about in another way.
        """
        return None

    def centers(self, values: Sequence[float], keys: Sequence[Key]) -> tuple[float, ...] | None:
        """Return what a linear center takes from values (members,); None where it is not linear.

        A linear center takes from a sum of two parts what it takes from each, so an advantage can
        be split into what the task contributed and what the price contributed.
        """
        return None

    def update_scale(self, advantages: Sequence[float]) -> float:
        """Return what all advantages of one policy's update are divided by: 1, unless it is theirs.

        Args:
            advantages: (sequences,) of one update, those of episodes from other runs left out.
        """
        return 1.0

    def left_out(self, returns: Sequence[float], keys: Sequence[Key]) -> frozenset[int]:
        """Return the indices of members that are compared but not learned from: none."""
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
    """What is compared with what, around which center, on which scale."""

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
    without epsilon, so that an advantage is in reward units and the price keeps its rate."""
    epsilon: float = 0.05
    """Added to the scale of a group, reward units (verl 1e-6, TRL 1e-4). A larger one keeps
    differences that are small in themselves small: with 1e-6 a group whose members all failed and
    differ by a price of 0.001 teaches as strongly as one that differs by the task reward."""
    leave_out_pivot: bool = False
    """Whether the member in the middle of an odd group, whose advantage around the median is 0,
    is kept out of the loss (MC-GRPO). Of several equal ones it is one; a lone member, and an even
    group, has no pivot."""
    scale_over: ScaleOver = "group"
    """Which returns the scale is taken of. `group`: those that are compared. `batch`: the returns
    less the centers of their groups, over all sequences of one policy in one update; 1 where these
    are all equal. It does nothing where the scale is `none`."""
    compare_by: Member = "sequence"
    """What one member of a comparison is. `sequence`: every sequence counts once, so an episode
    with more replies counts more often. `episode`: the sequences of an episode that are compared
    count once, by their mean return, and share its advantage."""

    def __post_init__(self) -> None:
        """Check the settings; a list (as yaml gives it) becomes a tuple.

        Raises:
            UnknownNameError: a word is unknown.
            SettingError: a number is out of range, or two settings contradict.
        """
        object.__setattr__(self, "group_by", _checked_parts(self.group_by))
        choice("learner.advantages.compare_by", self.compare_by, get_args(Member))
        choice("learner.advantages.centre", self.centre, get_args(Centre))
        choice("learner.advantages.scale", self.scale, get_args(Scale))
        choice("learner.advantages.scale_over", self.scale_over, get_args(ScaleOver))
        if self.scale_over == "batch" and self.scale not in ("std", "population_std", "none"):
            raise SettingError(
                "learner.advantages.scale_over=batch takes a standard deviation; set"
                f" learner.advantages.scale to std, population_std or none, got {self.scale!r}"
            )
        if self.centre == "none" and self.scale != "none":
            raise SettingError(
                "learner.advantages.centre=none needs learner.advantages.scale=none, because equal"
                f" returns have no scale; got learner.advantages.scale={self.scale}"
            )
        if self.leave_out_pivot and self.centre != "median":
            raise SettingError(
                "learner.advantages.leave_out_pivot needs learner.advantages.centre=median, because"
                " no other center is a member of the group; got"
                f" learner.advantages.centre={self.centre}"
            )
        if self.leave_out_pivot and self.compare_by == "episode":
            raise SettingError(
                "learner.advantages.leave_out_pivot needs learner.advantages.compare_by=sequence,"
                " because a pivot is one sequence; got learner.advantages.compare_by=episode"
            )
        number("learner.advantages.epsilon", self.epsilon, above=0)

    def __call__(self, returns: Sequence[float], keys: Sequence[Key]) -> tuple[float, ...]:
        """Compare every return with those of its group; see `Estimator`."""
        comparisons = self.compare(returns, keys)
        values = self._members(returns, keys)
        return tuple(
            (value - center) / scale
            for value, (center, scale) in zip(values, comparisons, strict=True)
        )

    def compare(self, returns: Sequence[float], keys: Sequence[Key]) -> tuple[Comparison, ...]:
        """Return the center and scale of each advantage; see `Estimator`."""
        check_returns(returns, keys)
        values = self._members(returns, keys)
        compared = [Comparison(0.0, 1.0)] * len(values)
        for group in self._groups(keys):
            # One index per member: the first of each episode, or of each sequence.
            first = self._first_of_members(group, keys)
            members = list(dict.fromkeys(first.values()))
            own = dict(
                zip(members, self._compare([values[index] for index in members]), strict=True)
            )
            for index in group:
                compared[index] = own[first[index]]
        return tuple(compared)

    def centers(self, values: Sequence[float], keys: Sequence[Key]) -> tuple[float, ...] | None:
        """Return the mean of each member's group; None around a median, 0 around nothing."""
        if self.centre == "median":
            return None
        means = [0.0] * len(values)
        if self.centre != "none":
            own = self._members(values, keys)
            for group in self._groups(keys):
                members = dict.fromkeys(self._first_of_members(group, keys).values())
                mean = fmean(own[index] for index in members)
                for index in group:
                    means[index] = mean
        return tuple(means)

    def update_scale(self, advantages: Sequence[float]) -> float:
        """Return the standard deviation of an update's advantages where `scale_over` is `batch`.

        It is 1 of fewer than two, or of equal ones; see `Estimator`.
        """
        if self.scale == "none" or self.scale_over == "group" or len(advantages) < 2:
            return 1.0
        spread = self._spread(list(advantages))
        return spread if spread > EQUAL * max(1.0, *map(abs, advantages)) else 1.0

    def left_out(self, returns: Sequence[float], keys: Sequence[Key]) -> frozenset[int]:
        """Return the indices of the pivots of all odd groups, if pivots are to be left out."""
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

    def _members(self, returns: Sequence[float], keys: Sequence[Key]) -> list[float]:
        """Return what each sequence is compared by: its return, or the mean of its episode's."""
        values = [float(value) for value in returns]
        if self.compare_by == "sequence":
            return values
        for group in self._groups(keys):
            episodes: dict[int | None, list[int]] = {}
            for index in group:
                episodes.setdefault(keys[index].episode, []).append(index)
            for same in episodes.values():
                mean = fmean(float(returns[index]) for index in same)
                for index in same:
                    values[index] = mean
        return values

    def _first_of_members(self, group: Sequence[int], keys: Sequence[Key]) -> dict[int, int]:
        """Map every index of a group to the first index of the member that it belongs to."""
        if self.compare_by == "sequence":
            return {index: index for index in group}
        first: dict[int | None, int] = {}
        return {index: first.setdefault(keys[index].episode, index) for index in group}

    def _groups(self, keys: Sequence[Key]) -> list[list[int]]:
        """Return the indices of the sequences of each group."""
        groups: dict[tuple[object, ...], list[int]] = {}
        for index, key in enumerate(keys):
            groups.setdefault(tuple(getattr(key, part) for part in self.group_by), []).append(index)
        return list(groups.values())

    def _compare(self, returns: list[float]) -> list[Comparison]:
        """Return center and scale of each of the members of one group."""
        if self.centre == "none":
            return [Comparison(0.0, 1.0)] * len(returns)
        size = max(1.0, *map(abs, returns))
        if len(returns) == 1 or max(returns) - min(returns) <= EQUAL * size:
            return [Comparison(value, 1.0) for value in returns]
        middle = median(returns) if self.centre == "median" else fmean(returns)
        scale = 1.0
        if self.scale != "none" and self.scale_over == "group":
            scale = self._spread(returns) + self.epsilon
        if self.centre == "leave_one_out":
            # r_i - mean of the others = (r_i - mean of all) * n / (n - 1)
            scale *= (len(returns) - 1) / len(returns)
        return [Comparison(middle, scale)] * len(returns)

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
    """Refuse returns that cannot be compared.

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
