"""Objects of the program's own classes as the tests hold them, in the shared form.

The object stays in the program's interpreter; a handle forwards the operations of the tests. The
result is the program's claim. So a handle never equals a plain value and does no arithmetic with
one: expected values are compared on the tests' side, and a program cannot echo a value it is not
shown. Membership is not forwarded either: Python then iterates, and compares on the tests' side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Caller(Protocol):
    """The part of the link that a handle uses."""

    def call(self, target: Any, arguments: Any, options: Any) -> Any:
        """Call an object of the program."""

    def apply(self, operation: str, *operands: Any) -> Any:
        """Apply an operation to objects of the program."""


class Handle:
    """Reference to one object of the program."""

    __slots__ = ("_link", "_number", "_kind")

    def __init__(self, link: Caller, number: int, kind: str) -> None:
        """Stand for an object.

        Args:
            link: where the object lives.
            number: its number there.
            kind: the name of its class, for messages.
        """
        object.__setattr__(self, "_link", link)
        object.__setattr__(self, "_number", number)
        object.__setattr__(self, "_kind", kind)

    def __getattr__(self, name: str) -> Any:
        return _apply(self, "getattr", name)

    def __setattr__(self, name: str, value: Any) -> None:
        _apply(self, "setattr", name, value)

    def __delattr__(self, name: str) -> None:
        _apply(self, "delattr", name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the object."""
        return object.__getattribute__(self, "_link").call(self, arguments, options)

    def __getitem__(self, key: Any) -> Any:
        return _apply(self, "getitem", key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _apply(self, "setitem", key, value)

    def __delitem__(self, key: Any) -> None:
        _apply(self, "delitem", key)

    def __iter__(self) -> Iterator[Any]:
        return iter(_apply(self, "iter"))

    def __len__(self) -> int:
        return _plain(_apply(self, "len"), int)

    def __bool__(self) -> bool:
        return _plain(_apply(self, "bool"), bool)

    def __hash__(self) -> int:
        return _plain(_apply(self, "hash"), int)

    def __str__(self) -> str:
        return _plain(_apply(self, "str"), str)

    def __repr__(self) -> str:
        return _plain(_apply(self, "repr"), str)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, Handle) and _apply(value, "isinstance", self) is True

    def __subclasscheck__(self, kind: Any) -> bool:
        return isinstance(kind, Handle) and _apply(kind, "issubclass", self) is True


def _apply(handle: Handle, operation: str, *operands: Any) -> Any:
    return object.__getattribute__(handle, "_link").apply(operation, handle, *operands)


def _plain(value: Any, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__!r} from an object of the program")
    return value


def _between_handles(operation: str) -> Callable[[Handle, Any], Any]:
    def operator(self: Handle, other: Any) -> Any:
        return _apply(self, operation, other) if isinstance(other, Handle) else NotImplemented

    return operator


for _operation in ("eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "truediv", "matmul"):
    setattr(Handle, f"__{_operation}__", _between_handles(_operation))
