"""Interface between a training loop and an algorithm.

`Learner` has all methods that the loop calls, with defaults for everything but `update`. Any class
with `update(groups) -> metrics` can take its place: `as_learner` adds the defaults. The learners of
the suite are in `learners.algorithms.group` and `learners.algorithms.actor_critic`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from laconic.learners.episode import Group
from laconic.learners.prices.schedule import Fixed, Price
from laconic.learners.rollout.collectors.base import Collector, Independent, as_collector


@runtime_checkable
class Resumable(Protocol):
    """Part of a run whose state is saved and restored."""

    def state_dict(self) -> dict[str, Any]:
        """Return everything that a resumed run needs, weights of policies included."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of `state_dict`."""
        ...


@runtime_checkable
class Learner(Protocol):
    """Algorithm of a training loop, made as `learner(policies, optimizer)`."""

    price: Price = Fixed()
    """Price schedule; asked before each rollout and informed after it."""
    collector: Collector = Independent()
    """Collector that plays the groups of a step."""
    resumable: bool = False
    """True when `state_dict` holds everything that a resumed run needs."""

    def update(self, groups: Sequence[Group]) -> dict[str, float]:
        """Learn from groups of episodes sampled by the present policies; return metrics."""
        ...

    @property
    def name(self) -> str:
        """Name of the algorithm, for messages."""
        return type(self).__name__

    def check(self, group_size: int) -> None:
        """Refuse groups of this number of episodes, before any is played.

        Raises:
            SettingError: the algorithm cannot learn from them; the message names the setting.
        """
        return None

    def state_dict(self) -> dict[str, Any]:
        """Return everything that a resumed run needs, weights of policies included."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of `state_dict`."""
        return None


class LearnerAdapter(Learner):
    """Learner of a user's own, with defaults for the methods that it lacks.

    Args:
        learner: any object with `update`; its `price`, `collect`, `check`, `state_dict` and
            `load_state_dict` are used if it has them.
    """

    def __init__(self, learner: Any) -> None:
        """Take over the attributes that the learner has."""
        self.learner = learner
        self.resumable = isinstance(learner, Resumable)
        for name in ("price", "check", "state_dict", "load_state_dict"):
            if hasattr(learner, name):
                setattr(self, name, getattr(learner, name))
        if hasattr(learner, "collect"):
            self.collector = as_collector(learner.collect)

    def update(self, groups: Sequence[Group]) -> dict[str, float]:
        """Learn from groups of episodes; return metrics."""
        metrics: dict[str, float] = self.learner.update(groups)
        return metrics

    @property
    def name(self) -> str:
        """Name of the user's class."""
        return type(self.learner).__name__


def as_learner(learner: Any) -> Learner:
    """Return a `Learner` for anything with `update`; a complete one is returned as it is."""
    return learner if isinstance(learner, Learner) else LearnerAdapter(learner)
