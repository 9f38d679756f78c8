"""Interface of collectors, which play the groups of a step for a learner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

from pettingzoo import ParallelEnv

from laconic.envs.checks import Count, check_fields
from laconic.learners.episode import Graph, Group
from laconic.learners.interfaces import Policy
from laconic.learners.rollout.play import collect
from laconic.learners.rollout.runner import Start

PlaysGroups = Callable[..., list[Group]]
"""Function that is called like a `Collector`."""


class Players(NamedTuple):
    """Environments and policies, the first arguments of `play` and `collect`."""

    environments: Sequence[ParallelEnv[str, Any, Any]]
    """Equal environments; this number of episodes runs at a time."""
    policies: Mapping[str, Policy]
    """Policy of each agent."""


@runtime_checkable
class Collector(Protocol):
    """Plays groups of episodes from starts; a subclass defines `gather` or `__call__` only."""

    credit: str | None = None
    """Credit that the learner must use. None: any."""
    unit: str | None = None
    """Unit of a sequence that the learner must use. None: any."""
    metrics: Mapping[str, float] = MappingProxyType({})
    """Metrics of the last call."""
    speaker: str = "train"
    """Prefix of the episodes' metrics: `train` if the trained policies play them, `teacher` if a
    teacher does whom they imitate."""
    graph: Graph = ()
    """Graph under which evaluations are played; empty for the topology of the environment."""
    own_starts: bool = False
    """True if it also plays starts that it is not given."""
    learns: bool = False
    """True if it learns from the groups of an update itself, so that no policy needs weights."""

    def __call__(
        self,
        environments: Sequence[ParallelEnv[str, Any, Any]],
        policies: Mapping[str, Policy],
        starts: Sequence[Start],
        group_size: int,
        *,
        seed: int,
    ) -> list[Group]:
        """Play groups of episodes.

        Args:
            environments: equal environments; this number of episodes runs at a time. Collectors
                that replay episodes need them deterministic under a reset with a seed.
            policies: policy of each agent.
            starts: initial state of each group.
            group_size: number of episodes in a group.
            seed: seed of everything sampled; equal calls give equal groups.
        """
        return self.gather(Players(environments, policies), starts, group_size, seed)

    def gather(
        self, players: Players, starts: Sequence[Start], group_size: int, seed: int
    ) -> list[Group]:
        """Play groups as `__call__` does; by default, independent episodes of each start."""
        return collect(*players, starts, self.members(group_size), seed=seed)

    @property
    def kind(self) -> str:
        """Name of the class that plays, for messages."""
        return type(self).__name__

    def members(self, group_size: int) -> int:
        """Return the number of episodes in a group, given `train.group_size`."""
        return group_size

    def bind(self, learner: Any, rank: int, count: int) -> None:
        """Connect the collector with its learner, before anything is played.

        Args:
            learner: the learner, with its price.
            rank: index of this process.
            count: number of processes, each with a collector of its own.
        """
        return None

    def learn(self, groups: Sequence[Group]) -> dict[str, float]:
        """Learn from the groups of an update, if the collector `learns`; return metrics."""
        return {}

    def parts(self) -> dict[str, Any]:
        """Return further parts with a state, by their name in a checkpoint."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Return the state that a resumed run needs; empty if nothing is kept between steps."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state that `state_dict` returned."""
        return None


class Wraps(Protocol):
    """Part of a learner that changes what its collector plays (`learner.topology`)."""

    def around(self, collector: Collector) -> Collector:
        """Return a collector that plays by another one."""
        ...


@dataclass(frozen=True, slots=True)
class Extra(Collector):
    """Plays independent episodes in groups larger than `train.group_size`.

    A method that leaves a member out of the loss draws one more, so that it learns from as many
    episodes as other methods (MC-GRPO, arXiv 2601.22582).
    """

    episodes: Count = 1
    """Episodes of each group in addition to `train.group_size`."""

    def __post_init__(self) -> None:
        """Check the range."""
        check_fields(self, "learner.collect")

    def members(self, group_size: int) -> int:
        """Return the number of episodes in a group, given `train.group_size`."""
        return group_size + self.episodes


class Independent(Collector):
    """Completes a function, or a user's partial collector, to a `Collector`.

    Args:
        play: function that is called like a `Collector`; attributes of a collector that it has are
            used.
    """

    def __init__(self, play: PlaysGroups = collect) -> None:
        """Copy the attributes that `play` has; the others keep their defaults."""
        self.play = play
        for name in ("credit", "unit", "speaker", "members", "state_dict", "load_state_dict"):
            if hasattr(play, name):
                setattr(self, name, getattr(play, name))

    @property
    def kind(self) -> str:
        """Name of the class of `play`, for messages."""
        return type(self.play).__name__

    @property
    def metrics(self) -> Mapping[str, float]:  # type: ignore[override]
        """Metrics of the last call; empty if the function has none."""
        return getattr(self.play, "metrics", {})

    def __call__(self, *arguments: Any, **settings: Any) -> list[Group]:
        """Play the groups."""
        return self.play(*arguments, **settings)


def as_collector(play: PlaysGroups) -> Collector:
    """Wrap a function that plays groups in a collector; return a complete collector unchanged."""
    return play if isinstance(play, Collector) else Independent(play)
