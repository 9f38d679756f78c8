"""What a learner and the training loop may ask of whatever plays the groups of a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from laconic.learners.episode import Group
from laconic.learners.rollout.play import Collector as PlaysGroups
from laconic.learners.rollout.play import collect as collect_independently


@runtime_checkable
class Collector(PlaysGroups, Protocol):
    """Turns starts into groups of episodes; who inherits has to bring `__call__` alone."""

    credit: str | None = None
    """Name of the credit that a learner has to have set; None: any."""
    unit: str | None = None
    """What a sequence of the learner has to cover; None: anything."""
    metrics: Mapping[str, float] = MappingProxyType({})
    """Counts of the last call."""

    @property
    def kind(self) -> str:
        """The name of the class that plays, for messages."""
        return type(self).__name__

    def members(self, group_size: int) -> int:
        """Episodes of a group when `group_size` are asked for."""
        return group_size

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs; empty where nothing is remembered from step to step."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of `state_dict`."""
        return None


class Independent(Collector):
    """Plays by a function, or by a collector of a user's own that need not have all of the above.

    Args:
        play: called as a `Collector` is; what else it has of one is used.
    """

    def __init__(self, play: Callable[..., list[Group]] = collect_independently) -> None:
        """Take over what there is; the rest keeps its default."""
        self.play = play
        for name in ("credit", "unit", "members", "state_dict", "load_state_dict"):
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


def as_collector(found: Callable[..., list[Group]]) -> Collector:
    """A collector of anything that plays groups; one that is complete is returned as it is."""
    return found if isinstance(found, Collector) else Independent(found)
