r"""Comparison of two tidied answers, part by part.

Structure, brackets, order and words must agree here. Only single expressions that are not equal as
numbers are passed to `expressions_equal`. So no tolerance of a library can confuse a tuple with a
set, an open interval with a closed one, or a number with its rounded decimals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import zip_longest

from laconic.envs.library.math.grading.latex import squeezed
from laconic.envs.library.math.grading.quantity import (
    Quantity,
    based,
    in_base,
    letters,
    quantity,
    rational,
)
from laconic.envs.library.math.grading.structure import Structure, structure_of

Decide = Callable[[str, str], bool]
"""Function that tells whether two expressions without structure, the reference first, are equal."""

_MAX_PARTS = 40
_SYMBOL = re.compile(
    r"(?:[A-Za-z]|\\(?:vec|hat|overrightarrow)\{[A-Za-z]{1,2}\}|\\[a-z]+|[A-Z]{2,3}|\\angle[A-Z]{1,3}|\([A-Za-z](?:,[A-Za-z])+\)|[A-Za-z]{3,12})"
    r"(?:_\{?\w+\}?)?'{0,2}(?:\([a-z](?:,[a-z])?\))?(?:\^\{?-1\}?\([a-z]\))?"
)
_VARIABLE = re.compile(r"(?<![A-Za-z\\])[A-Za-hj-z]")
_EMPTY = r"\emptyset"
_POINTS = frozenset(("()", "<>"))
_CONSTANTS = frozenset((r"\pi", r"\infty", "e", "i"))


def same(gold: str, answer: str, decide: Decide) -> bool:
    """Return whether a tidied answer equals a tidied reference answer.

    Args:
        gold: the reference answer.
        answer: the answer to be judged.
        decide: judges two expressions that differ in letters and are not both plain numbers.
    """
    if squeezed(gold) == squeezed(answer):
        return bool(squeezed(gold))
    first, second = rational(gold), rational(answer)
    if first is not None and second is not None:
        return first == second
    expected, got = _structure(gold), _structure(answer)
    if max(len(expected.parts), len(got.parts)) > _MAX_PARTS:
        return False
    if "equation" in (expected.kind, got.kind):
        return _same_equation(gold, answer, expected, got, decide)
    if expected.kind != got.kind and "list" in (expected.kind, got.kind):
        # A set of one thing is that thing, unless the thing is the empty set.
        parts = expected.parts + got.parts
        return len(parts) == 2 and _EMPTY not in parts and same(*parts, decide)
    if expected.kind == "matrix" and got.kind == "tuple":
        got = _as_vector(got, expected)
    if expected.kind != got.kind:
        return False
    if expected.kind == "single":
        return _same_quantity(quantity(expected.parts[0]), quantity(got.parts[0]), decide)
    return _same_parts(expected, got, decide)


def value_of(tidied: str) -> str:
    """Return the value that an answer states: `5` for `x = 5`; other answers stay the same."""
    structure = _structure(tidied)
    states_value = (
        structure.kind == "equation"
        and len(structure.parts) == 2
        and _is_name(squeezed(structure.parts[0]))
    )
    return structure.parts[1] if states_value else tidied


def _structure(text: str) -> Structure:
    """Return the structure of an answer, with the name of an equation first (`x=5` for `5=x`).

    A number with grouping commas is no list.
    """
    if quantity(text).number is not None:
        return Structure("single", (text,))
    structure = structure_of(text)
    if structure.kind == "equation" and len(structure.parts) == 2:
        first, second = structure.parts
        if _is_name(squeezed(second)) and not _is_name(squeezed(first)):
            return Structure("equation", (second, first))
    return structure


def _as_vector(got: Structure, expected: Structure) -> Structure:
    """Return a tuple in any brackets as a row or column of the expected size."""
    count = len(got.parts)
    sizes = (f"1x{count}", "x".join(map(str, (count, *[1] * count))))
    paired = got.form in ("()", "[]", "<>")
    return Structure(
        "matrix", got.parts, expected.form if paired and expected.form in sizes else ""
    )


def _same_parts(expected: Structure, got: Structure, decide: Decide) -> bool:
    if len(expected.parts) != len(got.parts):
        return False
    if expected.kind in ("tuple", "matrix"):
        pairs = zip(expected.parts, got.parts, strict=True)
        alike = expected.form == got.form or {expected.form, got.form} == _POINTS
        return alike and all(same(*pair, decide) for pair in pairs)
    if any(_is_long_word(part) for part in expected.parts):
        # Names are listed in an order that may matter.
        return all(same(*pair, decide) for pair in zip(expected.parts, got.parts, strict=True))
    return _same_in_any_order(expected.parts, got.parts, decide)


def _same_in_any_order(expected: Sequence[str], got: Sequence[str], decide: Decide) -> bool:
    """Return whether each part has a partner; equal letters and numbers need no `decide`."""
    open_parts = list(got)
    undecided = []
    for part in expected:
        partner = next(
            (candidate for candidate in open_parts if same(part, candidate, _never)), None
        )
        if partner is None:
            undecided.append(part)
        else:
            open_parts.remove(partner)
    for part in undecided:
        partner = next(
            (candidate for candidate in open_parts if same(part, candidate, decide)), None
        )
        if partner is None:
            return False
        open_parts.remove(partner)
    return True


def _same_equation(
    gold: str, answer: str, expected: Structure, got: Structure, decide: Decide
) -> bool:
    r"""`x = 5` and `5` agree, and so do `0.35 = 35\%` and either of its sides."""
    exact, *near = (squeezed(side) for side in answer.split(r"\approx"))
    if near and r"\approx" not in gold and (not exact or any(map(_is_name, (exact, *near)))):
        # Nothing is said to be equal, as in `x \approx 5`; `x = 5/2 \approx 2.5` states 5/2.
        return False
    if expected.kind == got.kind:
        names = [squeezed(side_structure.parts[0]) for side_structure in (expected, got)]
        if all(map(_is_name, names)):
            return names[0] == names[1] and same(expected.parts[-1], got.parts[-1], decide)
        if r"\approx" in gold + answer:
            pairs = zip_longest(filter(None, expected.parts), filter(None, got.parts), fillvalue="")
            return all(same(first, second, decide) for first, second in pairs)
        return decide(squeezed(gold), squeezed(answer))
    if expected.kind == "equation":
        if _is_name(squeezed(expected.parts[0])):
            return len(expected.parts) == 2 and same(expected.parts[1], answer, decide)
        gold_sides = [part for part in expected.parts if part]
        numbers = all(quantity(side).number is not None for side in gold_sides)
        return numbers and any(same(side, answer, decide) for side in gold_sides)
    given_sides = [part for part in got.parts if part]
    if _is_name(squeezed(got.parts[0])):
        # What stands between, as in `x = 14 = 13`, may not say another number.
        between = [side for side in given_sides[1:-1] if not _VARIABLE.search(side)]
        agree = all(_same_value(gold, side, decide) for side in between)
        return len(given_sides) > 1 and agree and same(gold, given_sides[-1], decide)
    return bool(given_sides) and all(same(gold, side, decide) for side in given_sides)


def _same_value(gold: str, side: str, decide: Decide) -> bool:
    first, second = quantity(gold), quantity(side)
    if first.number is not None and second.number is not None:
        return first.number == second.number
    return decide(first.text, second.text)


def _same_quantity(expected: Quantity, got: Quantity, decide: Decide) -> bool:
    if expected.unit and got.unit and expected.unit != got.unit:
        return False
    if expected.number is not None and got.number is not None:
        return expected.number == got.number
    if expected.words or got.words:
        return bool(expected.text) and letters(expected.text) == letters(got.text)
    if expected.text == got.text:
        return bool(expected.text)
    bases = based(expected.text), based(got.text)
    if any(bases) and not _is_variable(expected.text):
        return _same_number_in_base(expected, got, *bases)
    if expected.number is not None or ":" in expected.text + got.text:
        # A number must be given as a number: an unevaluated sum is not an answer.
        return False
    if _subscripts(expected.text) != _subscripts(got.text):
        return False
    return bool(got.text) and decide(expected.text, got.text)


def _same_number_in_base(
    expected: Quantity, got: Quantity, gold: tuple[str, int] | None, answer: tuple[str, int] | None
) -> bool:
    """Compare numbers in a base; an answer with the right digits may omit the base."""
    if gold and answer:
        return gold == answer
    if gold:
        return got.text.upper() == gold[0]
    value = in_base(*answer) if answer else None
    return value is not None and expected.number == Fraction(value)


def _subscripts(text: str) -> list[str]:
    return sorted(re.findall(r"(?<!\\log)_(\w|\{[^{}]*\})", text))


def _is_name(text: str) -> bool:
    return text not in _CONSTANTS and _SYMBOL.fullmatch(text) is not None


def _is_variable(text: str) -> bool:
    return text[:1].isalpha() and not text[:1].isupper()


def _is_long_word(part: str) -> bool:
    read = quantity(part)
    return read.words and len(read.text) > 1


def _never(gold: str, answer: str) -> bool:
    return False
