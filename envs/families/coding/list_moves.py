"""Moves that begin with a list of whole numbers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

from laconic.envs.families.coding.move import Move


def _list(words: str, code: str, run: Callable[[Any, Any], Any], choices: Any = (None,)) -> Move:
    return Move("numbers", "numbers", words, code, run, tuple(choices))


LIST_MOVES = (
    _list(
        "keep only the even numbers",
        "[x for x in $v if x % 2 == 0]",
        lambda v, k: [x for x in v if x % 2 == 0],
    ),
    _list(
        "keep only the odd numbers",
        "[x for x in $v if x % 2 == 1]",
        lambda v, k: [x for x in v if x % 2 == 1],
    ),
    _list(
        "keep only the numbers greater than $k",
        "[x for x in $v if x > $k]",
        lambda v, k: [x for x in v if x > k],
        range(-3, 7),
    ),
    _list(
        "keep only the numbers less than $k",
        "[x for x in $v if x < $k]",
        lambda v, k: [x for x in v if x < k],
        range(-2, 9),
    ),
    _list(
        "keep only the multiples of $k",
        "[x for x in $v if x % $k == 0]",
        lambda v, k: [x for x in v if x % k == 0],
        range(3, 6),
    ),
    _list(
        "add $k to every number",
        "[x + $k for x in $v]",
        lambda v, k: [x + k for x in v],
        range(1, 10),
    ),
    _list(
        "subtract $k from every number",
        "[x - $k for x in $v]",
        lambda v, k: [x - k for x in v],
        range(1, 10),
    ),
    _list(
        "multiply every number by $k",
        "[x * $k for x in $v]",
        lambda v, k: [x * k for x in v],
        range(2, 10),
    ),
    _list("square every number", "[x * x for x in $v]", lambda v, k: [x * x for x in v]),
    _list("change the sign of every number", "[-x for x in $v]", lambda v, k: [-x for x in v]),
    _list(
        "replace every number by its absolute value",
        "[abs(x) for x in $v]",
        lambda v, k: [abs(x) for x in v],
    ),
    _list(
        "replace every number x by x % $k",
        "[x % $k for x in $v]",
        lambda v, k: [x % k for x in v],
        range(2, 8),
    ),
    _list(
        "replace every number less than $k by $k",
        "[max(x, $k) for x in $v]",
        lambda v, k: [max(x, k) for x in v],
        range(-3, 7),
    ),
    _list(
        "replace every number greater than $k by $k",
        "[min(x, $k) for x in $v]",
        lambda v, k: [min(x, k) for x in v],
        range(-1, 9),
    ),
    _list(
        "double the odd numbers and leave the even ones",
        "[x * 2 if x % 2 == 1 else x for x in $v]",
        lambda v, k: [x * 2 if x % 2 == 1 else x for x in v],
    ),
    _list(
        "halve the even numbers and leave the odd ones",
        "[x // 2 if x % 2 == 0 else x for x in $v]",
        lambda v, k: [x // 2 if x % 2 == 0 else x for x in v],
    ),
    _list("sort the numbers from smallest to largest", "sorted($v)", lambda v, k: sorted(v)),
    _list(
        "sort the numbers from largest to smallest",
        "sorted($v, reverse=True)",
        lambda v, k: sorted(v, reverse=True),
    ),
    _list("reverse the order of the numbers", "$v[::-1]", lambda v, k: v[::-1]),
    _list(
        "remove repeated numbers and keep the first of each",
        "list(dict.fromkeys($v))",
        lambda v, k: list(dict.fromkeys(v)),
    ),
    _list("keep only the first $k numbers", "$v[:$k]", lambda v, k: v[:k], range(1, 6)),
    _list("drop the first $k numbers", "$v[$k:]", lambda v, k: v[k:], range(1, 5)),
    _list("keep every second number, beginning with the first", "$v[::2]", lambda v, k: v[::2]),
    _list(
        "replace every number by the sum of all numbers up to and including it",
        "[sum($v[: i + 1]) for i in range(len($v))]",
        lambda v, k: list(accumulate(v)),
    ),
    _list(
        "if there are more than $k numbers, reverse their order",
        "$v[::-1] if len($v) > $k else $v",
        lambda v, k: v[::-1] if len(v) > k else v,
        range(2, 6),
    ),
    _list("put the number $k at the end", "[*$v, $k]", lambda v, k: [*v, k], range(10)),
    Move("numbers", "number", "take the sum of the numbers", "sum($v)", lambda v, k: sum(v)),
    Move(
        "numbers",
        "number",
        "take the largest number, or 0 if there is none",
        "max($v, default=0)",
        lambda v, k: max(v, default=0),
    ),
    Move(
        "numbers",
        "number",
        "take the smallest number, or 0 if there is none",
        "min($v, default=0)",
        lambda v, k: min(v, default=0),
    ),
    Move(
        "numbers",
        "number",
        "take the last number, or 0 if there is none",
        "$v[-1] if $v else 0",
        lambda v, k: v[-1] if v else 0,
    ),
    Move("numbers", "number", "count the numbers", "len($v)", lambda v, k: len(v)),
    Move(
        "numbers",
        "number",
        "count the numbers greater than $k",
        "sum(x > $k for x in $v)",
        lambda v, k: sum(x > k for x in v),
        tuple(range(-2, 6)),
    ),
    Move(
        "numbers",
        "number",
        "take the difference of the largest and the smallest number, or 0 if there is none",
        "max($v, default=0) - min($v, default=0)",
        lambda v, k: max(v, default=0) - min(v, default=0),
    ),
)
"""From lists to lists and numbers."""
