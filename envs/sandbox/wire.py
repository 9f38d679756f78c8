"""Plain values as nested lists of short strings, the only thing that crosses between interpreters.

Unlike pickle, decoding never calls a function that the sender chose. Subclasses of plain types (a
Counter, a named tuple, an int with its own `__eq__`) cross as their plain value. So do the standard
library's views and wrappers (a ChainMap, a UserDict, a read-only view). Numbers, dates and times of
the standard library cross as themselves. This source is also sent to the program's interpreter,
which has no access to the project, so it imports nothing slow.
"""

from __future__ import annotations

import sys
from _collections import deque  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

DEEPEST = 100
"""Containers within containers that may cross."""
LONGEST = 200_000
"""Items of one container that may cross; also where an endless iterator is cut off."""


class UnfitError(Exception):
    """A value that cannot cross."""


def refuse(value: Any) -> Any:
    """Pack an object of a class that derives from one in the standard library; refuse all others.

    Raises:
        UnfitError: the value is no plain value.
    """
    packed = _pack_library(value, refuse, 0, isinstance)
    if packed is None:
        raise UnfitError(f"a value of type {type(value).__name__!r} is not a plain value")
    return packed


def _interleave(value: Any) -> list[Any]:
    return [part for pair in value.items() for part in pair]


def _pairs(items: list[Any]) -> dict[Any, Any]:
    return dict(zip(items[::2], items[1::2], strict=True))


# Type, tag, how it is taken apart, how it is put together again.
_CONTAINERS: tuple[tuple[type, str, Callable[[Any], Any], Callable[[list[Any]], Any]], ...] = (
    (list, "l", list, list),
    (tuple, "t", list, tuple),
    (dict, "d", _interleave, _pairs),
    (set, "s", list, set),
    (frozenset, "z", list, frozenset),
    (deque, "q", list, deque),
    (range, "r", lambda value: [value.start, value.stop, value.step], lambda items: range(*items)),
    (complex, "c", lambda value: [value.real, value.imag], lambda items: complex(*items)),
    (type(type.__dict__), "d", _interleave, _pairs),
    (type({}.keys()), "k", list, lambda items: dict.fromkeys(items).keys()),
    (type({}.values()), "v", list, lambda items: dict(enumerate(items)).values()),
    (type({}.items()), "m", list, lambda items: dict(items).items()),
)

_BUILDERS = {tag: build for _, tag, _, build in _CONTAINERS} | {"g": iter}

_DAY, _CLOCK = ("year", "month", "day"), ("hour", "minute", "second", "microsecond")
# Tag, module and name of a type, and the attributes that make a value again; no attributes mean its
# text. A module that nobody has imported has no values.
_VALUES: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("R", "fractions", "Fraction", ("numerator", "denominator")),
    ("D", "decimal", "Decimal", ()),
    ("W", "datetime", "datetime", (*_DAY, *_CLOCK, "tzinfo")),
    ("E", "datetime", "date", _DAY),
    ("C", "datetime", "time", (*_CLOCK, "tzinfo")),
    ("L", "datetime", "timedelta", ("days", "seconds", "microseconds")),
)
_MAKERS = {tag: (module, name) for tag, module, name, _ in _VALUES}
# Modules and names of types that hold a plain value, and that type.
_WRAPPERS: tuple[tuple[str, str, type], ...] = (
    ("collections", "UserDict", dict),
    ("collections", "ChainMap", dict),
    ("collections", "UserList", list),
    ("collections", "UserString", str),
)


def _is_exactly(value: Any, kind: type) -> bool:
    return type(value) is kind


def _pack_library(
    value: Any, special: Callable[[Any], Any], depth: int, is_a: Callable[[Any, type], bool]
) -> Any:
    """Pack a value of a type in the standard library; None where it is of no such type."""
    for tag, module, name, attributes in _VALUES:
        kind = getattr(sys.modules.get(module), name, None)
        if isinstance(kind, type) and is_a(value, kind):
            parts = [getattr(value, attribute) for attribute in attributes] or [str(value)]
            return _pack_items(tag, parts, refuse, depth)
    for module, name, plain in _WRAPPERS:
        kind = getattr(sys.modules.get(module), name, None)
        if isinstance(kind, type) and is_a(value, kind):
            return pack(plain(value), special, depth)
    return None


def pack(value: Any, special: Callable[[Any], Any] = refuse, depth: int = 0) -> Any:
    """Turn a value into strings and lists of strings that need no escapes.

    Args:
        value: None, bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset,
            deque, range, a dict view or an iterator (its items), nested at most `DEEPEST` deep; a
            Fraction, Decimal, date, time without a zone or timedelta; a wrapper of one of these.
        special: packs other values.
        depth: containers around the value.

    Raises:
        UnfitError: the value is too deep or too long, or `special` refuses it.
    """
    if depth > DEEPEST:
        raise UnfitError(f"a value is nested deeper than {DEEPEST}")
    if value is None:
        return "n"
    if isinstance(value, int):
        return str(value)[0] if value is True or value is False else "i" + format(int(value), "x")
    if isinstance(value, float):
        return "f" + float.hex(value)
    if isinstance(value, str):
        return _pack_text(str(value) if type(value) is str else str.__str__(value))
    if isinstance(value, (bytes, bytearray)):
        return ("b" if isinstance(value, bytes) else "y") + value.hex()
    for kind, tag, take_apart, _ in _CONTAINERS:
        if isinstance(value, kind):
            return _pack_items(tag, take_apart(value), special, depth)
    if hasattr(type(value), "__next__"):
        return _pack_items("g", value, special, depth)
    packed = _pack_library(value, special, depth, _is_exactly)
    return special(value) if packed is None else packed


def _pack_text(text: str) -> str:
    if text.isascii() and text.isprintable() and not ("'" in text or '"' in text or "\\" in text):
        return "a" + text
    return "u" + text.encode("utf-8", "surrogatepass").hex()


def _pack_items(tag: str, items: Any, special: Callable[[Any], Any], depth: int) -> list[Any]:
    packed = [tag]
    for item in items:
        packed.append(pack(item, special, depth + 1))
        if len(packed) > LONGEST:
            raise UnfitError(f"a value has more than {LONGEST} items")
    return packed


def unpack(packed: Any, special: Callable[[Any], Any] = refuse) -> Any:
    """Make a new value of exactly the plain types from the result of `pack`.

    Args:
        packed: strings and lists, from anywhere.
        special: makes values from lists with other tags.

    Raises:
        UnfitError: `pack` does not make such lists.
    """
    try:
        return _unpack(packed, special, 0)
    except UnfitError:
        raise
    except Exception as error:  # Whatever malformed input runs into, e.g. an unhashable key.
        raise UnfitError(f"a malformed value ({type(error).__name__})") from None


def _unpack(packed: Any, special: Callable[[Any], Any], depth: int) -> Any:
    if depth > DEEPEST + 1:
        raise UnfitError(f"a value is nested deeper than {DEEPEST}")
    if isinstance(packed, str):
        return _SCALARS[packed[0]](packed[1:])
    if packed[0] in _MAKERS:
        module, name = _MAKERS[packed[0]]
        parts = [_unpack(item, refuse, depth + 1) for item in packed[1:]]
        return getattr(__import__(module), name)(*parts)
    build = _BUILDERS.get(packed[0])
    if build is None:
        return special(packed)
    return build([_unpack(item, special, depth + 1) for item in packed[1:]])


_SCALARS: dict[str, Callable[[str], Any]] = {
    "n": lambda text: None,
    "T": lambda text: True,
    "F": lambda text: False,
    "i": lambda text: int(text, 16),
    "f": float.fromhex,
    "a": str,
    "u": lambda text: bytes.fromhex(text).decode("utf-8", "surrogatepass"),
    "b": bytes.fromhex,
    "y": bytearray.fromhex,
}
