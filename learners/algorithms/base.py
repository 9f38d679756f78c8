"""What a training loop asks of an algorithm.

`Learner` is all that the loop may ask, with a default for everything but `update`. Any class with
`update(groups) -> metrics` takes its place: `as_learner` gives it the defaults it lacks. Those of
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
    """What a part has if a resumed run is to go on from its state."""

    def state_dict(self) -> dict[str, Any]:
        """Everything that a resumed run needs, the weights of policies among it."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from such a state."""
        ...


@runtime_checkable
class Learner(Protocol):
    """What a training loop asks of an algorithm; it is made as `learner(policies, optimizer)`."""

    price: Price = Fixed()
    """How the price of a token moves; asked before each rollout and told of it afterwards."""
    collector: Collector = Independent()
    """Plays the groups of a step."""
    resumable: bool = False
    """Whether `state_dict` holds all that a resumed run needs."""

    def update(self, groups: Sequence[Group]) -> dict[str, float]:
        """Learn from groups of episodes sampled by the present policies; return metrics."""
        ...

    @property
    def name(self) -> str:
        """The name of the algorithm, for messages."""
        return type(self).__name__

    def check(self, group_size: int) -> None:
        """Refuse groups of so many episodes, before any is played.

        Raises:
            SettingError: says what to change.
        """
        return None

    def state_dict(self) -> dict[str, Any]:
        """Everything that a resumed run needs, the weights of the policies among it."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from such a state."""
        return None


class Adapted(Learner):
    """A learner of a user's own, with the default for everything that it does not have.

    Args:
        learner: it has `update`; `price`, `collect`, `check`, `state_dict` and `load_state_dict`
            are used where there are any.
    """

    def __init__(self, learner: Any) -> None:
        """Take over what there is."""
        self.learner = learner
        self.resumable = isinstance(learner, Resumable)
        for name in ("price", "check", "state_dict", "load_state_dict"):
            if hasattr(learner, name):
                setattr(self, name, getattr(learner, name))
        if hasattr(learner, "collect"):
            self.collector = as_collector(learner.collect)

    def update(self, groups: Sequence[Group]) -> dict[str, float]:
        """Learn from groups of episodes."""
        metrics: dict[str, float] = self.learner.update(groups)
        return metrics

    @property
    def name(self) -> str:
        """The name of the user's class."""
        return type(self.learner).__name__


def as_learner(found: Any) -> Learner:
    """A `Learner` of anything with `update`; one that is complete is returned as it is."""
    return found if isinstance(found, Learner) else Adapted(found)
