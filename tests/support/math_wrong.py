r"""Wrong re-forms of MATH's reference answers, in eight families; wrong by how they are made."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

import sympy
from expressions import agree, expression
from math_answers import MATRIX, UNIT, Family, Gold, number, pair, parts, terms

_OTHER = {"cm": "km", "degrees": "radians", "hours": "minutes", "inches": "feet", "feet": "inches"}


def _bumped(answer: str) -> Iterator[str]:
    """The answer with one of its whole numbers one larger or one smaller."""
    for match in re.finditer(r"(?<![0-9.])(?<!}\^)[1-9][0-9]{0,8}(?![0-9.])", answer):
        for step in (1, -1):
            yield answer[: match.start()] + str(int(match[0]) + step) + answer[match.end() :]


def _other(answer: str) -> str | None:
    """Another value of the same kind; None where there is no number in it."""
    return next((bumped for bumped in _bumped(answer) if _differs(answer, bumped)), None)


def _differs(answer: str, form: str) -> bool:
    """Whether two answers differ in value, as far as that is known."""
    first, second = expression(answer), expression(form)
    if first is None or second is None:
        return number(answer) is None or number(answer) != number(form)
    return not agree(first, second)


def off_by_one(gold: Gold) -> Iterator[str]:
    """One whole number in the answer is one too large or too small."""
    for form in [*_bumped(gold.answer)][:6]:
        if _differs(gold.answer, form) and r"\pm" not in form and "{0}" not in form:
            yield form


def turned_over(gold: Gold) -> Iterator[str]:
    """The other sign, and one over it."""
    value = expression(gold.answer) if number(gold.answer) is None else number(gold.answer)
    if value is None or value == 0:
        return
    yield rf"-({gold.answer})"
    if number(gold.answer) is not None:
        yield gold.answer[1:] if gold.answer[0] == "-" else "-" + gold.answer
    if value * value != 1:
        yield rf"\frac{{1}}{{{gold.answer}}}"
    if isinstance(value, Fraction) and value * value != 1:
        yield f"{1 / value}" if value.numerator not in (1, -1) else f"1/({value})"


def exchanged(gold: Gold) -> Iterator[str]:
    """Entries of a tuple or a matrix exchanged, an end of an interval opened or closed."""
    if bounded := pair(gold.answer):
        opening, entries, closing = bounded
        if entries[0] != entries[1]:
            yield opening + ",".join((*entries[1:], entries[0])) + closing
            yield opening + ",".join((entries[1], entries[0], *entries[2:])) + closing
        if r"\infty" not in entries[0]:
            yield {"(": "[", "[": "("}[opening] + ",".join(entries) + closing
        elif r"\infty" not in entries[-1]:
            yield opening + ",".join(entries) + {")": "]", "]": ")"}[closing]
        yield r"\{" + ",".join(entries) + r"\}"
    elif matrix := MATRIX.fullmatch(gold.answer):
        rows = [[cell.strip() for cell in row.split("&")] for row in matrix[1].split(r"\\")]
        rows = [row for row in rows if row != [""]]
        for turned in (rows[::-1], [row[::-1] for row in rows], [*zip(*rows, strict=True)]):
            if [[*row] for row in turned] != rows:
                body = r" \\ ".join(" & ".join(row) for row in turned)
                yield rf"\begin{{pmatrix}} {body} \end{{pmatrix}}"


def operators(gold: Gold) -> Iterator[str]:
    """A factorial, a power, a root, a factor, a unit that is none, put to the answer."""
    value = number(gold.answer)
    if value is None and not (expression(gold.answer) is not None and "+" not in gold.answer):
        return
    answer = gold.answer
    if value in (0, 1) or value == -1:
        return
    if value is not None and value.denominator == 1 and value > 2:
        yield answer + "!"
        yield answer + "!!"
        yield rf"{answer} \times 10^{{2}}"
    if value != 0:
        yield rf"({answer})^2"
        yield rf"\sqrt{{{answer}}}"
        yield rf"2({answer})"
        yield rf"{answer}\pi"
        yield rf"{answer}i"
        yield rf"{answer} \cdot 10"
        yield rf"\frac{{{answer}}}{{3}}"


def chained(gold: Gold) -> Iterator[str]:
    """Equations that say two things, or another relation than equality."""
    value = expression(gold.answer) if number(gold.answer) is None else sympy.Integer(0)
    other = _other(gold.answer) if value is not None and value.is_number else None
    if other is None:
        return
    yield f"x = {other} = {gold.answer}"
    yield f"x = {gold.answer} = {other}"
    yield f"{other} = {gold.answer}"
    yield f"{gold.answer} = {other}"
    yield rf"x \ne {gold.answer}"
    yield f"x < {gold.answer}"
    yield rf"x \ge {gold.answer}"
    yield rf"{other} \approx {gold.answer}"
    yield f"x = {other}, x = {gold.answer}"


def remarks(gold: Gold) -> Iterator[str]:
    """Words, second thoughts, another answer, or junk behind it."""
    answer, other = gold.answer, _other(gold.answer)
    if number(answer) is None and not (expression(answer) is not None and other):
        return
    other = other or "17"
    yield rf"{answer} \text{{ no wait it is {other}}}"
    yield rf"{answer} \text{{ or }} {other}"
    yield f"{answer} or {other}"
    yield f"{answer}, {other}"
    yield f"{answer} {other}" if "frac" not in answer + other else f"{answer};{other}"
    yield rf"\text{{not }} {answer}"
    yield rf"{answer} \text{{ is wrong}}"
    yield rf"{other} \text{{ but some say }} {answer}"
    yield f"{answer}abc1"
    yield rf"{answer} \text{{maybe}} {other}"
    yield rf"\text{{either {other} or {answer}}}"


def dropped(gold: Gold) -> Iterator[str]:
    """A part left out, digits cut, a value rounded, another unit."""
    answer, value = gold.answer, number(gold.answer)
    members = parts(answer)
    if len(members) > 1 and not pair(answer):
        yield ", ".join(members[1:])
        yield ", ".join(members[:-1])
        yield ", ".join((*members, "10007"))
    if len(summands := terms(answer)) > 1 and expression(answer) is not None:
        yield "".join(summands[:-1])
        yield "".join(summands[1:]).removeprefix("+")
    if value is not None and value.denominator == 1 and abs(value) > 9:
        yield str(value)[:-1]
        yield f"{value}0"
    exact = expression(answer)
    if exact is not None and exact.is_number and exact.is_real and not exact.is_Integer:
        rounded = str(sympy.N(exact, 5))
        if sympy.Rational(rounded) != exact:
            yield rounded
            yield str(sympy.N(exact, 4))
    if bounded := pair(answer):
        yield bounded[0] + ",".join(bounded[1][:-1]) + bounded[2]
        yield bounded[0] + ",".join((*bounded[1], "0")) + bounded[2]
    if (unit := UNIT.fullmatch(answer)) and unit[2].strip() in _OTHER:
        yield rf"{unit[1]}\text{{ {_OTHER[unit[2].strip()]}}}"
    if equation := re.fullmatch(r"([a-z]) ?= ?([^=]*)", answer):
        yield f"{'y' if equation[1] != 'y' else 'x'} = {equation[2]}"


def copied(gold: Gold) -> Iterator[str]:
    """What the problem asks to be worked out, as it stands there or dressed up."""
    for copy in gold.copies:
        yield copy
        yield f"{copy} + 0"
        yield f"0 + {copy}"
        yield rf"\left({copy}\right)^1"
        yield rf"\frac{{2({copy})}}{{2}}"
        yield rf"1 \cdot ({copy})"
        yield f"{copy} + 7 - 7"
        yield rf"\frac{{{copy}}}{{1}}"
        yield rf"-(-({copy}))"


WRONG: dict[str, Family] = {
    "off by one": off_by_one,
    "sign, reciprocal": turned_over,
    "exchanged": exchanged,
    "operators": operators,
    "chained": chained,
    "remarks": remarks,
    "dropped, rounded": dropped,
    "copied, dressed up": copied,
}
