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
    """The value of a setting that is a whole number within bounds, or None where it may be.

    Args:
        name: as the user types it, e.g. `env.rounds`.
        value: what was given.
        lowest: least number allowed; None for any.
        highest: greatest number allowed.
        optional: whether None is fine too.

    Raises:
        SettingError: it is anything else.
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
    """The value of a setting that is a number within bounds, or None where it may be.

    Args:
        name: as the user types it, e.g. `reward.price`.
        value: what was given.
        lowest: least number allowed.
        above: number that it must exceed.
        highest: greatest number allowed.
        below: number that it must stay under.
        optional: whether None is fine too.
        finite: whether it must be finite; NaN is refused in any case.

    Raises:
        SettingError: it is anything else.
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
    """The value of a setting that is true or false.

    Raises:
        SettingError: it is anything else.
    """
    if not isinstance(value, bool):
        raise _wrong(name, "true or false", value)
    return value


def choice(name: str, value: Any, known: Collection[Any]) -> Any:
    """The value of a setting that is one of several words.

    Raises:
        UnknownNameError: it is none of them.
    """
    if value not in known:
        raise UnknownNameError(name, value, map(str, known))
    return value


def check_names(kind: str, given: Iterable[str], known: Collection[str]) -> None:
    """Refuse names that are not known.

    Raises:
        UnknownNameError: there is one.
    """
    for name in given:
        choice(kind, name, known)


def _wrong(name: str, expected: str, value: object, optional: bool = False) -> SettingError:
    return SettingError(f"{name} must be {'null or ' * optional}{expected}; got {value!r}")


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
