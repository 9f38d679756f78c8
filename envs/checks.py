"""Checks of what a program hands to environments: settings, names and tasks.

A message says the setting as the user types it, what it must be, and what was given.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from numbers import Integral, Real
from typing import Any, TypeGuard

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.task import Task

LONGEST_NAME = 80
"""Bytes of an agent's name: escaped for a path it then stays below the 255 of a file name."""


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
    highest: float = math.inf,
    below: float = math.inf,
    optional: bool = False,
    finite: bool = True,
) -> Any:
    """The value of a setting that is a number within bounds, or None where it is `optional`.

    It is at least `lowest`, at most `highest`, greater than `above` and less than `below`, and
    finite unless `finite` is False (NaN never passes); anything else raises SettingError. The name
    is the one that the user types, e.g. `env.reward.price`.
    """
    if optional and value is None:
        return None
    real = isinstance(value, Real) and not isinstance(value, bool)
    inside = real and lowest <= value <= highest and (value > above or above == -math.inf)
    inside = inside and (value < below or below == math.inf)
    if not inside or (finite and not math.isfinite(value)):
        limits = {"of at least": lowest, "above": above, "at most": highest, "below": below}
        bounds = " and ".join(
            f"{word} {limit:g}" for word, limit in limits.items() if math.isfinite(limit)
        )
        kind = "a finite number" if finite else "a number"
        raise _wrong(name, f"{kind} {bounds}".strip(), value, optional)
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


def check_agents(possible_agents: Any) -> None:
    """Raise SettingError unless these are names of agents: distinct, printable, 1 to 80 bytes."""
    listed = isinstance(possible_agents, Collection) and not isinstance(possible_agents, str)
    names: list[Any] = list(possible_agents) if listed else []
    named = all(isinstance(name, str) and name.isprintable() for name in names)
    short = named and all(1 <= len(name.encode()) <= LONGEST_NAME for name in names)
    if not names or not short or len(set(names)) < len(names):
        raise SettingError(
            "an environment must name its agents by distinct, printable strings of 1 to 80 bytes,"
            f" such as 'player_0'; got possible_agents={possible_agents!r:.200}. Rename them in the"
            " environment, or wrap it in one that does (docs/bring_your_own.md)"
        )


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
