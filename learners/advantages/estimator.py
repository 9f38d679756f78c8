"""What a learner asks of anything that gives returns their advantages.

`learners.advantages.group` compares the members of a group, `learners.advantages.role_average`
compares with what was earned before. A further estimator is a subclass of `Estimator`, named in
`advantages._target_`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from laconic.envs.errors import SettingError

Part = Literal["task", "agent", "round"]


class Key(NamedTuple):
    """What a return belongs to."""

    task: str
    """Key of the task."""
    agent: str
    """Who earned it."""
    round: int | None = None
    """Round it is counted from; None for a whole episode."""


class Estimator(ABC):
    """Gives returns their advantages; what a learner asks of any of them."""

    __slots__ = ()

    group_by: tuple[Part, ...]
    """Parts of the key that members of a group share."""

    @abstractmethod
    def __call__(self, returns: Sequence[float], keys: Sequence[Key]) -> tuple[float, ...]:
        """Advantages of the returns of one group of episodes.

        Args:
            returns: (members,) reward units.
            keys: (members,) what each return belongs to.

        Returns:
            (members,) advantages in the order of `returns`; empty for no members.
        """

    def left_out(self, returns: Sequence[float], keys: Sequence[Key]) -> frozenset[int]:
        """Indices of the members that take part in the comparison but not in the loss: none."""
        return frozenset()

    def check(self, episodes: int, agents: int) -> None:  # noqa: B027
        """Refuse groups that cannot be compared, before any is played.

        Args:
            episodes: members of a group.
            agents: those that are trained.

        Raises:
            SettingError: says what to change.
        """

    def observe(self, returns: Sequence[float], keys: Sequence[Key]) -> None:  # noqa: B027
        """Take in the returns of a whole update after it; most estimators remember nothing."""

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs; nothing, unless returns are remembered."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:  # noqa: B027
        """Go on from a state of `state_dict`."""


def check_returns(returns: Sequence[float], keys: Sequence[Key]) -> None:
    """Refuse returns that no estimator could compare.

    Raises:
        SettingError: a return is not finite (the message names its agent and task), or the lengths
            differ.
    """
    if len(returns) != len(keys):
        raise SettingError(f"expected one key per return ({len(returns)}), got {len(keys)}")
    for value, key in zip(returns, keys, strict=True):
        _check_return(value, key)


def _check_return(value: float, key: Key) -> None:
    if not math.isfinite(value):
        where = "" if key.round is None else f" from round {key.round}"
        raise SettingError(
            f"the return of agent {key.agent!r}{where} in task {key.task!r} must be a finite"
            f" number; got {value!r}: check the environment's rewards"
        )
