r"""Taking a tidied answer apart: tuples and intervals, sets and lists, unions, matrices, equations.

Brackets are kept letter for letter, so that `[1,2]` never equals `(1,2)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["single", "list", "tuple", "union", "matrix", "equation"]
_MATRIX = re.compile(r"\\begin\{(?P<name>[pbBvV]?(?:small)?matrix)\}(?P<body>.*)\\end\{(?P=name)\}")
_TOKEN = re.compile(r"\\begin\{\w*\}|\\end\{\w*\}|\\[A-Za-z]+|\\.|.", re.DOTALL)
_OPENING = frozenset(("(", "[", "{", r"\{", r"\begin", r"\lfloor", r"\lceil", r"\langle"))
_CLOSING = frozenset((")", "]", "}", r"\}", r"\end", r"\rfloor", r"\rceil", r"\rangle"))
_MEMBER = re.compile(r"(?:[A-Za-z]|\\[a-z]+|\([A-Za-z],\s*[A-Za-z]\))\s*\\in(?![A-Za-z])\s*")
_COMPARED = re.compile(r"(\\le(?![A-Za-z])|\\ge(?![A-Za-z])|<=?|>=?)")
_SYMBOL = re.compile(r"[A-Za-z]|\\[a-z]+")
_OPEN = {"<": True, ">": True}


@dataclass(frozen=True, slots=True)
class Structure:
    """The outermost structure of an answer."""

    kind: Kind
    """`single` where there is nothing to take apart."""
    parts: tuple[str, ...]
    """Its parts in order; the rows of a matrix follow each other."""
    form: str = ""
    """What else must agree: the brackets of a tuple, the size of a matrix."""


def structure_of(text: str) -> Structure:
    r"""The structure of a tidied answer.

    A `list` is unordered (`1, 2`, `\{1, 2\}`, `3 \pm \sqrt{2}`), a `tuple` is ordered and has
    brackets (a point, a vector, an interval). Inequalities about one letter are intervals.
    """
    text = _MEMBER.sub("", text, count=1) if _MEMBER.match(text) else text
    text = _interval(text).strip()
    if text in (r"\mathbb{R}", r"\R", r"\Re"):
        text = r"(-\infty,\infty)"
    text = _unwrapped(text)
    if matrix := _MATRIX.fullmatch(text):
        return _matrix(matrix)
    for kind, separators in (("list", (",", ";")), ("equation", ("=", r"\approx"))):
        parts = split(text, separators)
        if len(parts) > 1 and kind == "list" and all(_interval(part) != part for part in parts):
            # `x < 2 or x > 5`
            return Structure("union", parts)
        if len(parts) > 1:
            return Structure(kind, parts)  # type: ignore[arg-type]
    parts = split(text, (r"\cup",))
    if len(parts) > 1:
        return Structure("union", parts)
    if text.startswith(r"\{") and text.endswith(r"\}") and _encloses(text):
        return Structure("list", split(text[2:-2], (",", ";")), "set")
    if text[:1] in ("(", "[") and text[-1:] in (")", "]") and _encloses(text):
        return Structure("tuple", split(text[1:-1], (",",)), text[0] + text[-1])
    if text.count(r"\pm") == 1:
        return Structure("list", (text.replace(r"\pm", "+"), text.replace(r"\pm", "-")))
    return Structure("single", (text,))


def split(text: str, separators: tuple[str, ...]) -> tuple[str, ...]:
    """The parts between separators that stand in no bracket, stripped."""
    parts, start, depth = [], 0, 0
    for place, token in _tokens(text):
        depth += _step(token)
        if token in separators and depth == 0 and not _is_relation(text, place, token):
            parts.append(text[start:place].strip())
            start = place + len(token)
    return (*parts, text[start:].strip())


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    for found in _TOKEN.finditer(text):
        yield found.start(), found.group()


def _is_relation(text: str, place: int, token: str) -> bool:
    return token == "=" and text[max(0, place - 1) : place] in ("<", ">", "!")


def _encloses(text: str) -> bool:
    """Whether the first bracket is closed by the last one."""
    depth = 0
    for place, token in _tokens(text):
        depth += _step(token)
        if depth == 0:
            return place + len(token) >= len(text)
    return False


def _step(token: str) -> int:
    """How much deeper in brackets the text goes with a token."""
    name = token.partition("{")[0] if token.startswith((r"\begin", r"\end")) else token
    return (name in _OPENING) - (name in _CLOSING)


def _unwrapped(text: str) -> str:
    """Drop brackets around a single thing: `(5)` and `{5}` are `5`."""
    while True:
        round_or_brace = text[:1] + text[-1:] in ("()", "{}")
        if not (round_or_brace and len(text) > 2 and _encloses(text)):
            return text
        if text[0] == "(" and len(split(text[1:-1], (",",))) > 1:
            return text
        text = text[1:-1].strip()


def _matrix(found: re.Match[str]) -> Structure:
    rows = [row for row in split(found["body"], (r"\\",)) if row]
    cells = [split(row, ("&",)) for row in rows]
    upright = found["name"][0] in "vV"
    size = "x".join([str(len(rows)), *(str(len(row)) for row in cells)])
    return Structure(
        "matrix", tuple(cell for row in cells for cell in row), f"{size}{'|' * upright}"
    )


def _interval(text: str) -> str:
    r"""`1 < x \le 2` as `(1,2]`, and `x > 3` as `(3,\infty)`; anything else as it is."""
    pieces = [piece.strip() for piece in _COMPARED.split(text)]
    if len(pieces) not in (3, 5) or not all(pieces):
        return text
    values, signs = pieces[::2], pieces[1::2]
    if len({"<" in sign or r"\le" in sign for sign in signs}) > 1:
        return text
    if "<" not in signs[0] and r"\le" not in signs[0]:
        # Read from right to left, every sign points the other way.
        values, signs = values[::-1], signs[::-1]
    strict = [sign in _OPEN for sign in signs]
    if len(values) == 3 and _SYMBOL.fullmatch(values[1]):
        return f"{'(' if strict[0] else '['}{values[0]},{values[2]}{')' if strict[1] else ']'}"
    if len(values) == 2 and _SYMBOL.fullmatch(values[0]) and not _SYMBOL.fullmatch(values[1]):
        return rf"(-\infty,{values[1]}{')' if strict[0] else ']'}"
    if len(values) == 2 and _SYMBOL.fullmatch(values[1]) and not _SYMBOL.fullmatch(values[0]):
        return rf"{'(' if strict[0] else '['}{values[0]},\infty)"
    return text
