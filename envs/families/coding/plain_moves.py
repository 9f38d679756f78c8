"""Moves that begin with a whole number or a text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from laconic.envs.families.coding.move import Move

_VOWELS = "aeiouAEIOU"


def _text(words: str, code: str, run: Callable[[Any, Any], Any], choices: Any = (None,)) -> Move:
    return Move("text", "text", words, code, run, tuple(choices))


def _number(words: str, code: str, run: Callable[[Any, Any], Any], choices: Any = (None,)) -> Move:
    return Move("number", "number", words, code, run, tuple(choices))


NUMBER_MOVES = (
    _number("add $k", "$v + $k", lambda v, k: v + k, range(1, 10)),
    _number("subtract $k", "$v - $k", lambda v, k: v - k, range(1, 10)),
    _number("multiply by $k", "$v * $k", lambda v, k: v * k, range(2, 10)),
    _number("square the number", "$v * $v", lambda v, k: v * v),
    _number("take the absolute value", "abs($v)", lambda v, k: abs(v)),
    _number("replace the number x by x % $k", "$v % $k", lambda v, k: v % k, range(3, 10)),
    _number(
        "if the number is even, halve it, and otherwise add $k",
        "$v // 2 if $v % 2 == 0 else $v + $k",
        lambda v, k: v // 2 if v % 2 == 0 else v + k,
        range(1, 10),
    ),
    _number(
        "if the number is less than $k, take $k instead",
        "max($v, $k)",
        lambda v, k: max(v, k),
        range(-5, 10),
    ),
    _number(
        "if the number is greater than $k, take $k instead",
        "min($v, $k)",
        lambda v, k: min(v, k),
        range(-5, 10),
    ),
    Move(
        "number",
        "numbers",
        "list the digits of its absolute value from left to right",
        "[int(d) for d in str(abs($v))]",
        lambda v, k: [int(d) for d in str(abs(v))],
    ),
)
"""From numbers to numbers and lists."""
TEXT_MOVES = (
    _text("reverse the text", "$v[::-1]", lambda v, k: v[::-1]),
    _text("turn all letters into capital letters", "$v.upper()", lambda v, k: v.upper()),
    _text("turn all letters into small letters", "$v.lower()", lambda v, k: v.lower()),
    _text("swap small and capital letters", "$v.swapcase()", lambda v, k: v.swapcase()),
    _text(
        "remove all vowels (a, e, i, o, u, small or capital)",
        "''.join(c for c in $v if c not in 'aeiouAEIOU')",
        lambda v, k: "".join(c for c in v if c not in _VOWELS),
    ),
    _text("remove all spaces", "$v.replace(' ', '')", lambda v, k: v.replace(" ", "")),
    _text(
        "write every character twice",
        "''.join(c + c for c in $v)",
        lambda v, k: "".join(c + c for c in v),
    ),
    _text("keep only the first $k characters", "$v[:$k]", lambda v, k: v[:k], range(2, 9)),
    _text("drop the first $k characters", "$v[$k:]", lambda v, k: v[k:], range(1, 6)),
    _text("keep every second character, beginning with the first", "$v[::2]", lambda v, k: v[::2]),
    _text("put the letter $k at the end", "$v + '$k'", lambda v, k: v + k, "bdgkmpswxz"),
    _text("put the letter $k at the beginning", "'$k' + $v", lambda v, k: k + v, "bdgkmpswxz"),
    _text(
        "replace every small a by the letter $k",
        "$v.replace('a', '$k')",
        lambda v, k: v.replace("a", k),
        "bdgkmpswxz",
    ),
    _text(
        "if the text has more than $k characters, reverse it",
        "$v[::-1] if len($v) > $k else $v",
        lambda v, k: v[::-1] if len(v) > k else v,
        range(4, 10),
    ),
    _text(
        "put the words in reverse order, with one space between them",
        "' '.join(reversed($v.split()))",
        lambda v, k: " ".join(reversed(v.split())),
    ),
    Move("text", "number", "count the characters", "len($v)", lambda v, k: len(v)),
    Move("text", "number", "count the words", "len($v.split())", lambda v, k: len(v.split())),
    Move(
        "text",
        "number",
        "count the vowels (a, e, i, o, u, small or capital)",
        "sum(c in 'aeiouAEIOU' for c in $v)",
        lambda v, k: sum(c in _VOWELS for c in v),
    ),
    Move(
        "text",
        "number",
        "count how often the small letter $k occurs",
        "$v.count('$k')",
        lambda v, k: v.count(k),
        tuple("aeinorst"),
    ),
    Move(
        "text",
        "numbers",
        "list the length of every word",
        "[len(w) for w in $v.split()]",
        lambda v, k: [len(w) for w in v.split()],
    ),
)
"""From texts to texts, numbers and lists."""
