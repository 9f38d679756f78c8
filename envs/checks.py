"""Checks of settings, names and tasks, and marks of a setting at the field that declares it.

A message gives the setting as the user types it, the expected value and the received one.

    epsilon: Annotated[float, Bound(gt=0, le=1)] = 0.2
    model: Annotated[str, TRUSTED]

Type, default and sentence of a setting are those of its field or parameter. The marks add what a
type cannot say: the bounds of a number, and whether a run folder of a stranger may set it
(`laconic.experiments.command_line.trust`). Packages declare their settings in the same way.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from types import UnionType
from typing import Annotated, Any, TypeGuard, Union, get_args, get_origin

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.task import Task

LONGEST_NAME = 80
"""Maximum length of an agent's name in bytes; escaped for a path, it fits a file name of 255."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Bounds of a number: `ge` and `le` belong to the range, `gt` and `lt` do not."""

    ge: float = -math.inf
    """Smallest value."""
    gt: float = -math.inf
    """Number that the value exceeds."""
    le: float = math.inf
    """Largest value."""
    lt: float = math.inf
    """Number that the value stays below."""
    finite: bool = True
    """False where infinity is a value."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What a run folder of a stranger may set, where the type of a setting does not decide it."""

    values: tuple[object, ...] | None = ()
    """Values that it may set; of a mapping, the keys. None: all of them."""


TRUSTED = Trust(None)
"""Any value. Use it for words that reach no file, server, program or import; and for models, which
are loaded as data."""
TYPED = Trust()
"""No value, whatever the type. Use it for a number or a switch that starts something."""

Word = Annotated[str, TRUSTED]
"""A word that reaches no file, server, program or import."""
Model = Annotated[str, TRUSTED]
"""Name or folder of a model, which is loaded as data and never as code."""


def alternatives(kind: Any, marks: tuple[Any, ...] = ()) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Yield the types of which a value of an annotation may be one, each with its marks.

    Marks of a part stand before those of the whole.
    """
    if get_origin(kind) is Annotated:
        yield from alternatives(get_args(kind)[0], (*kind.__metadata__, *marks))
    elif get_origin(kind) in (Union, UnionType):
        for each in get_args(kind):
            yield from alternatives(each, marks)
    else:
        yield kind, marks


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number; booleans are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def whole(
    name: str,
    value: Any,
    lowest: int | None = None,
    highest: float = math.inf,
    *,
    optional: bool = False,
) -> Any:
    """Return a setting that is a whole number within bounds, or None if it is `optional`.

    Args:
        name: the key as the user types it, such as `env.rounds`.
        value: the value to check.
        lowest: smallest value allowed; None for no bound.
        highest: largest value allowed.
        optional: whether None is allowed.

    Raises:
        SettingError: it is another value.
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
    """Return a setting that is a number within bounds, or None if it is `optional`.

    Args:
        name: the key as the user types it, such as `env.reward.price`.
        value: the value to check.
        lowest: smallest value allowed.
        above: bound that the value exceeds.
        highest: largest value allowed.
        below: bound that the value stays below.
        optional: whether None is allowed.
        finite: whether infinity is refused; NaN always is.

    Raises:
        SettingError: it is another value.
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
    """Return a setting that is true or false.

    Raises:
        SettingError: it is neither.
    """
    if not isinstance(value, bool):
        raise _wrong(name, "true or false", value)
    return value


def choice(name: str, value: Any, options: Collection[Any]) -> Any:
    """Return a setting that is one of several values.

    Raises:
        UnknownNameError: the value is none of the options.
    """
    if value not in options:
        raise UnknownNameError(name, value, map(str, options))
    return value


def check_names(kind: str, names: Iterable[str], options: Collection[str]) -> None:
    """Check that all names are among the options.

    Raises:
        UnknownNameError: one of them is not.
    """
    for name in names:
        choice(kind, name, options)


def check_agents(possible_agents: Any) -> None:
    """Check that agents have distinct, printable names of 1 to 80 bytes.

    Raises:
        SettingError: they do not.
    """
    listed = isinstance(possible_agents, Collection) and not isinstance(possible_agents, str)
    names: list[Any] = list(possible_agents) if listed else []
    printable = all(isinstance(name, str) and name.isprintable() for name in names)
    short = printable and all(1 <= len(name.encode()) <= LONGEST_NAME for name in names)
    if not names or not short or len(set(names)) < len(names):
        raise SettingError(
            "an environment must name its agents by distinct, printable strings of 1 to 80 bytes,"
            f" such as 'player_0'; got possible_agents={possible_agents!r:.200}. Rename them in the"
            " environment, or wrap it in one that does (docs/own_environment.md)"
        )


def _wrong(name: str, expected: str, value: object, optional: bool = False) -> SettingError:
    return SettingError(f"{name} must be {'null or ' * optional}{expected}; got {value!r}")


_last_tasks: tuple[tuple[Task, ...], dict[str, Task]] | None = None


def by_key(tasks: Sequence[Task]) -> dict[str, Task]:
    """Return tasks by key; environments made one after another of the same tuple share the dict.

    A warm start makes 64 of 200,000 tasks, and their own dicts took longer than the training step.

    Raises:
        SettingError: there is no task, or two tasks share a key.
    """
    global _last_tasks
    if _last_tasks is not None and _last_tasks[0] is tasks:
        return _last_tasks[1]
    by_name = {task.key: task for task in tasks}
    if not by_name:
        raise SettingError("an environment needs at least one task; got none")
    if len(by_name) < len(tasks):
        key, count = Counter(task.key for task in tasks).most_common(1)[0]
        raise SettingError(
            f"task keys must be unique, because options={{'task': key}} names a task;"
            f" {count} tasks have the key {key!r}"
        )
    if isinstance(tasks, tuple):
        _last_tasks = tasks, by_name
    return by_name
