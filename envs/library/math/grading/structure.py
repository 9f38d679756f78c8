r"""Taking a tidied answer apart: tuples and intervals, sets and lists, unions, matrices, equations.

Brackets are kept letter for letter, so that `[1,2]` never equals `(1,2)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Literal

from laconic.envs.library.math.grading.latex import DROW, WORD
from laconic.envs.library.math.grading.quantity import rational

Kind = Literal["single", "list", "tuple", "union", "matrix", "equation"]
_MATRIX = re.compile(r"\\begin\{(?P<name>[pbBvV]?matrix)\}(?P<body>.*)\\end\{(?P=name)\}")
_TRANSPOSED = re.compile(
    r"(?P<inside>.*[)\]]|.*matrix\})\s*\^\s*"
    rf"(?:T|\\top|\\intercal|\{{\s*(?:\\top|\\intercal|{WORD}T{DROW})\s*\}})",
    re.DOTALL,
)
_TOKEN = re.compile(r"\\begin\{\w*\}|\\end\{\w*\}|\\[A-Za-z]+|\\.|.", re.DOTALL)
_OPENING = frozenset(("(", "[", "{", r"\{", r"\begin", r"\lfloor", r"\lceil", r"\langle"))
_CLOSING = frozenset((")", "]", "}", r"\}", r"\end", r"\rfloor", r"\rceil", r"\rangle"))
_MEMBER = re.compile(r"(?:[A-Za-z]|\\[a-z]+|\([A-Za-z],\s*[A-Za-z]\))\s*\\in(?![A-Za-z])\s*")
_BUILT = re.compile(
    r"\\\{\s*(?P<name>[A-Za-z])\s*(?:\\in\s*\\mathbb\{R\}\s*)?(?:\||:|\\mid(?![A-Za-z]))(?P<rule>.*)\\\}"
)
_WITHOUT = re.compile(
    r"(?P<all>.+?)\s*(?:\\setminus|(?P<minus>-))\s*(?P<out>\\\{.*\\\}|[(\[].*[)\]])"
)
_UNEQUAL = re.compile(r"(?P<name>[A-Za-z]|\\[a-z]+)\s*\\ne(?![A-Za-z])(?P<points>.+)")
_REALS = frozenset((r"\mathbb{R}", r"(-\infty,\infty)"))
_COMPARED = re.compile(r"(\\le(?![A-Za-z])|\\ge(?![A-Za-z])|<=?|>=?)")
_SYMBOL = re.compile(r"[A-Za-z]|\\[a-z]+")
_OPEN = frozenset(("<", ">"))
_Ends = tuple[tuple[Fraction | float, int], tuple[Fraction | float, int], str, str]
"""Lower and upper end of an interval, and the texts of both. An end is a number, and 1 if the
interval begins behind it, -1 if it ends before it, or 0."""


@dataclass(frozen=True, slots=True)
class Structure:
    """The outermost structure of an answer."""

    kind: Kind
    """`single` where there is nothing to take apart."""
    parts: tuple[str, ...]
    """Its parts in order; the rows of a matrix follow each other."""
    form: str = ""
    """Further property that must agree: the brackets of a tuple, the size of a matrix."""


def structure_of(text: str) -> Structure:
    r"""Return the structure of a tidied answer.

    A `list` is unordered (`1, 2`, `\{1, 2\}`, `3 \pm \sqrt{2}`), a `tuple` is ordered and has
    brackets (a point, a vector, an interval). Inequalities about one letter are intervals.
    """
    if (built := _BUILT.fullmatch(text)) and built["name"] in built["rule"]:
        text = built["rule"].strip()
    text = _MEMBER.sub("", text, count=1) if _MEMBER.match(text) else text
    text = _unwrapped(_without(_interval(text).strip()))
    if text in _REALS:
        text = r"(-\infty,\infty)"
    if matrix := _MATRIX.fullmatch(text):
        return _matrix(matrix)
    if (transposed := _TRANSPOSED.fullmatch(text)) and _encloses(transposed["inside"]):
        return _transposed(text, structure_of(transposed["inside"]))
    parts = split(text, (",", ";"))
    if len(parts) > 1:
        # `x < 2 or x > 5`
        compared = all(_interval(part) != part for part in parts)
        return _union(parts) if compared else Structure("list", _members(parts))
    parts = split(text, ("=", r"\approx"))
    if len(parts) > 1:
        return Structure("equation", parts)
    parts = split(text, (r"\cup",))
    if len(parts) > 1:
        return _union(parts)
    if text.startswith(r"\{") and text.endswith(r"\}") and _encloses(text):
        return Structure("list", _members(split(text[2:-2], (",", ";"))), "set")
    if text[:1] in ("(", "[") and text[-1:] in (")", "]") and _encloses(text):
        return _tuple(split(text[1:-1], (",",)), text[0] + text[-1])
    if text.startswith(r"\langle") and text.endswith(r"\rangle") and _encloses(text):
        return Structure("tuple", split(text[7:-7], (",",)), "<>")
    if text.count(r"\pm") == 1:
        return Structure("list", _members((text,)))
    return Structure("single", (text,))


def split(text: str, separators: tuple[str, ...]) -> tuple[str, ...]:
    """Return the stripped parts between separators outside brackets."""
    parts, start, depth = [], 0, 0
    for place, token in _tokens(text):
        depth += _step(token)
        if token in separators and depth == 0 and not _is_relation(text, place, token):
            parts.append(text[start:place].strip())
            start = place + len(token)
    return (*parts, text[start:].strip())


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    for match in _TOKEN.finditer(text):
        yield match.start(), match.group()


def _is_relation(text: str, place: int, token: str) -> bool:
    return token == "=" and text[max(0, place - 1) : place] in ("<", ">", "!")


def _encloses(text: str) -> bool:
    """Return whether the last bracket closes the first one."""
    depth = 0
    for place, token in _tokens(text):
        depth += _step(token)
        if depth == 0:
            return place + len(token) >= len(text)
    return False


def _step(token: str) -> int:
    """Return the change of the depth of brackets at a token."""
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


def _members(parts: tuple[str, ...]) -> tuple[str, ...]:
    r"""Return the parts of a list, where `1 \pm x` is two of them."""
    members: list[str] = []
    for part in parts:
        if part.count(r"\pm") == 1 and len(split(part, (r"\cup",))) == 1:
            members += (part.replace(r"\pm", "+"), part.replace(r"\pm", "-"))
        else:
            members.append(part)
    return tuple(members)


def _tuple(parts: tuple[str, ...], brackets: str) -> Structure:
    """Return a tuple; rows of one length between square brackets are a matrix."""
    if brackets == "[]" and all(part[:1] + part[-1:] == "[]" and _encloses(part) for part in parts):
        rows = [split(part[1:-1], (",",)) for part in parts]
        if len({len(row) for row in rows}) == 1 and len(rows) > 1:
            return _of_rows(rows)
    return Structure("tuple", parts, brackets)


def _transposed(text: str, inside: Structure) -> Structure:
    """Return a matrix with rows and columns swapped; a tuple counts as a row."""
    if inside.kind == "tuple":
        return _of_rows([(part,) for part in inside.parts])
    if inside.kind != "matrix" or "|" in inside.form:
        return Structure("single", (text,))
    width = int(inside.form.split("x")[1])
    rows = zip(*[iter(inside.parts)] * width, strict=False)
    uneven = len(set(inside.form.split("x")[1:])) > 1
    return Structure("single", (text,)) if uneven else _of_rows([*zip(*rows, strict=True)])


def _of_rows(rows: Sequence[Sequence[str]], bars: str = "") -> Structure:
    size = "x".join([str(len(rows)), *(str(len(row)) for row in rows)])
    return Structure("matrix", tuple(cell for row in rows for cell in row), size + bars)


def _matrix(match: re.Match[str]) -> Structure:
    rows = [row for row in split(match["body"], (r"\\",)) if row]
    cells = [split(row, ("&",)) for row in rows]
    return _of_rows(cells, "|" * (match["name"][0] in "vV"))


def _union(parts: tuple[str, ...]) -> Structure:
    """Return a union of intervals, of which those that meet are one: `(1,2)` and `[2,3)`.

    Intervals between other ends than rational numbers and infinity stay as they are.
    """
    read = [_ends(_interval(part)) for part in parts]
    ends = sorted(interval for interval in read if interval is not None)
    if len(ends) < len(parts):
        return Structure("union", parts)
    joined = ends[:1]
    for low, high, *names in ends[1:]:
        before = joined[-1]
        # `2)` and `(2` leave a hole at 2; `2)` and `[2` leave none.
        if low[0] < before[1][0] or (low[0] == before[1][0] and low[1] - before[1][1] < 2):
            if high > before[1]:
                joined[-1] = (before[0], high, before[2], names[1])
        else:
            joined.append((low, high, names[0], names[1]))
    if len(joined) == len(parts):
        return Structure("union", parts)
    texts = tuple(
        f"{'(' if low[1] else '['}{left},{right}{')' if high[1] else ']'}"
        for low, high, left, right in joined
    )
    return structure_of(texts[0]) if len(texts) == 1 else Structure("union", texts)


def _ends(text: str) -> _Ends | None:
    """Return the ends of an interval or of a set of one number; None for other texts."""
    point = text.startswith(r"\{") and text.endswith(r"\}")
    brackets = "[]" if point else text[:1] + text[-1:]
    names = (text[2:-2].strip(),) * 2 if point else split(text[1:-1], (",",))
    if len(names) != 2 or brackets not in ("()", "[]", "(]", "[)"):
        return None
    low, high = map(_end, names)
    if low is None or high is None or low > high:
        return None
    return (low, int(brackets[0] == "(")), (high, -int(brackets[1] == ")")), *names


def _end(text: str) -> Fraction | float | None:
    sign = -1 if text.startswith("-") else 1
    return sign * inf if text.removeprefix("-").strip() == r"\infty" else rational(text)


def _without(text: str) -> str:
    r"""Rewrite an interval without points or without a part as a union; keep other texts.

    `\mathbb{R} \setminus \{0\}` and `x \ne 0` become `(-\infty,0)\cup(0,\infty)`. Several points
    must be rational, so that they can be sorted.
    """
    if unequal := _UNEQUAL.fullmatch(text):
        again = re.compile(rf"{re.escape(unequal['name'])}\s*\\ne(?![A-Za-z])")
        points = _members(split(again.sub("", unequal["points"]), (",",)))
        return _cut(r"-\infty", r"\infty", "()", points, text)
    difference = _WITHOUT.fullmatch(text)
    if not difference:
        return text
    removed = difference["out"]
    whole = r"(-\infty,\infty)" if difference["all"] in _REALS else difference["all"]
    if difference["minus"] and (difference["all"] not in _REALS or not removed.startswith(r"\{")):
        return text
    ends, brackets = split(whole[1:-1], (",",)), whole[:1] + whole[-1:]
    if len(ends) != 2 or brackets[0] not in "([" or brackets[1] not in ")]":
        return text
    if removed.startswith(r"\{"):
        points = _members(split(removed[2:-2], (",",)))
        return _cut(ends[0], ends[1], brackets, points, text)
    middle = split(removed[1:-1], (",",))
    if len(middle) != 2 or removed[0] + removed[-1] not in ("()", "[]", "(]", "[)"):
        return text
    closing, opening = ")" if removed[0] == "[" else "]", "(" if removed[-1] == "]" else "["
    lower = f"{brackets[0]}{ends[0]},{middle[0]}{closing}"
    upper = f"{opening}{middle[1]},{ends[1]}{brackets[1]}"
    return rf"{lower} \cup {upper}"


def _cut(low: str, high: str, brackets: str, points: tuple[str, ...], text: str) -> str:
    """Cut inner points out of an interval; return the text if they cannot be ordered."""
    values = [rational(point) for point in points]
    if len(points) > 1:
        if None in values:
            return text
        points = tuple(point for _, point in sorted(zip(values, points, strict=True)))
    ends = [low, *points, high]
    pieces = [f"({start},{end})" for start, end in zip(ends, ends[1:], strict=False)]
    pieces[0] = brackets[0] + pieces[0][1:]
    pieces[-1] = pieces[-1][:-1] + brackets[1]
    return r" \cup ".join(pieces)


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
