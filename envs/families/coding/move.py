"""A move from one value to the next: one kind of step of generated functions, in three forms.

A move says in plain words what happens, writes it as Python, and does it, so that a function put
together from moves has its description, its reference solution and its results without running
any text. `$k` stands for the move's parameter, `$v` for the variable that holds the value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["numbers", "number", "text"]
"""What a value is: a list of whole numbers, a whole number, or a text."""
KINDS: tuple[Kind, ...] = ("numbers", "number", "text")
"""All kinds."""
TYPES: dict[Kind, str] = {"numbers": "list[int]", "number": "int", "text": "str"}
"""The kinds as Python's annotations."""
NAMES: dict[Kind, str] = {
    "numbers": "a list of whole numbers",
    "number": "a whole number",
    "text": "a text",
}
"""The kinds in words."""


@dataclass(frozen=True, slots=True)
class Move:
    """One kind of step."""

    takes: Kind
    """Kind of the value before."""
    gives: Kind
    """Kind of the value after."""
    words: str
    """What happens, with `$k` for the parameter; no capital and no full stop."""
    code: str
    """A Python expression of `$v` and `$k`."""
    run: Callable[[Any, Any], Any]
    """From value and parameter to the next value; never raises on a value of its kind."""
    choices: tuple[Any, ...] = (None,)
    """Parameters to choose from; neighbours in this order are easily mistaken for each other."""
