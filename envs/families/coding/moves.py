"""The grammar of generated functions: moves from one value to the next, each in words and Python.

A function put together from moves has its description, its reference solution and its results all
from this table. `$k` stands for the parameter of a move, `$v` for the variable with the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, cast

ValueKind = Literal["numbers", "number", "text"]
"""Kind of a value: a list of whole numbers, a whole number, or a text."""
TYPES: dict[ValueKind, str] = {"numbers": "list[int]", "number": "int", "text": "str"}
"""The kinds as Python's annotations."""
NAMES: dict[ValueKind, str] = {
    "numbers": "a list of whole numbers",
    "number": "a whole number",
    "text": "a text",
}
"""The kinds in words."""


@dataclass(frozen=True, slots=True)
class Move:
    """One kind of step."""

    takes: ValueKind
    """ValueKind of the value before."""
    gives: ValueKind
    """ValueKind of the value after."""
    words: str
    """Description with `$k` for the parameter; no capital and no full stop."""
    code: str
    """A Python expression of `$v` and `$k` that leaves `$v` as it is and never raises."""
    choices: tuple[Any, ...] = (None,)
    """Parameters to choose from; neighbors in this order are easily mistaken for each other."""
    run: Callable[[Any, Any], Any] = field(init=False, repr=False, compare=False)
    """Function of the code: from value and parameter to the next value."""

    def __post_init__(self) -> None:
        """Compile the code, which is the table's own."""
        code = self.code.replace("'$k'", "k").replace("$k", "k").replace("$v", "v")
        object.__setattr__(self, "run", eval(f"lambda v, k: {code}"))


_TABLE = """\
numbers -> numbers
    keep only the even numbers | [x for x in $v if x % 2 == 0]
    keep only the odd numbers | [x for x in $v if x % 2 == 1]
    keep only the numbers greater than $k | [x for x in $v if x > $k] | range(-3, 7)
    keep only the numbers less than $k | [x for x in $v if x < $k] | range(-2, 9)
    keep only the multiples of $k | [x for x in $v if x % $k == 0] | range(3, 6)
    add $k to every number | [x + $k for x in $v] | range(1, 10)
    subtract $k from every number | [x - $k for x in $v] | range(1, 10)
    multiply every number by $k | [x * $k for x in $v] | range(2, 10)
    square every number | [x * x for x in $v]
    change the sign of every number | [-x for x in $v]
    replace every number by its absolute value | [abs(x) for x in $v]
    replace every number x by x % $k | [x % $k for x in $v] | range(2, 8)
    replace every number less than $k by $k | [max(x, $k) for x in $v] | range(-3, 7)
    replace every number greater than $k by $k | [min(x, $k) for x in $v] | range(-1, 9)
    double the odd numbers and leave the even ones | [x * 2 if x % 2 == 1 else x for x in $v]
    halve the even numbers and leave the odd ones | [x // 2 if x % 2 == 0 else x for x in $v]
    sort the numbers from smallest to largest | sorted($v)
    sort the numbers from largest to smallest | sorted($v, reverse=True)
    reverse the order of the numbers | $v[::-1]
    remove repeated numbers and keep the first of each | list(dict.fromkeys($v))
    keep only the first $k numbers | $v[:$k] | range(1, 6)
    drop the first $k numbers | $v[$k:] | range(1, 5)
    keep every second number, beginning with the first | $v[::2]
    replace every number by the sum of all numbers up to and including it
        | [sum($v[: i + 1]) for i in range(len($v))]
    if there are more than $k numbers, reverse their order
        | $v[::-1] if len($v) > $k else $v | range(2, 6)
    put the number $k at the end | [*$v, $k] | range(10)
numbers -> number
    take the sum of the numbers | sum($v)
    take the largest number, or 0 if there is none | max($v, default=0)
    take the smallest number, or 0 if there is none | min($v, default=0)
    take the last number, or 0 if there is none | $v[-1] if $v else 0
    count the numbers | len($v)
    count the numbers greater than $k | sum(x > $k for x in $v) | range(-2, 6)
    take the difference of the largest and the smallest number, or 0 if there is none
        | max($v, default=0) - min($v, default=0)
number -> number
    add $k | $v + $k | range(1, 10)
    subtract $k | $v - $k | range(1, 10)
    multiply by $k | $v * $k | range(2, 10)
    square the number | $v * $v
    take the absolute value | abs($v)
    replace the number x by x % $k | $v % $k | range(3, 10)
    if the number is even, halve it, and otherwise add $k
        | $v // 2 if $v % 2 == 0 else $v + $k | range(1, 10)
    if the number is less than $k, take $k instead | max($v, $k) | range(-5, 10)
    if the number is greater than $k, take $k instead | min($v, $k) | range(-5, 10)
number -> numbers
    list the digits of its absolute value from left to right | [int(d) for d in str(abs($v))]
text -> text
    reverse the text | $v[::-1]
    turn all letters into capital letters | $v.upper()
    turn all letters into small letters | $v.lower()
    swap small and capital letters | $v.swapcase()
    remove all vowels (a, e, i, o, u, small or capital)
        | ''.join(c for c in $v if c not in 'aeiouAEIOU')
    remove all spaces | $v.replace(' ', '')
    write every character twice | ''.join(c + c for c in $v)
    keep only the first $k characters | $v[:$k] | range(2, 9)
    drop the first $k characters | $v[$k:] | range(1, 6)
    keep every second character, beginning with the first | $v[::2]
    put the letter $k at the end | $v + '$k' | "bdgkmpswxz"
    put the letter $k at the beginning | '$k' + $v | "bdgkmpswxz"
    replace every small a by the letter $k | $v.replace('a', '$k') | "bdgkmpswxz"
    if the text has more than $k characters, reverse it
        | $v[::-1] if len($v) > $k else $v | range(4, 10)
    put the words in reverse order, with one space between them | ' '.join(reversed($v.split()))
text -> number
    count the characters | len($v)
    count the words | len($v.split())
    count the vowels (a, e, i, o, u, small or capital) | sum(c in 'aeiouAEIOU' for c in $v)
    count how often the small letter $k occurs | $v.count('$k') | "aeinorst"
text -> numbers
    list the length of every word | [len(w) for w in $v.split()]
"""
"""Moves by their kinds: words, code and, for a parameter, the values to choose from."""


def _read(table: str) -> Iterator[Move]:
    kinds: tuple[ValueKind, ValueKind] = ("number", "number")
    for line in table.replace("\n        |", " |").splitlines():
        if line.startswith(" "):
            words, code, *choices = line.strip().split(" | ")
            # The code of the table is its own.
            yield Move(*kinds, words, code, *(tuple(eval(choice)) for choice in choices))
        else:
            kinds = cast("tuple[ValueKind, ValueKind]", tuple(line.split(" -> ")))


MOVES: tuple[Move, ...] = tuple(_read(_TABLE))
"""All moves; seeds depend on their order."""
