"""Reading MATH's reference answers, as far as re-forms of them are made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Gold:
    """A reference answer and what was asked."""

    answer: str
    problem: str
    copies: tuple[str, ...] = ()
    """Expressions of the problem that are equal to the answer, not worked out."""


Family = Callable[[Gold], Iterator[str]]

_INTEGER = re.compile(r"-?[0-9]+")
_GROUPED = re.compile(r"(-?)([0-9]{1,3}(?:,(?:\\!)?[0-9]{3})+)")
_FRACTION = re.compile(r"(-?)\\[dt]?frac\{([0-9]+)\}\{([0-9]+)\}")
_DECIMAL = re.compile(r"-?[0-9]*\.[0-9]+")
_PAIR = re.compile(r"(\\left)?\s*([(\[])(.*?)(\\right)?([)\]])", re.DOTALL)
UNIT = re.compile(r"(-?[0-9.]+)\s*\\[;, ]?\s*\\(?:text|mbox)\s*\{\s*([a-z ]+)\}(\^[23])?")
"""A number with a unit in words."""
MATRIX = re.compile(r"\\begin\{pmatrix\}(.*)\\end\{pmatrix\}", re.DOTALL)
"""A matrix in round brackets."""


def number(answer: str) -> Fraction | None:
    """Return the rational number of an answer: whole, grouped, a fraction or a decimal."""
    if _INTEGER.fullmatch(answer) or _DECIMAL.fullmatch(answer):
        return Fraction(answer)
    if _GROUPED.fullmatch(answer):
        return Fraction(answer.replace(",", "").replace(r"\!", ""))
    if match := _FRACTION.fullmatch(answer):
        return Fraction(int(match[2]), int(match[3])) * (-1 if match[1] else 1)
    return None


def parts(answer: str) -> tuple[str, ...]:
    """Split an answer at the commas that stand in no bracket."""
    if number(answer) is not None:
        return (answer,)
    entries, depth, start = [], 0, 0
    for place, letter in enumerate(answer):
        depth += (letter in "([{") - (letter in ")]}")
        grouping = (
            answer[place + 1 :].lstrip().startswith(r"\!") or answer[place - 1 : place] == "\\"
        )
        if letter == "," and depth == 0 and not grouping:
            entries.append(answer[start:place].strip())
            start = place + 1
    return (*entries, answer[start:].strip())


def pair(answer: str) -> tuple[str, tuple[str, ...], str] | None:
    """Return the brackets and the entries of a tuple or an interval."""
    match = _PAIR.fullmatch(answer.strip())
    if not match or re.search(r"[()\[\]]", match[3]):
        return None
    entries = parts(match[3])
    return (match[2], entries, match[5]) if len(entries) > 1 else None


def terms(answer: str) -> list[str]:
    """Return the signed terms of a sum without white space; one term if it is no sum."""
    bare = re.sub(r"\s|\\left|\\right", "", answer)
    entries, depth, start = [], 0, 0
    for place, letter in enumerate(bare):
        depth += (letter in "([{") - (letter in ")]}")
        if letter in "+-" and depth == 0 and place and bare[place - 1] not in "^_":
            entries.append(bare[start:place])
            start = place
    return [*entries, bare[start:]]
