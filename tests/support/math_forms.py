r"""Equal and wrong re-forms of MATH's reference answers, eight families of each.

A re-form is equal or wrong by how it is made: no grader is asked. An answer that is not of the
right kind (a tuple, a sum, a number over 999) has no re-form in a family.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import sympy
from expressions import agree, expression


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
_UNIT = re.compile(r"(-?[0-9.]+)\s*\\[;, ]?\s*\\(?:text|mbox)\s*\{\s*([a-z ]+)\}(\^[23])?")
_PAIR = re.compile(r"(\\left)?\s*([(\[])(.*?)(\\right)?([)\]])", re.DOTALL)
_MATRIX = re.compile(r"\\begin\{pmatrix\}(.*)\\end\{pmatrix\}", re.DOTALL)
_COUNTED = re.compile(r"[Hh]ow many ([a-z]{3,12}s) ")
_OTHER = {"cm": "km", "degrees": "radians", "hours": "minutes", "inches": "feet", "feet": "inches"}


def number(answer: str) -> Fraction | None:
    """The rational number that an answer is: whole, grouped, a fraction or a decimal."""
    if _INTEGER.fullmatch(answer) or _DECIMAL.fullmatch(answer):
        return Fraction(answer)
    if _GROUPED.fullmatch(answer):
        return Fraction(answer.replace(",", "").replace(r"\!", ""))
    if found := _FRACTION.fullmatch(answer):
        return Fraction(int(found[2]), int(found[3])) * (-1 if found[1] else 1)
    return None


def parts(answer: str) -> tuple[str, ...]:
    """The parts between commas that stand in no bracket."""
    found, depth, start = [], 0, 0
    for place, letter in enumerate(answer):
        depth += (letter in "([{") - (letter in ")]}")
        grouping = answer[place + 1 : place + 3] == r"\!" or answer[place - 1 : place] == "\\"
        if letter == "," and depth == 0 and not grouping:
            found.append(answer[start:place].strip())
            start = place + 1
    return (*found, answer[start:].strip())


def pair(answer: str) -> tuple[str, tuple[str, ...], str] | None:
    """The brackets and the entries of a tuple or an interval."""
    found = _PAIR.fullmatch(answer.strip())
    if not found or re.search(r"[()\[\]]", found[3]):
        return None
    entries = parts(found[3])
    return (found[2], entries, found[5]) if len(entries) > 1 else None


def terms(answer: str) -> list[str]:
    """The signed terms of a sum without white space; one term where it is none."""
    bare = re.sub(r"\s|\\left|\\right", "", answer)
    found, depth, start = [], 0, 0
    for place, letter in enumerate(bare):
        depth += (letter in "([{") - (letter in ")]}")
        if letter in "+-" and depth == 0 and place and bare[place - 1] not in "^_":
            found.append(bare[start:place])
            start = place
    return [*found, bare[start:]]


# Equal.


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
    if found := pair(answer):
        opening, entries, closing = found
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
    if found := re.fullmatch(r"(-?[0-9.]+)\^\\circ", answer):
        yield found[1]
        yield f"{found[1]}^{{\\circ}}"
        yield f"{{{answer}}}"
        yield rf"{found[1]} \text{{ degrees}}"
        yield f"{found[1]}°"
        yield f"{found[1]} degrees"
    elif found := re.fullmatch(r"([0-9.]+)\s*\\%", answer):
        yield found[1]
        yield f"{found[1]}%"
        yield rf"{found[1]} \text{{ percent}}"
        yield rf"{found[1]} \%"
    elif found := re.fullmatch(r"\\\$\s*([0-9.]+)", answer):
        yield found[1]
        yield f"${found[1]}"
        yield rf"{found[1]} \text{{ dollars}}"
    elif found := _UNIT.fullmatch(answer):
        value, unit, power = found[1], found[2].strip(), found[3] or ""
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
    if len(found := terms(answer)) > 1 and expression(answer) is not None:
        first = found[0] if found[0][0] in "+-" else "+" + found[0]
        for turned in ([*found[1:], first], [*reversed([first, *found[1:]])]):
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
    if len(members) > 1 and all(expression(one) is not None or number(one) for one in members):
        yield ", ".join(reversed(members))
        yield r"\{" + ", ".join(members[1:] + members[:1]) + r"\}"
        yield r" \text{ and } ".join(members) if len(members) == 2 else ",".join(members)
    if r"\cup" in answer:
        yield r" \cup ".join(reversed(re.split(r"\\cup", answer)))


def roots(gold: Gold) -> Iterator[str]:
    """Roots as powers, with the factor under them, with a rational numerator or denominator."""
    answer = gold.answer
    if found := re.fullmatch(r"(-?)([0-9]*)\s*\\sqrt\{?([0-9]+)\}?", answer):
        sign, factor, inside = found[1], int(found[2] or 1), int(found[3])
        yield rf"{sign}{found[2]}\sqrt {{{inside}}}"
        if factor > 1:
            yield rf"{sign}\sqrt{{{factor * factor * inside}}}"
            yield rf"{sign}{factor}*\sqrt{{{inside}}}"
            yield f"{sign}{factor}sqrt({inside})"
        before = rf"{factor} \cdot " if found[2] else ""
        yield rf"{sign}{before}{inside}^{{1/2}}"
        yield rf"{sign}\frac{{{factor * inside}}}{{\sqrt{{{inside}}}}}"
    elif found := re.fullmatch(r"\\frac\{([0-9]*)\\sqrt\{([0-9]+)\}\}\{([0-9]+)\}", answer):
        factor, inside, below = int(found[1] or 1), int(found[2]), int(found[3])
        yield rf"\frac{{{factor * inside}}}{{{below}\sqrt{{{inside}}}}}"
        yield rf"\frac{{{factor}}}{{{below}}}\sqrt{{{inside}}}"
        yield rf"{found[1]}\sqrt{{{inside}}}/{below}"
    elif found := re.fullmatch(r"([0-9]+)\s*\\pi", answer):
        yield rf"\pi \cdot {found[1]}"
        yield f"{found[1]}π"
        yield f"{found[1]}*pi"


def algebra(gold: Gold) -> Iterator[str]:
    """Multiplied out, factored, on one fraction line, or over a common factor."""
    value = expression(gold.answer)
    if value is None or value.is_number and not value.has(sympy.sqrt(2).func) or value.is_Rational:
        return
    made = [sympy.expand(value), sympy.factor(value), sympy.together(value)]
    if not value.is_number:
        made.append(sympy.collect(sympy.expand(value), sorted(value.free_symbols, key=str)[0]))
    # Where the problem asks for another form, its own is no answer.
    asked = [expression(copy) for copy in gold.copies]
    for form in dict.fromkeys(made):
        if form not in asked and sympy.latex(form).replace(" ", "") != gold.answer.replace(" ", ""):
            yield sympy.latex(form)


def spelled(gold: Gold) -> Iterator[str]:
    """Named, as an inequality, as plain words, in other brackets, with the sides exchanged."""
    answer = gold.answer
    found = pair(answer)
    if found and (found[0] + found[2] != "()" or r"\infty" in answer) and len(found[1]) == 2:
        yield from _inequalities(*found)
    elif re.fullmatch(r"\\text\{[A-Za-z ]+\}", answer):
        yield answer[6:-1]
        yield answer[6:-1].lower()
        yield rf"\mathrm{{{answer[6:-1]}}}"
    elif choice := re.fullmatch(r"\\text\{\(?([A-F])\)?\}|([A-F])", answer):
        letter = choice[1] or choice[2]
        yield from (letter, f"({letter})", rf"\text{{{letter}}}", rf"\mathbf{{({letter})}}")
    elif matrix := _MATRIX.fullmatch(answer):
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

# Wrong.


def _bumped(answer: str) -> Iterator[str]:
    """The answer with one of its whole numbers one larger or one smaller."""
    for found in re.finditer(r"(?<![0-9.])(?<!}\^)[1-9][0-9]{0,8}(?![0-9.])", answer):
        for step in (1, -1):
            yield answer[: found.start()] + str(int(found[0]) + step) + answer[found.end() :]


def _other(answer: str) -> str | None:
    """Another value of the same kind; None where there is no number in it."""
    return next((one for one in _bumped(answer) if _differs(answer, one)), None)


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
    if found := pair(gold.answer):
        opening, entries, closing = found
        if entries[0] != entries[1]:
            yield opening + ",".join((*entries[1:], entries[0])) + closing
            yield opening + ",".join((entries[1], entries[0], *entries[2:])) + closing
        if r"\infty" not in entries[0]:
            yield {"(": "[", "[": "("}[opening] + ",".join(entries) + closing
        elif r"\infty" not in entries[-1]:
            yield opening + ",".join(entries) + {")": "]", "]": ")"}[closing]
        yield r"\{" + ",".join(entries) + r"\}"
    elif matrix := _MATRIX.fullmatch(gold.answer):
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
    other = _other(gold.answer) if number(gold.answer) is not None else None
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
    if len(found := terms(answer)) > 1 and expression(answer) is not None:
        yield "".join(found[:-1])
        yield "".join(found[1:]).removeprefix("+")
    if value is not None and value.denominator == 1 and abs(value) > 9:
        yield str(value)[:-1]
        yield f"{value}0"
    exact = expression(answer)
    if exact is not None and exact.is_number and exact.is_real and not exact.is_Integer:
        rounded = str(sympy.N(exact, 5))
        if sympy.Rational(rounded) != exact:
            yield rounded
            yield str(sympy.N(exact, 4))
    if found := pair(answer):
        yield found[0] + ",".join(found[1][:-1]) + found[2]
        yield found[0] + ",".join((*found[1], "0")) + found[2]
    if (unit := _UNIT.fullmatch(answer)) and unit[2].strip() in _OTHER:
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


def _decimal(value: Fraction) -> str:
    digits = 0
    while (abs(value) * 10**digits).denominator > 1:
        digits += 1
    whole = f"{int(abs(value) * 10**digits):0{digits + 1}d}"
    return f"{whole[:-digits]}.{whole[-digits:]}"
