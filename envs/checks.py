"""Checks of settings, names and tasks, and marks of a setting at the field that declares it.

A message gives the setting as the user types it, the expected value and the received one.

    epsilon: Annotated[float, Bound(gt=0, le=1)] = 0.2
    model: Annotated[str, TRUSTED]

Type, default and sentence of a setting are those of its field or parameter. The marks add what a
type cannot say: the bounds of a number, and whether a run folder of a stranger may set it
(`laconic.experiments.command_line.trust`). Packages declare their settings in the same way.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from inspect import isclass
from numbers import Integral, Real
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    TypeGuard,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.task import Task

P = ParamSpec("P")
R = TypeVar("R")
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

Count = Annotated[int, Bound(ge=1)]
"""A whole number of at least 1."""
Whole = Annotated[int, Bound(ge=0)]
"""A whole number of at least 0."""
Share = Annotated[float, Bound(ge=0, le=1)]
"""A number from 0 to 1."""
Positive = Annotated[float, Bound(gt=0)]
"""A number above 0."""
NotNegative = Annotated[float, Bound(ge=0)]
"""A number of at least 0."""
Ceiling = Annotated[float, Bound(gt=0, finite=False)]
"""A number above 0, or infinity for none."""
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


_PLAIN = (bool, int, float, str)


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
        raise _wrong(name, _whole_words(lowest, highest), value, optional)
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
        raise _wrong(name, _number_words(lowest, above, highest, below, finite), value, optional)
    return float(value)


def flag(name: str, value: Any, *, optional: bool = False) -> Any:
    """Return a setting that is true or false, or None if it is `optional`.

    Raises:
        SettingError: it is another value.
    """
    if not isinstance(value, bool) and not (optional and value is None):
        raise SettingError(f"{name} must be {'null, ' * optional}true or false; got {value!r}")
    return value


def choice(name: str, value: Any, options: Collection[Any]) -> Any:
    """Return a setting that is one of several values.

    Raises:
        UnknownNameError: the value is none of the options.
    """
    if value not in options:
        raise UnknownNameError(name, value, map(str, options))
    return value


def check(name: str, value: Any, kind: Any) -> None:
    """Refuse a value that an annotation does not admit.

    Numbers, switches and listed words are checked; what else a type may hold is left to its class.

    Args:
        name: the key as the user types it.
        value: the value to check.
        kind: annotation, whose marks give the bounds of a number.

    Raises:
        SettingError: a number or a switch is none, or a number is out of bounds.
        UnknownNameError: a word is none of the options.
    """
    marked = [*alternatives(kind)]
    optional = any(each is type(None) for each, _ in marked)
    plain = isinstance(value, _PLAIN)
    kinds = [
        each
        for each, _ in marked
        # A number or a text is no object of a class.
        if each is not type(None) and not (plain and isclass(each) and each not in (Any, *_PLAIN))
    ]
    if (value is None and optional) or not kinds:
        return
    if all(get_origin(each) is Literal for each in kinds):
        options = [word for each in kinds for word in get_args(each)]
        choice(name, value, [*options, None] if optional else options)
        return
    marks = (mark for _, own in marked for mark in own if isinstance(mark, Bound))
    bound = next(marks, Bound())
    if kinds == [bool]:
        flag(name, value, optional=optional)
    elif kinds == [int]:
        lowest = None if bound.ge == -math.inf else int(bound.ge)
        whole(name, value, lowest, bound.le, optional=optional)
    elif {*kinds} <= {int, float}:
        limits = {"lowest": bound.ge, "above": bound.gt, "highest": bound.le, "below": bound.lt}
        number(name, value, **limits, optional=optional, finite=bound.finite)


def in_words(kind: Any) -> str:
    """Say what an annotation admits: `a whole number of at least 1, or null`.

    Empty for what no yaml can hold, such as a function.
    """
    words: dict[str, None] = {}
    for each, marks in alternatives(kind):
        bound = next((mark for mark in marks if isinstance(mark, Bound)), Bound())
        origin, inner = get_origin(each), get_args(each)
        if each is bool:
            words["true or false"] = None
        elif each is int:
            lowest = None if bound.ge == -math.inf else int(bound.ge)
            words[_whole_words(lowest, bound.le)] = None
        elif each is float:
            words[_number_words(bound.ge, bound.gt, bound.le, bound.lt, bound.finite)] = None
        elif each is str:
            words["a text"] = None
        elif origin is Literal:
            words |= dict.fromkeys(map(str, inner))
        elif isclass(origin) and issubclass(origin, Mapping):
            words["a mapping"] = None
        elif isclass(origin) and issubclass(origin, Collection):
            item = in_words(inner[0]) if inner else ""
            words["a list" + (f" (each {item})" if item and "a list" not in item else "")] = None
        elif isclass(each) and origin is None and each not in (Any, type(None)):
            words[f"settings of {each.__name__}"] = None
    optional = ", or null" * (
        bool(words) and type(None) in [each for each, _ in alternatives(kind)]
    )
    *before, last = words or [""]
    return (f"{', '.join(before)} or {last}" if before else last) + optional


def _whole_words(lowest: int | None, highest: float) -> str:
    bounds = f" of at least {lowest}" if highest == math.inf else f" from {lowest} to {highest}"
    return f"a whole number{'' if lowest is None else bounds}"


def _number_words(lowest: float, above: float, highest: float, below: float, finite: bool) -> str:
    limits = {"of at least": lowest, "above": above, "at most": highest, "below": below}
    bounds = " and ".join(
        f"{word} {limit:g}" for word, limit in limits.items() if math.isfinite(limit)
    )
    return f"{'a finite number' if finite else 'a number'} {bounds}".strip()


def check_fields(record: Any, key: str) -> None:
    """Check the fields of a dataclass by their annotations, as `check` does.

    Args:
        record: the object, in its `__post_init__`.
        key: its key as the user types it, such as `env.reward`.
    """
    owner: Any = type(record)
    kinds = _kinds(owner)
    for field in fields(record):
        if field.init and field.name in kinds:
            check(f"{key}.{field.name}", getattr(record, field.name), kinds[field.name])


def checked(key: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check the arguments of a function or a constructor by their annotations, as `check` does.

    Its signature lists the fields of a record that marks `**options: Annotated[Any, Record]`.

    Args:
        key: key of its settings as the user types it, such as `env`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            kinds = _kinds(function)
            for name, value in {**dict(zip(names, args, strict=False)), **kwargs}.items():
                if name in kinds:
                    check(f"{key}.{name}", value, kinds[name])
            return function(*args, **kwargs)

        names = inspect.getfullargspec(function).args
        call.__signature__ = _with_options(function)  # type: ignore[attr-defined]
        return call

    return decorate


def _with_options(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function, with the fields of the record that marks its options."""
    signature = inspect.signature(function)
    *named, last = signature.parameters.values()
    if last.kind == last.VAR_KEYWORD:
        # Only this annotation: others may name what is defined later.
        kind = eval(str(last.annotation), function.__globals__)
        for record in getattr(kind, "__metadata__", ()):
            further = inspect.signature(record).parameters.values()
            options = (each.replace(kind=last.KEYWORD_ONLY) for each in further)
            signature = signature.replace(parameters=[*named, *options])
    return signature


@functools.cache
def _kinds(owner: Any) -> Mapping[str, Any]:
    """Return the annotations of a function, or of a class and its bases, that can be evaluated."""
    kinds: dict[str, Any] = {}
    for part in reversed(owner.__mro__) if isclass(owner) else (owner,):
        names = vars(sys.modules[part.__module__])
        for name, annotation in inspect.get_annotations(part).items():
            # Some names are imported for type checkers alone.
            with suppress(Exception):
                is_text = isinstance(annotation, str)
                kinds[name] = eval(annotation, names) if is_text else annotation
    return kinds


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
