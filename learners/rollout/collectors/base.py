"""What a learner and the training loop may ask of whatever plays the groups of a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

from pettingzoo import ParallelEnv

from laconic.learners.episode import Group
from laconic.learners.interfaces import Policy
from laconic.learners.rollout.play import collect
from laconic.learners.rollout.runner import Start

PlaysGroups = Callable[..., list[Group]]
"""Called as a `Collector` is; a function will do."""


class Players(NamedTuple):
    """Where is played and who speaks; the first arguments of `play` and `collect`."""

    environments: Sequence[ParallelEnv[str, Any, Any]]
    """Equal environments; as many episodes advance together."""
    policies: Mapping[str, Policy]
    """Who speaks for each agent."""


@runtime_checkable
class Collector(Protocol):
    """Turns starts into groups of episodes; who inherits brings `gather` or `__call__` alone."""

    credit: str | None = None
    """Name of the credit that a learner has to have set; None: any."""
    unit: str | None = None
    """What a sequence of the learner has to cover; None: anything."""
    metrics: Mapping[str, float] = MappingProxyType({})
    """Counts of the last call."""
    speaker: str = "train"
    """How the metrics of the episodes begin: `train` where the policies that learn play them,
    `teacher` where somebody does whom they imitate."""

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
            environments: equal environments; as many episodes advance together. Collectors that
                play episodes again need them deterministic under a reset with a seed.
            policies: who speaks for each agent.
            starts: where the groups begin.
            group_size: episodes of a group.
            seed: of everything that is drawn; equal calls give equal groups.
        """
        return self.gather(Players(environments, policies), starts, group_size, seed)

    def gather(
        self, players: Players, starts: Sequence[Start], group_size: int, seed: int
    ) -> list[Group]:
        """Play groups as `__call__` says; by default, independent episodes of each start."""
        return collect(*players, starts, self.members(group_size), seed=seed)

    @property
    def kind(self) -> str:
        """The name of the class that plays, for messages."""
        return type(self).__name__

    def members(self, group_size: int) -> int:
        """Episodes of a group when `group_size` are asked for."""
        return group_size

    def state_dict(self) -> dict[str, Any]:
        """Return the state that a resumed run needs; empty if nothing is kept between steps."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of `state_dict`."""
        return None


class Independent(Collector):
    """Plays by a function, or by a collector of a user's own that need not have all of the above.

    Args:
        play: called as a `Collector` is; what else it has of one is used.
    """

    def __init__(self, play: PlaysGroups = collect) -> None:
        """Take over what there is; the rest keeps its default."""
        self.play = play
        for name in ("credit", "unit", "speaker", "members", "state_dict", "load_state_dict"):
            if hasattr(play, name):
                setattr(self, name, getattr(play, name))

    @property
    def kind(self) -> str:
        """The name of what was given."""
        return type(self.play).__name__

    @property
    def metrics(self) -> Mapping[str, float]:  # type: ignore[override]
        """Counts of the last call, where the function keeps them."""
        return getattr(self.play, "metrics", {})

    def __call__(self, *arguments: Any, **settings: Any) -> list[Group]:
        """Play the groups."""
        return self.play(*arguments, **settings)


def as_collector(found: PlaysGroups) -> Collector:
    """Wrap a function that plays groups in a collector; return a complete collector as it is."""
    return found if isinstance(found, Collector) else Independent(found)
