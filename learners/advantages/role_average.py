"""Role-conditioned advantage estimation: a moving average per role (RAE, arXiv 2506.24119).

    advantage = return - average of the role
    average   = decay * average + (1 - decay) * return      for each return, after the update

In a zero-sum game the mean over a group is near 0 whatever the players do, and a group whose
members earn the same has nothing to compare. The earlier returns of a role remain a baseline.
Arithmetic on floats, without tokens or tensors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from laconic.envs.checks import Bound, checked
from laconic.learners.advantages.group import Estimator, Key, Part, check_returns


class RoleAverage(Estimator):
    """Comparison of a return with the moving average of its role.

    A role is the agent's name without its number. Averages start at 0 and are constant within an
    update; the authors move them after every episode. Equal returns get equal advantages, 0 only
    if they equal the average.

    Args:
        decay: part of the average that stays after one return, at least 0 and below 1.
    """

    group_by: tuple[Part, ...] = ()

    @checked("learner.advantages")
    def __init__(self, decay: Annotated[float, Bound(ge=0, lt=1)] = 0.95) -> None:
        """Check the range (`SettingError`) and start without averages."""
        self.decay = decay
        self._averages: dict[str, float] = {}

    def __call__(self, returns: Sequence[float], keys: Sequence[Key]) -> tuple[float, ...]:
        """Compare each return with the average of its role; see `Estimator`."""
        check_returns(returns, keys)
        return tuple(
            float(value) - self._averages.get(_role(key), 0.0)
            for value, key in zip(returns, keys, strict=True)
        )

    def observe(self, returns: Sequence[float], keys: Sequence[Key]) -> None:
        """Move the averages; see the module."""
        for value, key in zip(returns, keys, strict=True):
            before = self._averages.get(_role(key), 0.0)
            self._averages[_role(key)] = self.decay * before + (1.0 - self.decay) * float(value)

    def state_dict(self) -> dict[str, Any]:
        """Return the average of each role."""
        return {"averages": dict(self._averages)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of `state_dict`."""
        self._averages = dict(state["averages"])


def _role(key: Key) -> str:
    """Return the role of an agent, as in `helper_2` -> `helper`; the name if it has no number."""
    role, _, number = key.agent.rpartition("_")
    return role if number.isdigit() else key.agent
