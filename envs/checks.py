"""Checks of what a program hands to environments: settings, names, tasks and actions.

A message says the setting as the user types it, what it must be, and what was given.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, TypeGuard

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.task import Task


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number; true and false are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def whole(
    name: str,
    value: Any,
    lowest: int | None = None,
    highest: float = math.inf,
    *,
    optional: bool = False,
) -> Any:
    """The value of a setting that is a whole number within bounds, or None where it is `optional`.

    Anything else raises SettingError. The name is the one that the user types, e.g. `env.rounds`.
    """
    if optional and value is None:
        return None
    if not is_whole(value) or not (-math.inf if lowest is None else lowest) <= value <= highest:
        bounds = f" of at least {lowest}" if highest == math.inf else f" from {lowest} to {highest}"
        expected = f"a whole number{'' if lowest is None else bounds}"
        raise _wrong(name, expected, value, optional)
    return int(value)


def number(
    name: str,
    value: Any,
    *,
    lowest: float = -math.inf,
    above: float = -math.inf,
    below: float = math.inf,
    optional: bool = False,
) -> Any:
    """The value of a setting that is a finite number, or None where it is `optional`.

    It is at least `lowest`, greater than `above` and less than `below`; anything else raises
    SettingError. The name is the one that the user types, e.g. `reward.price`.
    """
    if optional and value is None:
        return None
    finite = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not finite or value < lowest or not above < value < below:
        limits = {"of at least": lowest, "above": above, "below": below}
        bounds = " and ".join(
            f"{word} {limit:g}" for word, limit in limits.items() if math.isfinite(limit)
        )
        raise _wrong(name, f"a finite number {bounds}".strip(), value, optional)
    return float(value)


def flag(name: str, value: object) -> bool:
    """The value of a setting that is true or false; anything else raises SettingError."""
    if not isinstance(value, bool):
        raise _wrong(name, "true or false", value)
    return value


def choice(name: str, value: Any, known: Collection[Any]) -> Any:
    """The value of a setting that is one of several words; another raises UnknownNameError."""
    if value not in known:
        raise UnknownNameError(name, value, map(str, known))
    return value


def check_names(kind: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise UnknownNameError where a name is not known."""
    for name in given:
        choice(kind, name, known)


def _wrong(name: str, expected: str, value: object, optional: bool = False) -> SettingError:
    return SettingError(f"{name} must be {'null or ' * optional}{expected}; got {value!r}")


def by_key(tasks: Sequence[Task]) -> dict[str, Task]:
    """The tasks by their keys; SettingError where there is none, or where two share a key."""
    found = {task.key: task for task in tasks}
    if not found:
        raise SettingError("an environment needs at least one task; got none")
    if len(found) < len(tasks):
        key, count = Counter(task.key for task in tasks).most_common(1)[0]
        raise SettingError(
            f"task keys must be unique, because options={{'task': key}} names a task;"
            f" {count} tasks have the key {key!r}"
        )
    return found


def check_actions(actions: Mapping[str, object], agents: Collection[str]) -> None:
    """Refuse actions that no policy can have chosen; any string of any agent is fine.

    Raises:
        UnknownNameError: an action is not of an agent of this team.
        SettingError: an action is not a string.
    """
    for agent, action in actions.items():
        choice("agent", agent, agents)
        if not isinstance(action, str):
            raise SettingError(f"the action of {agent!r} must be a string; got {action!r}")
