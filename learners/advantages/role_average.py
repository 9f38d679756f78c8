"""A moving average per role as baseline (RAE, arXiv 2506.24119), where a group's says nothing.

In a zero-sum game the mean over a group is near 0 whatever the players do, and where all members of
a group are alike there is nothing to compare at all; what a role earned before still is. Arithmetic
on floats; knows neither tokens nor tensors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from laconic.envs.checks import number
from laconic.learners.advantages.group import Estimator, Key, Part, check_returns


class RoleAverage(Estimator):
    """A return less the moving average of what its role earned before (RAE, arXiv 2506.24119).

    A role is the agent's name without its number. Within an update the averages stand still, at 0
    before the first; after it every return moves that of its role, in order:

        average = decay * average + (1 - decay) * return

    The authors move it after every episode, so that later episodes of an update already compare
    with earlier ones. Equal returns get equal advantages, 0 only where the average has come to lie.
    `decay`, from 0 up to but not 1, is the share of the average that stays after one return.
    """

    group_by: tuple[Part, ...] = ()

    def __init__(self, decay: float = 0.95) -> None:
        """Check the range (`SettingError`) and start without averages."""
        self.decay: float = number("learner.advantages.decay", decay, lowest=0, below=1)
        self._averages: dict[str, float] = {}

    def __call__(self, returns: Sequence[float], keys: Sequence[Key]) -> tuple[float, ...]:
        """Compare every return with the average of its role; see `Estimator`."""
        check_returns(returns, keys)
        return tuple(
            float(value) - self._averages.get(_role(key), 0.0)
            for value, key in zip(returns, keys, strict=True)
        )

    def observe(self, returns: Sequence[float], keys: Sequence[Key]) -> None:
        """Move the averages; see the class."""
        for value, key in zip(returns, keys, strict=True):
            before = self._averages.get(_role(key), 0.0)
            self._averages[_role(key)] = self.decay * before + (1.0 - self.decay) * float(value)

    def state_dict(self) -> dict[str, Any]:
        """The average of each role."""
        return {"averages": dict(self._averages)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of `state_dict`."""
        self._averages = dict(state["averages"])


def _role(key: Key) -> str:
    """`helper_2` -> `helper`; a name without a number is a role of its own."""
    role, _, number = key.agent.rpartition("_")
    return role if number.isdigit() else key.agent
