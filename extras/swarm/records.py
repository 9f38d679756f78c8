"""Frozen records to plain data and back, field by field, so that no field is forgotten.

Plain data is what JSON holds: text, numbers, truth values, null, lists and mappings with text keys.
The types of a record's fields decide how it is read; a value of another type is refused.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

Record = TypeVar("Record")


def to_plain(value: Any) -> Any:
    """A record, or a container of some, as plain data; what is neither stays as it is."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: to_plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {key: to_plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(one) for one in value]
    return value


def from_plain(kind: type[Record], plain: Any) -> Record:
    """Read what `to_plain` made of a record of this class; absent fields get their defaults.

    Raises:
        TypeError: a value is of another type than its field, or a field without default is missing.
        ValueError: there is a field that the record does not have, or the record refuses a value.
    """
    if not isinstance(plain, Mapping):
        raise TypeError(f"expected the fields of {kind.__name__}; got {plain!r:.60}")
    known = fields(kind)  # type: ignore[arg-type]
    if strange := set(plain) - {one.name for one in known}:
        raise ValueError(f"{kind.__name__} has no field {sorted(strange)[0]!r:.60}")
    hints = _types(kind)  # type: ignore[arg-type]
    found = {}
    for one in known:
        if one.name in plain:
            found[one.name] = _read(hints[one.name], plain[one.name], one.name)
        elif one.default is MISSING and one.default_factory is MISSING:
            raise TypeError(f"{kind.__name__} needs the field {one.name!r}")
    return kind(**found)


@cache
def _types(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _read(kind: Any, value: Any, name: str) -> Any:
    """A value as the type of a field asks for it."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, types.UnionType):
        if value is None and type(None) in inner:
            return None
        (kind,) = (one for one in inner if one is not type(None))
        return _read(kind, value, name)
    if is_dataclass(kind):
        return from_plain(kind, value)  # type: ignore[arg-type]
    if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        hints = _types(kind)
        if not isinstance(value, Sequence) or len(value) != len(hints):
            raise TypeError(f"expected {len(hints)} values for {name!r}; got {value!r:.60}")
        return kind(*(_read(hints[one], each, one) for one, each in zip(hints, value, strict=True)))
    if origin is tuple and isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_read(inner[0], one, name) for one in value)
    if origin is Mapping and isinstance(value, Mapping):
        return {_read(str, key, name): _read(inner[1], one, name) for key, one in value.items()}
    if kind is float and type(value) is int:
        return float(value)
    if isinstance(kind, type) and type(value) is kind:
        return value
    raise TypeError(f"expected {getattr(kind, '__name__', kind)} for {name!r}; got {value!r:.60}")
