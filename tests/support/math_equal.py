r"""Equal re-forms of MATH's reference answers, in eight families.

A re-form is equal by how it is made: no grader is asked. An answer that is not of the right kind (a
tuple, a sum, a number over 999) has no re-form in a family.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

import sympy
from expressions import expression
from math_answers import MATRIX, UNIT, Family, Gold, number, pair, parts, terms

_COUNTED = re.compile(r"[Hh]ow many ([a-z]{3,12}s) ")


def layout(gold: Gold) -> Iterator[str]:
    """Spaces, sizes of brackets and fractions, dollars, a full stop, braces."""
    answer = gold.answer
    yield f"${answer}$"
    yield answer + "."
    yield rf"\displaystyle {answer}"
    yield "{" + answer + "}"
    if "frac" in answer:
        yield re.sub(r"\\[dt]?frac", r"\\dfrac", answer)
        yield re.sub(r"\\[dt]?frac", r"\\tfrac", answer)
    if re.search(r"[-+=,](?![^{]*\})", answer) and not number(answer) and "," not in answer:
        yield re.sub(r"(?<=\w)([-+=])(?=\w)", r" \1 ", answer)
    if bounded := pair(answer):
        opening, entries, closing = bounded
        yield rf"\left{opening}\, " + r" ,\; ".join(entries) + rf" \right{closing}"
        yield opening + ",".join(entries) + closing


def written_number(gold: Gold) -> Iterator[str]:
    """Fractions with a slash, as decimals where exact, mixed, over one; decimals as fractions."""
    value = number(gold.answer)
    if value is None:
        return
    above, below, sign = abs(value.numerator), value.denominator, "-" if value < 0 else ""
    if below == 1:
        yield f"{value}/1"
        yield rf"{sign}\frac{{{above}}}{{1}}"
        yield f"{value}.0"
        return
    yield f"{value}"
    yield f"{value.numerator} / {below}"
    yield rf"{sign}\frac{{{above}}}{{{below}}}"
    yield rf"\frac{{{sign}{above}}}{{{below}}}"
    yield rf"{sign}\frac{{{2 * above}}}{{{2 * below}}}"
    if set(sympy.factorint(below)) <= {2, 5}:
        yield f"{sign}{_decimal(value)}"
        yield f"{sign}{_decimal(value)}0"
    if above > below:
        rest = f"{above % below}"
        yield rf"{sign}{above // below}\frac{{{rest}}}{{{below}}}"
        yield f"{sign}{above // below} {rest}/{below}"


def units(gold: Gold) -> Iterator[str]:
    """Units named, spelled otherwise, or left out."""
    answer = gold.answer
    if match := re.fullmatch(r"(-?[0-9.]+)\^\\circ", answer):
        yield match[1]
        yield f"{match[1]}^{{\\circ}}"
        yield f"{{{answer}}}"
        yield rf"{match[1]} \text{{ degrees}}"
        yield f"{match[1]}°"
        yield f"{match[1]} degrees"
    elif match := re.fullmatch(r"([0-9.]+)\s*\\%", answer):
        yield match[1]
        yield f"{match[1]}%"
        yield rf"{match[1]} \text{{ percent}}"
        yield rf"{match[1]} \%"
    elif match := re.fullmatch(r"\\\$\s*([0-9.]+)", answer):
        yield match[1]
        yield f"${match[1]}"
        yield rf"{match[1]} \text{{ dollars}}"
    elif match := UNIT.fullmatch(answer):
        value, unit, power = match[1], match[2].strip(), match[3] or ""
        yield value
        yield rf"{value}\ \mathrm{{{unit.replace(' ', '~')}}}{power}"
        yield rf"{value} \, \text{{{unit}}}{power}"
        yield f"{value} {unit}{power}"
    elif number(answer) is not None and (counted := _COUNTED.search(gold.problem)):
        yield rf"{answer}\text{{ {counted[1]}}}"
        yield rf"{answer} \text{{{counted[1]}}}"
        yield f"{answer} {counted[1]}"


def grouping(gold: Gold) -> Iterator[str]:
    """Digits in groups of three, with commas or spaces, or in none."""
    value = number(gold.answer)
    if value is None or value.denominator > 1 or abs(value) < 1000:
        return
    yield str(value)
    for comma in (",", "{,}", r",\!", r"\,", " ", "\u202f", "~"):
        yield f"{int(value):,}".replace(",", comma)


def reordered(gold: Gold) -> Iterator[str]:
    """Terms of a sum, factors of a product, members of a list and of a union in another order."""
    answer = gold.answer
    if len(summands := terms(answer)) > 1 and expression(answer) is not None:
        first = summands[0] if summands[0][0] in "+-" else "+" + summands[0]
        for turned in ([*summands[1:], first], [*reversed([first, *summands[1:]])]):
            yield "".join(turned).removeprefix("+")
    factors = re.fullmatch(r"(\([^()]*\))(\([^()]*\))", answer)
    if factors:
        yield factors[2] + factors[1]
        yield rf"{factors[2]} \cdot {factors[1]}"
    product = re.fullmatch(r"([0-9]+)\s*(\\sqrt\{[0-9]+\}|\\pi)", answer)
    if product:
        yield rf"{product[2]} \cdot {product[1]}"
        yield rf"{product[1]} \cdot {product[2]}"
    members = parts(answer)
    if len(members) > 1 and all(
        expression(member) is not None or number(member) for member in members
    ):
        yield ", ".join(reversed(members))
        yield r"\{" + ", ".join(members[1:] + members[:1]) + r"\}"
        yield r" \text{ and } ".join(members) if len(members) == 2 else ",".join(members)
    if r"\cup" in answer:
        yield r" \cup ".join(reversed(re.split(r"\\cup", answer)))


def roots(gold: Gold) -> Iterator[str]:
    """Roots as powers, with the factor under them, with a rational numerator or denominator."""
    answer = gold.answer
    if match := re.fullmatch(r"(-?)([0-9]*)\s*\\sqrt\{?([0-9]+)\}?", answer):
        sign, factor, inside = match[1], int(match[2] or 1), int(match[3])
        yield rf"{sign}{match[2]}\sqrt {{{inside}}}"
        if factor > 1:
            yield rf"{sign}\sqrt{{{factor * factor * inside}}}"
            yield rf"{sign}{factor}*\sqrt{{{inside}}}"
            yield f"{sign}{factor}sqrt({inside})"
        before = rf"{factor} \cdot " if match[2] else ""
        yield rf"{sign}{before}{inside}^{{1/2}}"
        yield rf"{sign}\frac{{{factor * inside}}}{{\sqrt{{{inside}}}}}"
    elif match := re.fullmatch(r"\\frac\{([0-9]*)\\sqrt\{([0-9]+)\}\}\{([0-9]+)\}", answer):
        factor, inside, below = int(match[1] or 1), int(match[2]), int(match[3])
        yield rf"\frac{{{factor * inside}}}{{{below}\sqrt{{{inside}}}}}"
        yield rf"\frac{{{factor}}}{{{below}}}\sqrt{{{inside}}}"
        yield rf"{match[1]}\sqrt{{{inside}}}/{below}"
    elif match := re.fullmatch(r"([0-9]+)\s*\\pi", answer):
        yield rf"\pi \cdot {match[1]}"
        yield f"{match[1]}π"
        yield f"{match[1]}*pi"


def algebra(gold: Gold) -> Iterator[str]:
    """Multiplied out, factored, on one fraction line, or over a common factor."""
    value = expression(gold.answer)
    if value is None or value.is_number and not value.has(sympy.sqrt(2).func) or value.is_Rational:
        return
    forms = [sympy.expand(value), sympy.factor(value), sympy.together(value)]
    if not value.is_number:
        forms.append(sympy.collect(sympy.expand(value), sorted(value.free_symbols, key=str)[0]))
    # Where the problem asks for another form, its own is no answer.
    copied = [expression(copy) for copy in gold.copies]
    for form in dict.fromkeys(forms):
        if form not in copied and sympy.latex(form).replace(" ", "") != gold.answer.replace(
            " ", ""
        ):
            yield sympy.latex(form)


def spelled(gold: Gold) -> Iterator[str]:
    """Named, as an inequality, as plain words, in other brackets, with the sides exchanged."""
    answer = gold.answer
    bounded = pair(answer)
    if (
        bounded
        and (bounded[0] + bounded[2] != "()" or r"\infty" in answer)
        and len(bounded[1]) == 2
    ):
        yield from _inequalities(*bounded)
    elif re.fullmatch(r"\\text\{[A-Za-z ]+\}", answer):
        yield answer[6:-1]
        yield answer[6:-1].lower()
        yield rf"\mathrm{{{answer[6:-1]}}}"
    elif choice := re.fullmatch(r"\\text\{\(?([A-F])\)?\}|([A-F])", answer):
        letter = choice[1] or choice[2]
        yield from (letter, f"({letter})", rf"\text{{{letter}}}", rf"\mathbf{{({letter})}}")
    elif matrix := MATRIX.fullmatch(answer):
        yield rf"\begin{{bmatrix}}{matrix[1]}\end{{bmatrix}}"
        yield rf"\left(\begin{{array}}{{cc}}{matrix[1]}\end{{array}}\right)"
    elif equation := re.fullmatch(r"([a-z]) ?= ?([^=]*)", answer):
        yield equation[2]
        yield f"{equation[2]} = {equation[1]}" if number(equation[2]) is None else answer
    elif number(answer) is not None or len(parts(answer)) == 1 and expression(answer) is not None:
        value = expression(answer)
        if value is None or value.is_number:
            yield f"x = {answer}"
            yield rf"\theta={answer}"


def _inequalities(opening: str, ends: tuple[str, ...], closing: str) -> Iterator[str]:
    low, high = ends
    below, above = ("<" if opening == "(" else r"\le"), ("<" if closing == ")" else r"\le")
    yield rf"x \in {opening}{low}, {high}{closing}"
    if r"\infty" in low + high:
        if r"\infty" not in high:
            yield rf"x {above} {high}"
        elif r"\infty" not in low:
            yield rf"x {below.replace('<', '>').replace('le', 'ge')} {low}"
        return
    yield rf"{low} {below} x {above} {high}"
    turned = {"<": ">", r"\le": r"\geq"}
    yield rf"{high} {turned[above]} x {turned[below]} {low}"


EQUAL: dict[str, Family] = {
    "layout": layout,
    "written number": written_number,
    "units": units,
    "grouped digits": grouping,
    "reordered": reordered,
    "roots": roots,
    "algebra": algebra,
    "spelled otherwise": spelled,
}


def _decimal(value: Fraction) -> str:
    digits = 0
    while (abs(value) * 10**digits).denominator > 1:
        digits += 1
    whole = f"{int(abs(value) * 10**digits):0{digits + 1}d}"
    return f"{whole[:-digits]}.{whole[-digits:]}"
