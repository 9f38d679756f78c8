"""The tests' end of the link to the program: requests out, plain values and exceptions back.

Everything that arrives is hostile. It can only become a fresh plain value, a builtin exception or a
fault; a fault fails the running test, whatever that test does with exceptions.

In the shared form, an object of the program's own classes stays in the program's interpreter. The
tests hold a handle that forwards their operations, and the program computes the results. So a
handle never equals a plain value and does no arithmetic with one: expected values are compared on
the tests' side, and a program cannot echo a value that it does not see. Membership is not forwarded
either: Python then iterates, and compares on the tests' side.
"""

from __future__ import annotations

import builtins
import json
import marshal
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from laconic.envs.sandbox.jail import STARTED
from laconic.envs.sandbox.wire import UnfitError, pack, unpack

T = TypeVar("T")
_ENDS = (StopIteration, StopAsyncIteration)
"""Exceptions by which an iterator ends; the other such signals are no `Exception`, so faults."""


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


class FaultError(BaseException):
    """A fault of the program that no `except Exception` of a test may catch."""


class Link:
    """Calls into the program.

    Attributes:
        fault: reason why the running test has failed regardless of its own outcome; may be empty.
        gone: True if the program has ended or breaks the protocol, so no further test can pass.
        objects: True if objects of the program's own classes may cross, as handles.
        called_back: True if functions of the tests were handed to the program.
    """

    def __init__(self, requests: int, replies: int, max_bytes: int) -> None:
        """Take the two pipes.

        Args:
            requests: file descriptor to write requests to.
            replies: file descriptor to read replies from.
            max_bytes: largest reply that is accepted.
        """
        self._requests, self._replies, self._max_bytes = requests, replies, max_bytes
        self._functions: list[Callable[..., Any]] = []
        self.objects = False
        self.called_back = False
        self.gone = False
        self.fault = ""

    def start(self, marshalled: bytes) -> str:
        """Send the source that the fresh interpreter runs.

        Returns:
            Reason why the interpreter did not start; empty if it did. No program influences it.
        """
        message = os.read(self._replies, 500)
        if message != STARTED:
            return message.decode("ascii", "replace") or "its interpreter ended before it began"
        self._send(marshalled)
        return ""

    def run(self, code: str) -> None:
        """Run the program; its exceptions are raised here."""
        self._request("run", code, self.objects)

    def has(self, name: str) -> bool:
        """Return whether the program defines a name."""
        return self._request("has", name) is True

    def named(self, name: str) -> Any:
        """Return the program's object of a name, as a handle."""
        return self._request("name", name)

    def call(
        self, target: str | Handle, arguments: Sequence[Any], options: Mapping[str, Any]
    ) -> Any:
        """Call a function of the program by name, or an object by its handle."""
        packed = target if isinstance(target, str) else self._special(target)
        sent = (self._packed(tuple(arguments)), self._packed(dict(options)))
        return self._request("call", packed, *sent)

    def apply(self, operation: str, *operands: Any) -> Any:
        """Apply an operation such as `getattr` to objects of the program."""
        return self._request("apply", operation, self._packed(operands))

    def fail(self, reason: str, *, gone: bool = False) -> FaultError:
        """Note a fault; returns the exception to raise."""
        self.fault = self.fault or reason
        self.gone = self.gone or gone
        return FaultError(reason)

    def _request(self, *request: Any) -> Any:
        self._send(marshal.dumps(request))
        while True:
            kind, *rest = self._receive()
            if kind == "value" and len(rest) == 1:
                return self._unpacked(rest[0])
            if kind == "error" and len(rest) == 3:
                raise self._exception(*(self._text(part) for part in rest))
            if kind == "call" and len(rest) == 3:
                self._call_back(*rest)
            else:
                raise self.fail("the program sent what is no reply", gone=True)

    def _call_back(self, packed: Any, arguments: Any, options: Any) -> None:
        number, arguments = self._unpacked(packed), self._unpacked(arguments)
        options = self._unpacked(options)
        if type(number) is not int or not 0 <= number < len(self._functions):
            raise self.fail("the program called a function it was not given", gone=True)
        try:
            answer = ("returned", self._packed(self._functions[number](*arguments, **options)))
        except Exception as error:
            answer = ("raised", str(error))
        self._send(marshal.dumps(answer))

    def _packed(self, value: Any) -> Any:
        return pack(value, self._special)

    def _special(self, value: Any) -> list[Any]:
        if isinstance(value, Handle):
            return ["o", pack(object.__getattribute__(value, "_number"))]
        name = getattr(value, "__name__", "")
        if getattr(builtins, name, self) is value:
            return ["N", pack(name)]
        if not callable(value):
            raise UnfitError(f"the tests pass a {type(value).__name__!r}, which cannot cross")
        self.called_back = True
        self._functions.append(value)
        return ["x", pack(len(self._functions) - 1)]

    def _unpacked(self, packed: Any) -> Any:
        try:
            return unpack(packed, self._handle)
        except UnfitError as error:
            raise self.fail(str(error), gone=True) from None

    def _handle(self, packed: Any) -> Handle:
        if not self.objects or packed[0] != "o":
            raise UnfitError("the program sent what is no plain value")
        return Handle(self, int(unpack(packed[1])), str(unpack(packed[2])))

    def _text(self, packed: Any) -> str:
        text = self._unpacked(packed)
        if type(text) is not str:
            raise self.fail("the program sent what is no exception", gone=True)
        return text

    def _exception(self, builtin: str, kind: str, text: str) -> BaseException:
        if kind == "UnfitError":
            return self.fail(text)
        base = getattr(builtins, builtin, None)
        if not (isinstance(base, type) and issubclass(base, Exception)):
            return self.fail(f"the program raised {kind}")
        if issubclass(base, _ENDS):
            # As it is, it would end a loop of the tests: `all(map(f, cases))` would be true.
            return RuntimeError(f"the program raised {kind}: {text}")
        for ancestor in base.__mro__:
            try:
                error: BaseException = ancestor(text)
                return error
            except TypeError:  # Some, such as UnicodeDecodeError, need more than a text.
                continue
        return self.fail(f"the program raised {kind}")

    def _receive(self) -> list[Any]:
        size = int.from_bytes(self._exactly(4), "big")
        if size > self._max_bytes:
            raise self.fail("the program sent more than its limit", gone=True)
        try:
            reply = json.loads(self._exactly(size))
        except (ValueError, RecursionError):
            reply = None
        if type(reply) is not list or not reply:
            raise self.fail("the program sent what is no reply", gone=True)
        return reply

    def _exactly(self, size: int) -> bytes:
        parts = []
        while size:
            part = os.read(self._replies, min(size, 1 << 16))
            if not part:
                raise self.fail("the program ended", gone=True)
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _send(self, data: bytes) -> None:
        if self.gone:
            raise self.fail("the program ended", gone=True)
        data = len(data).to_bytes(4, "big") + data
        try:
            while data:
                data = data[os.write(self._requests, data) :]
        except BrokenPipeError:
            raise self.fail("the program ended", gone=True) from None
