"""Advantages: how much better a sequence did than those it is compared with.

A learner asks an `Estimator`. One of your own is a subclass, named in `advantages._target_`.
`Advantages` covers the published estimators that look at one group alone:

    advantage = (return - center) / (scale + eps)

    method                                  center         scale
    GRPO (2402.03300), GSPO (2507.18071)    mean           std
    Dr. MAS (2602.08847), by agent          mean           std
    Dr. GRPO (2503.20783)                   mean           none
    MAGRPO (2508.04652), by agent and round mean           none
    RLOO (2402.14740), C3 (2603.06859)      leave_one_out  none
    MC-GRPO (2601.22582)                    median         mad

Numbers in parentheses are arXiv identifiers. Arithmetic on floats; knows neither tokens nor
tensors.

A member without another one, and members with equal returns, get exactly 0. With `center=none`
nothing is compared, and the advantage is the return.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, Literal, NamedTuple, get_args

from laconic.envs.checks import Positive, check_fields, choice
from laconic.envs.errors import SettingError

Part = Literal["task", "agent", "round"]
Center = Literal["mean", "median", "leave_one_out", "none"]
Scale = Literal["std", "population_std", "mad", "mad_or_std", "none"]
ScaleOver = Literal["group", "batch"]
Member = Literal["sequence", "episode", "reply"]

EQUAL = 1e-8
"""Largest spread of returns that count as equal, as a part of their size (or of 1, if larger)."""


class Key(NamedTuple):
    """Origin of a return."""

    task: str
    """Key of the task."""
    agent: str
    """Agent that earned it."""
    round: int | None = None
    """Round it is counted from. None: a whole episode."""
    episode: int | None = None
    """Index of the episode in its group. None: not known."""
    tokens: tuple[int, ...] = ()
    """Conversation up to the end of the reply. Empty: not known."""


class Comparison(NamedTuple):
    """Terms of one advantage: (return - center) / scale."""

    center: float
    """Number taken from the return, reward units."""
    scale: float
    """Divisor of the difference, above 0; reward units, or 1 without a scale."""


class Estimator(ABC):
    """Turns returns into advantages.

    Returns are (members,) in reward units; keys are (members,), the origin of each return.
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
        """Return the center and scale of each advantage, (members,), for `laconic explain`.

        None means that advantages are not of that form.
        """
        return None

    def centers(self, values: Sequence[float], keys: Sequence[Key]) -> tuple[float, ...] | None:
        """Return the center (members,) to subtract from values; None if it is not linear in them.

        A linear center of a sum is the sum of the centers. An advantage can then be split into the
        contributions of the task and of the price.
        """
        return None

    def update_scale(self, advantages: Sequence[float]) -> float:
        """Return the divisor of all advantages of one policy's update; 1 by default.

        Args:
            advantages: (sequences,) of one update, without episodes from other runs.
        """
        return 1.0

    def left_out(self, returns: Sequence[float], keys: Sequence[Key]) -> frozenset[int]:
        """Return the indices of members that are compared but not learned from; none by default."""
        return frozenset()

    def check(self, episodes: int, agents: int) -> None:  # noqa: B027
        """Refuse groups of this number of episodes and trained agents, before any is played.

        Raises:
            SettingError: such groups cannot be compared; the message names the setting.
        """

    def observe(self, returns: Sequence[float], keys: Sequence[Key]) -> None:  # noqa: B027
        """Update running statistics after an update with all its returns; nothing by default."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state that a resumed run needs; empty by default."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:  # noqa: B027
        """Continue from a state of `state_dict`."""


@dataclass(frozen=True, slots=True)
class Advantages(Estimator):
    """Comparison with the other members of a group, around a center, on a scale."""

    group_by: tuple[Part, ...] = ("task", "agent")
    """Parts of the key that members share to be compared; `task` is always one of them. With
    ("task",) the roles of a team share one baseline, and N agents with equal returns count N
    times."""
    center: Center = "mean"
    """Number that is taken from a return. `leave_one_out`: the mean of the other members. `median`
    of an even number of members: the mean of the two in the middle. `none`: nothing."""
    scale: Scale = "std"
    """Divisor of the difference. `std`: sample standard deviation (n - 1), as in TRL and verl.
    `population_std`: with n, as in CoMLRL. `mad`: median of the distances from the median. It is 0
    when more than half of the members are equal, as in every odd group with 0/1 rewards; eps
    alone is then the scale, as in MC-GRPO's code, and an advantage may reach 1 / eps.
    `mad_or_std`: the same, but `std` replaces a MAD of 0. `none`: 1 without eps, so that an
    advantage is in reward units and the price keeps its rate."""
    eps: Positive = 0.05
    """Number added to the scale of a group, reward units (verl 1e-6, TRL 1e-4). A larger one keeps
    small differences small: with 1e-6 a group whose members all failed and differ by a price of
    0.001 teaches as strongly as one that differs by the task reward."""
    leave_out_pivot: bool = False
    """True keeps the middle member of an odd group, whose advantage around the median is 0, out of
    the loss (MC-GRPO). Of several equal ones it is one. A lone member and an even group have no
    pivot."""
    scale_over: ScaleOver = "group"
    """Returns that the scale is taken over. `group`: those that are compared. `batch`: the returns
    less the centers of their groups, over all sequences of one policy in one update; 1 where these
    are all equal. Without effect where the scale is `none`."""
    compare_by: Member = "sequence"
    """Member of a comparison. `sequence`: each sequence counts once, so an episode with more
    replies counts more often. `episode`: the sequences of an episode that are compared count once,
    by their mean return, and share its advantage. `reply`: each sequence counts once, and
    sequences of equal tokens share their mean return, so that equal replies tie (C3)."""

    def __post_init__(self) -> None:
        """Check the settings; a list (from yaml) becomes a tuple.

        Raises:
            UnknownNameError: a word is unknown.
            SettingError: a number is out of range, or two settings contradict each other.
        """
        parts = (self.group_by,) if isinstance(self.group_by, str) else tuple(self.group_by)
        object.__setattr__(self, "group_by", parts)
        for part in parts:
            choice("learner.advantages.group_by", part, get_args(Part))
        if "task" not in parts or len(set(parts)) != len(parts):
            raise SettingError(
                "learner.advantages.group_by must name 'task' and each part once, because returns"
                f" of different tasks cannot be compared; got {parts!r}"
            )
        check_fields(self, "learner.advantages")
        if self.scale_over == "batch" and self.scale not in ("std", "population_std", "none"):
            raise SettingError(
                "learner.advantages.scale_over=batch takes a standard deviation; set"
                f" learner.advantages.scale to std, population_std or none, got {self.scale!r}"
            )
        if self.center == "none" and self.scale != "none":
            raise SettingError(
                "learner.advantages.center=none needs learner.advantages.scale=none, because equal"
                f" returns have no scale; got learner.advantages.scale={self.scale}"
            )
        if self.leave_out_pivot and self.center != "median":
            raise SettingError(
                "learner.advantages.leave_out_pivot needs learner.advantages.center=median, because"
                " no other center is a member of the group; got"
                f" learner.advantages.center={self.center}"
            )
        if self.leave_out_pivot and self.compare_by != "sequence":
            raise SettingError(
                "learner.advantages.leave_out_pivot needs learner.advantages.compare_by=sequence,"
                " because a pivot is one sequence; got learner.advantages.compare_by="
                f"{self.compare_by}"
            )

    def __call__(self, returns: Sequence[float], keys: Sequence[Key]) -> tuple[float, ...]:
        """Compare each return with those of its group; see `Estimator`."""
        check_returns(returns, keys)
        values = self._tied(returns, keys)
        comparisons = self._comparisons(values, keys)
        advantages = [0.0] * len(values)
        for member in (member for group in self._groups(keys) for member in group):
            value = fmean(values[index] for index in member)
            for index in member:
                center, scale = comparisons[index]
                advantages[index] = (value - center) / scale
        return tuple(advantages)

    def compare(self, returns: Sequence[float], keys: Sequence[Key]) -> tuple[Comparison, ...]:
        """Return the center and scale of each advantage; see `Estimator`.

        The center of a reply that shares its mean return with equal ones makes up for the
        difference, so that (return - center) / scale is its advantage.
        """
        check_returns(returns, keys)
        values = self._tied(returns, keys)
        comparisons = self._comparisons(values, keys)
        return tuple(
            Comparison(center + (own - shared), scale)
            for (center, scale), own, shared in zip(comparisons, returns, values, strict=True)
        )

    def centers(self, values: Sequence[float], keys: Sequence[Key]) -> tuple[float, ...] | None:
        """Return the mean of each member's group; None around a median, 0 around nothing.

        Replies that share their mean value differ in their centers as in `compare`.
        """
        if self.center == "median":
            return None
        shared = self._tied(values, keys)
        means = [own - tied for own, tied in zip(values, shared, strict=True)]
        for group in self._groups(keys) if self.center != "none" else ():
            mean = fmean(fmean(values[index] for index in member) for member in group)
            for index in (index for member in group for index in member):
                means[index] += mean
        return tuple(means)

    def update_scale(self, advantages: Sequence[float]) -> float:
        """Return the standard deviation of an update's advantages where `scale_over` is `batch`.

        It is 1 for fewer than two advantages, or for equal ones; see `Estimator`.
        """
        if self.scale == "none" or self.scale_over == "group" or len(advantages) < 2:
            return 1.0
        spread = self._spread(list(advantages))
        return spread if spread > EQUAL * max(1.0, *map(abs, advantages)) else 1.0

    def left_out(self, returns: Sequence[float], keys: Sequence[Key]) -> frozenset[int]:
        """Return the indices of the pivots of all odd groups, if pivots are left out."""
        if not self.leave_out_pivot:
            return frozenset()
        groups = [[member[0] for member in group] for group in self._groups(keys)]
        odd = (group for group in groups if len(group) > 1 and len(group) % 2)
        return frozenset(sorted(group, key=returns.__getitem__)[len(group) // 2] for group in odd)

    def check(self, episodes: int, agents: int) -> None:
        """Refuse a single episode, and a median over groups without a middle; see `Estimator`."""
        if episodes < 2 and self.center != "none":
            raise SettingError(
                "train.group_size must be at least 2, because an advantage compares episodes of one"
                f" task; got {episodes}"
            )
        members = episodes if "agent" in self.group_by else episodes * agents
        if self.center != "median" or members % 2:
            return
        shared = "" if members == episodes else f" x {agents} agents"
        raise SettingError(
            "learner.advantages.center=median compares with the member in the middle, so a group"
            f" needs an odd number of members; got {episodes} episodes{shared}. Change"
            " train.group_size by one (learner=mc_grpo plays one episode more than"
            " train.group_size, which must be even there)"
            + (" or put 'agent' into learner.advantages.group_by" if shared else "")
        )

    def _comparisons(self, values: Sequence[float], keys: Sequence[Key]) -> list[Comparison]:
        """Return the comparison of each of the values (members,)."""
        comparisons = [Comparison(0.0, 1.0)] * len(values)
        for group in self._groups(keys):
            means = [fmean(values[index] for index in member) for member in group]
            for member, comparison in zip(group, self._compare(means), strict=True):
                for index in member:
                    comparisons[index] = comparison
        return comparisons

    def _tied(self, values: Sequence[float], keys: Sequence[Key]) -> Sequence[float]:
        """Return the values (members,); under `compare_by=reply` equal replies share their mean."""
        if self.compare_by != "reply":
            return values
        replies = [key._replace(episode=None) for key in keys]
        of_reply: dict[Key, list[float]] = {}
        for value, reply in zip(values, replies, strict=True):
            of_reply.setdefault(reply, []).append(value)
        return [fmean(of_reply[reply]) for reply in replies]

    def _groups(self, keys: Sequence[Key]) -> list[list[list[int]]]:
        """Return the groups; a group is a list of members, a member a list of sequences' indices.

        A sequence is a member by itself, except under `compare_by=episode`.
        """
        groups: dict[tuple[object, ...], dict[object, list[int]]] = {}
        for index, key in enumerate(keys):
            group = groups.setdefault(tuple(getattr(key, part) for part in self.group_by), {})
            member = key.episode if self.compare_by == "episode" else index
            group.setdefault(member, []).append(index)
        return [list(group.values()) for group in groups.values()]

    def _compare(self, returns: list[float]) -> list[Comparison]:
        """Return center and scale of each member (members,) of one group."""
        if self.center == "none":
            return [Comparison(0.0, 1.0)] * len(returns)
        size = max(1.0, *map(abs, returns))
        if len(returns) == 1 or max(returns) - min(returns) <= EQUAL * size:
            return [Comparison(value, 1.0) for value in returns]
        middle = median(returns) if self.center == "median" else fmean(returns)
        scale = 1.0
        if self.scale != "none" and self.scale_over == "group":
            scale = self._spread(returns) + self.eps
        if self.center == "leave_one_out":
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


SMOOTHING = 0.9
"""Weight of the past in the running totals of `SilenceBalance`."""


class SilenceBalance:
    """Cap the total negative advantage of silent turns at the total positive one, over updates.

    Silence always begins with the same tokens. An update that discourages it for agents with
    something useful to say also makes it rarer for the others. While informed agents are sometimes
    silent, their losses outweigh the others' savings, and silence dies out before a policy has
    learned to tell both cases apart (*silence extinction*).

    With S the advantages of the silent sequences of a policy in an update, and running means over
    its updates, of which the past weighs `SMOOTHING`:

        pos = running mean of the sum of S above 0        neg = running mean of -(sum of S below 0)
        factor = min(1, pos / neg)
        S below 0 are multiplied by the factor

    The totals run because a cap by those of one update is one-sided under noise: an update in
    which silence does worse by chance is scaled down, one in which it does better by chance is
    not, so silence drifts upwards where it earns nothing. On signal (seed 3 alone) informed speech
    fell from .80 to .52 in 22 updates under such a cap, and stays at .81 to .88 under running
    totals.

    This bounds the total advantage of silence from below over some ten updates; its probability
    can still fall in each. Positive advantages of silence are never scaled down: collapse is left
    to the price.
    """

    def __init__(self) -> None:
        """Start without totals."""
        self._totals: dict[str, tuple[float, float]] = {}

    def __call__(
        self, policy: str, advantages: Sequence[float], silent: Sequence[bool]
    ) -> tuple[list[float], float]:
        """Take in the advantages of one policy in one update, and scale them.

        Args:
            policy: name of the policy, the same in every update.
            advantages: (sequences,) of the policy in the update.
            silent: (sequences,) True if the agent said nothing.

        Returns:
            (sequences,) advantages, and the factor from 0 to 1 on the negative ones of silence: 0
            if no silent sequence ever had a positive advantage, 1 if nothing had to change.
        """
        of_silence = [each for each, quiet in zip(advantages, silent, strict=True) if quiet]
        better = math.fsum(advantage for advantage in of_silence if advantage > 0)
        worse = -math.fsum(advantage for advantage in of_silence if advantage < 0)
        if (past := self._totals.get(policy)) is not None:
            better = SMOOTHING * past[0] + (1 - SMOOTHING) * better
            worse = SMOOTHING * past[1] + (1 - SMOOTHING) * worse
        self._totals[policy] = better, worse
        factor = 1.0 if worse <= better else better / worse
        return [
            factor * advantage if quiet and advantage < 0 else advantage
            for advantage, quiet in zip(advantages, silent, strict=True)
        ], factor

    def state_dict(self) -> dict[str, Any]:
        """Return the running totals of each policy, advantages above 0 first."""
        return {"totals": {policy: list(totals) for policy, totals in self._totals.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of `state_dict`; earlier versions saved none."""
        totals = state.get("totals", {})
        self._totals = {policy: (better, worse) for policy, (better, worse) in totals.items()}
