"""Reading of what servers send, by type.

A server may be broken, hostile, or something else than it claims. `Json` gives fields only as the
type that is asked for, so a wrong answer is a `ServerError` in one line and no error of Python.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from laconic.learners.errors import ServerError

_MAX_WHOLE = 2**53
"""Size from which a whole number is taken for a mistake."""
_SHOWN = 200
"""Number of characters of an answer that a message shows."""


@dataclass(frozen=True, slots=True)
class Json:
    """A part of an answer, read by type; a field that is missing counts as null."""

    value: Any
    """The part as parsed."""
    url: str
    """Address of the server, for messages."""
    path: str = "answer"
    """Place of the part in the answer, for messages."""

    @staticmethod
    def parse(body: bytes, url: str) -> Json:
        """Read a body; one that is no JSON becomes its text, which no reader but `text` takes."""
        try:
            return Json(json.loads(body), url)
        except (ValueError, RecursionError):
            return Json(body.decode("utf-8", "replace"), url)

    def __getitem__(self, name: str) -> Json:
        """Return a field of an object."""
        if not isinstance(self.value, dict):
            raise self.error("an object")
        return Json(self.value.get(name), self.url, f"{self.path}.{name}")

    def optional(self, name: str) -> Json:
        """Return a field that should be an object; an empty object if it is null."""
        field = self[name]
        return Json({}, self.url, field.path) if field.value is None else field

    def items(self) -> list[Json]:
        """Return the parts of a list."""
        if not isinstance(self.value, list):
            raise self.error("a list")
        return [
            Json(item, self.url, f"{self.path}[{place}]") for place, item in enumerate(self.value)
        ]

    def text(self) -> str:
        """Return a text."""
        if not isinstance(self.value, str):
            raise self.error("a text")
        return self.value

    def whole(self) -> int:
        """Return a whole number from 0."""
        if type(self.value) is not int or not 0 <= self.value < _MAX_WHOLE:
            raise self.error("a whole number from 0")
        return self.value

    def number(self) -> float:
        """Return a finite number."""
        try:
            number = float(self.value) if type(self.value) in (int, float) else math.nan
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.error("a finite number")
        return number

    def wholes(self) -> tuple[int, ...]:
        """Return a list of whole numbers, such as token ids."""
        return tuple(item.whole() for item in self.items())

    def numbers(self) -> tuple[float, ...]:
        """Return a list of finite numbers, such as log-probabilities."""
        return tuple(item.number() for item in self.items())

    def fields(self) -> Mapping[str, Json]:
        """Return all fields of an object."""
        if not isinstance(self.value, dict):
            raise self.error("an object")
        return {name: self[name] for name in self.value}

    def error(self, expected: str) -> ServerError:
        """Return the error for a part of another type."""
        shown = repr(self.value)
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
        return ServerError(
            f"{self.url} sent an unusable answer: expected {expected} as {self.path[:_SHOWN]}; got"
            f" {shown}. Check that the address is that of a model server (docs/engines.md)"
        )
