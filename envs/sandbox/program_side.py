"""The program's interpreter: runs the program under test; nothing here is trusted afterwards.

Its source is sent there together with that of `wire`. It runs the program, then answers requests:
frames of a four-byte length and, in requests, a marshalled list; in replies, JSON. It holds no
secret: neither tests nor expected values ever come here, only calls and their arguments.
"""

from __future__ import annotations

import _operator  # type: ignore[import-not-found]
import builtins
import marshal
import posix
import sys

from laconic.envs.sandbox.wire import pack, refuse, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

TEXT = 300
"""Maximum number of characters of a reported exception."""


class ProgramProcess:
    """The program's end of the link."""

    def __init__(self, requests: int, replies: int) -> None:
        """Take the two pipes and make the module that the program becomes."""
        self._requests, self._replies = requests, replies
        self._module = type(sys)("program")
        self._handles: dict[int, Any] = {}
        self._allowed = False

    def serve(self) -> Any:
        """Answer requests until the answer to a call of our own comes, or for ever."""
        while True:
            kind, *rest = marshal.loads(self._read())
            if kind == "returned":
                return unpack(rest[0], self._received)
            if kind == "raised":
                raise RuntimeError(rest[0])
            self._answer(getattr(self, "_do_" + kind), rest)

    def _answer(self, act: Callable[..., Any], arguments: list[Any]) -> None:
        try:
            reply = ["value", pack(act(*arguments), self._special)]
        except BaseException as error:
            reply = ["error", *_described(error)]
        self._write(reply)

    def _do_run(self, code: str, allowed: bool) -> None:
        self._allowed = allowed
        sys.modules["program"] = self._module
        exec(compile(code, "<program>", "exec", dont_inherit=True), self._module.__dict__)

    def _do_name(self, name: str) -> Any:
        return self._resolve(name)

    def _do_has(self, name: str) -> bool:
        return name in self._module.__dict__

    def _do_call(self, target: Any, arguments: Any, options: Any) -> Any:
        function = self._resolve(target) if isinstance(target, str) else self._received(target)
        positional = unpack(arguments, self._received)
        return function(*positional, **unpack(options, self._received))

    def _do_apply(self, operation: str, operands: Any) -> Any:
        builtin: dict[str, Any] = {
            "getattr": getattr,
            "setattr": setattr,
            "delattr": delattr,
            "len": len,
        }
        builtin |= {"iter": iter, "bool": bool, "hash": hash, "str": str, "repr": repr}
        builtin |= {"isinstance": isinstance, "issubclass": issubclass}
        function = builtin.get(operation) or getattr(_operator, operation)
        return function(*unpack(operands, self._received))

    def _resolve(self, name: str) -> Any:
        try:
            return self._module.__dict__[name]
        except KeyError:
            raise NameError(f"name {name!r} is not defined") from None

    def _special(self, value: Any) -> Any:
        if not self._allowed:
            return refuse(value)
        self._handles[id(value)] = value
        return ["o", pack(id(value)), pack(type(value).__name__)]

    def _received(self, packed: Any) -> Any:
        number = unpack(packed[1])
        if packed[0] == "N":  # A builtin such as `int`, by name.
            return getattr(builtins, number)
        if packed[0] == "o":
            return self._handles[number]

        def call_back(*arguments: Any, **options: Any) -> Any:
            sent = [pack(arguments, self._special), pack(options, self._special)]
            self._write(["call", packed[1], *sent])
            return self.serve()

        return call_back

    def _read(self) -> bytes:
        return self._exactly(int.from_bytes(self._exactly(4), "big"))

    def _exactly(self, size: int) -> bytes:
        parts = []
        while size:
            part = posix.read(self._requests, size)
            if not part:
                posix._exit(0)
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _write(self, reply: list[Any]) -> None:
        # All strings are free of quotes and backslashes, which makes their repr JSON.
        data = repr(reply).replace("'", '"').encode()
        data = len(data).to_bytes(4, "big") + data
        while data:
            data = data[posix.write(self._replies, data) :]


def _described(error: BaseException) -> list[Any]:
    try:
        text = str(error)[:TEXT]
    except BaseException:
        text = ""
    kind = type(error)
    builtin = next(base for base in kind.__mro__ if base.__module__ == "builtins")
    return [pack(builtin.__name__), pack(kind.__name__[:TEXT]), pack(text)]
