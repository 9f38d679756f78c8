"""Checks of what a program hands to a dialogue: its settings and its actions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.task import Task


def at_least_one(name: str, value: object) -> int:
    """The value of setting `name`, when it is a whole number of at least 1.

    Raises:
        SettingError: it is anything else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise SettingError(f"env.{name} must be a whole number of at least 1; got {value!r}")
    return value


def number_or_none(name: str, value: object) -> float | None:
    """The value of setting `name`, when it is a finite number or None.

    Raises:
        SettingError: it is anything else.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise SettingError(f"env.{name} must be null or a finite number; got {value!r}")
    return float(value)


def choice(name: str, value: Any, known: tuple[Any, ...]) -> Any:
    """The value of setting `name`, when it is one of those known.

    Raises:
        UnknownNameError: it is none of them.
    """
    if value not in known:
        raise UnknownNameError(f"env.{name}", value, [str(word) for word in known])
    return value


def by_key(tasks: Sequence[Task]) -> dict[str, Task]:
    """The tasks of an environment by their keys, in the order given.

    Raises:
        SettingError: there is no task, or two share a key.
    """
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
        if agent not in agents:
            raise UnknownNameError("agent", agent, agents)
        if not isinstance(action, str):
            raise SettingError(f"the action of {agent!r} must be a string; got {action!r}")
