r"""Styles of MATH answers that models like: equal and wrong re-forms, eight families of each.

A re-form is equal or wrong by how it is made: no grader is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from math_answers import MATRIX, Family, Gold, number, pair, parts

MINUS_SIGNS = "\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d"
THIN_SPACES = "\u00a0\u2007\u2009\u200a\u202f"
SUPERSCRIPTS = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
FRACTIONS = {
    Fraction(1, 2): "\u00bd",
    Fraction(1, 3): "\u2153",
    Fraction(2, 3): "\u2154",
    Fraction(1, 4): "\u00bc",
    Fraction(3, 4): "\u00be",
    Fraction(1, 5): "\u2155",
    Fraction(1, 6): "\u2159",
    Fraction(1, 8): "\u215b",
}
_LOG = re.compile(r"(.*)\\log_(\w) ([0-9]+|[a-z])(.*)")
_ROOT = re.compile(r"(-?[0-9]+)\\sqrt\{([0-9]+)\}")
_FACTORS = re.compile(r"(\([^()]*\))(\([^()]*\))")
_END = r"-?(?:[0-9]+|\\d?frac\{[0-9]+\}\{[0-9]+\})"


def full_width(text: str) -> str:
    """Return a text with the full-width forms of its letters, digits and signs."""
    return "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in text)


def _cells(answer: str) -> list[list[str]]:
    """The cells of a matrix by rows; none where rows differ in length, or where it is none."""
    matrix = MATRIX.fullmatch(answer)
    rows = matrix[1].split(r"\\") if matrix else []
    cells = [[cell.strip() for cell in row.split("&")] for row in rows if row.strip()]
    return cells if len({len(row) for row in cells}) == 1 else []


def _body(rows: list[list[str]]) -> str:
    return r" \\ ".join(" & ".join(row) for row in rows)


def brackets(gold: Gold) -> Iterator[str]:
    """Matrices and vectors between every pair of brackets."""
    rows = _cells(gold.answer)
    if rows:
        body, columns = _body(rows), "c" * len(rows[0])
        array = rf"\begin{{array}}{{{columns}}} {body} \end{{array}}"
        for opening, closing in ((r"\left[", r"\right]"), ("(", ")"), (r"\left\{", r"\right\}")):
            yield f"{opening}{array}{closing}"
            yield rf"{opening}\begin{{matrix}} {body} \end{{matrix}}{closing}"
        yield rf"\left\lbrack {array} \right\rbrack"
        yield rf"\bigl[\begin{{smallmatrix}} {body} \end{{smallmatrix}}\bigr]"
        for name in ("bmatrix", "Bmatrix", "pmatrix"):
            yield rf"\begin{{{name}}} {body} \end{{{name}}}"
        yield rf"\begin{{bmatrix*}}[r] {body} \end{{bmatrix*}}"
        yield r"\pmatrix{" + body.replace(r"\\", r"\cr") + "}"
        turned = _body([[*row] for row in zip(*rows, strict=True)])
        yield rf"\begin{{pmatrix}} {turned} \end{{pmatrix}}^T"
        yield rf"\mathbf{{A}} = \left[{array}\right]"
        if len(rows) > 1 and len(rows[0]) > 1:
            yield "[" + ", ".join("[" + ", ".join(row) + "]" for row in rows) + "]"
        else:
            entries = ", ".join(cell for row in rows for cell in row)
            yield from (f"({entries})", f"[{entries}]", rf"\langle {entries} \rangle")
    elif (entries := pair(gold.answer)) and len(entries[1]) > 2 and entries[0] == "(":
        yield r"\left\langle " + ", ".join(entries[1]) + r" \right\rangle"


def other_matrix(gold: Gold) -> Iterator[str]:
    """Determinants, rows for columns, exchanged entries, half-open brackets."""
    rows = _cells(gold.answer)
    turned = [[*row] for row in zip(*rows, strict=True)]
    if rows:
        body, columns = _body(rows), "c" * len(rows[0])
        yield rf"\left|\begin{{array}}{{{columns}}} {body} \end{{array}}\right|"
        yield rf"\begin{{vmatrix}} {body} \end{{vmatrix}}"
        yield rf"2\begin{{bmatrix}} {body} \end{{bmatrix}}"
    if rows and turned != rows:
        columns = "c" * len(turned[0])
        yield rf"\left[\begin{{array}}{{{columns}}} {_body(turned)} \end{{array}}\right]"
        yield rf"\begin{{bmatrix}} {_body(rows)} \end{{bmatrix}}^T"
    if rows and rows[::-1] != rows:
        yield rf"\left[\begin{{matrix}} {_body(rows[::-1])} \end{{matrix}}\right]"
        entries = [cell for row in rows[::-1] for cell in row]
        yield "(" + ", ".join(entries) + ")"
        yield "(" + ", ".join(entries[::-1]) + "]"


def and_or(gold: Gold) -> Iterator[str]:
    """Lists whose last member follows `and` or `or`, with and without a comma."""
    members = parts(gold.answer)
    if len(members) < 2 or pair(gold.answer) or "text" in gold.answer or "_" in gold.answer:
        return
    first, last = ", ".join(members[:-1]), members[-1]
    for joint in (r", \text{ and } ", r" \text{ and } ", r",\ \text{or}\ ", r" \mathrm{ or } "):
        yield first + joint + last
    yield from (f"{first}, and {last}", f"{first} and {last}", rf"{first} \; \text{{or}} \; {last}")
    if all(number(member) is not None for member in members):
        equations = [f"x = {member}" for member in members]
        yield r" \text{ or } ".join(equations)
        yield ", ".join(equations[:-1]) + r", \text{ or } " + equations[-1]
        yield r" \lor ".join(equations)


def part_missing(gold: Gold) -> Iterator[str]:
    """Lists with `and` or `or` in which a member is missing, or another one too many."""
    members = parts(gold.answer)
    if len(members) > 1 and not pair(gold.answer) and "text" not in gold.answer:
        first = ", ".join(members[:-1])
        yield rf"{first}, \text{{ and }}"
        yield rf"{first}, \text{{ and }} 10007"
        yield rf"{first}, \text{{ or not }} {members[-1]}"
        yield rf"{gold.answer}, \text{{ or }} 10007"
    elif number(gold.answer) is not None:
        yield rf"{gold.answer}, \text{{ or }} 10007"
        yield f"{gold.answer} and 10007"
        yield rf"x = {gold.answer} \lor x = 10007"


def logarithms(gold: Gold) -> Iterator[str]:
    """The argument in brackets, braces and apart; quotients of other logarithms."""
    if match := _LOG.fullmatch(gold.answer):
        before, base, inside, after = match.groups()
        for log in (rf"\log_{base}({inside})", rf"\log_{base}{{{inside}}}"):
            yield before + log + after
        yield rf"{before}\log_{{{base}}} {inside}{after}"
        yield rf"{before}\log_{{{base}}}\left({inside}\right){after}"
        yield rf"{before}\log_{base}\,{inside}{after}"
        yield rf"{before}\frac{{\ln {inside}}}{{\ln {base}}}{after}"
        yield rf"{before}\frac{{\log({inside})}}{{\log({base})}}{after}"
        yield rf"x = {gold.answer}"


def other_logarithm(gold: Gold) -> Iterator[str]:
    """Base and argument exchanged, joined, one larger, or left out."""
    if match := _LOG.fullmatch(gold.answer):
        before, base, inside, after = match.groups()
        yield rf"{before}\log_{{{inside}}} {base}{after}"
        yield rf"{before}\log {inside}{after}" if base != "10" else r"\log 10007"
        yield rf"{before}\log({base}{inside}){after}"
        yield rf"{before}\log_{base}({inside} + 1){after}"
        yield rf"{before}\log_{base} {inside}{after} + 1"
        yield rf"{before}\frac{{\ln {base}}}{{\ln {inside}}}{after}"


def remainders(gold: Gold) -> Iterator[str]:
    """A remainder with its modulus."""
    value = number(gold.answer)
    if value is not None and value.denominator == 1 and value >= 0:
        modulus = int(value) + 5
        yield rf"{int(value)} \pmod{{{modulus}}}"
        yield rf"n \equiv {int(value)} \pmod{{{modulus}}}"
        yield rf"{int(value)} \bmod {modulus}"
        yield rf"{int(value)}\ (\text{{mod }} {modulus})"
        yield f"{int(value)} (mod {modulus})"
        yield rf"x \equiv {int(value)} \text{{ mod }} {modulus}"


def other_remainder(gold: Gold) -> Iterator[str]:
    """Another remainder, one that is not reduced, or two of them."""
    value = number(gold.answer)
    if value is not None and value.denominator == 1 and value >= 0:
        whole = int(value)
        yield rf"{whole + 1} \pmod{{{whole + 5}}}"
        yield rf"{2 * whole + 5} \pmod{{{whole + 5}}}"
        yield rf"n \equiv {whole + 2} (\text{{mod }} {whole + 5})"
        yield rf"{whole + 5 + whole} \equiv {whole} \pmod{{{whole + 5}}}"
        if whole:
            yield rf"{whole} \bmod {whole}"


def _holes(answer: str) -> list[str]:
    """The points that an answer leaves out of the real line; none where it is no such union."""
    bare = re.sub(r"\s|\\left|\\right", "", answer)
    match = re.fullmatch(rf"\(-\\infty,({_END})\)(.*)", bare)
    points: list[str] = []
    while match:
        points.append(match[1])
        if match[2] == rf"\cup({points[-1]},\infty)":
            return points
        match = re.fullmatch(rf"\\cup\({re.escape(points[-1])},({_END})\)(.*)", match[2])
    return []


def sets(gold: Gold) -> Iterator[str]:
    """The empty set by its names; the real line without points as a complement."""
    if gold.answer == r"\emptyset":
        yield from (
            r"\varnothing",
            r"\{\}",
            r"\{ \}",
            "\u2205",
            r"\left\{\,\right\}",
            "$\\emptyset$",
        )
    points = _holes(gold.answer)
    if points:
        listed = ", ".join(points)
        yield rf"\mathbb{{R}} \setminus \{{{listed}\}}"
        yield rf"\mathbb{{R}} - \{{{listed}\}}"
        yield rf"\mathbb R \backslash \{{{listed}\}}"
        yield rf"(-\infty, \infty) \setminus \{{{', '.join(reversed(points))}\}}"
        yield rf"\{{x \in \mathbb{{R}} \mid x \neq {listed}\}}"
        yield r" \text{ and } ".join(rf"x \ne {point}" for point in points)
        yield rf"x \in \mathbb{{R}} \setminus \{{{listed}\}}"


def other_set(gold: Gold) -> Iterator[str]:
    """A set with something in it, or a complement with a point too many or too few."""
    if gold.answer == r"\emptyset":
        yield from (r"\{\emptyset\}", r"\{0\}", "0", r"\{\{\}\}", r"\mathbb{R}")
    points = _holes(gold.answer)
    if points:
        listed = ", ".join(points)
        yield rf"\mathbb{{R}} \setminus \{{{listed}, 10007\}}"
        yield r"\mathbb{R} \setminus \{10007\}"
        yield r"\mathbb{R}"
        yield rf"\{{{listed}\}}"
        yield rf"x \ne 10007, {listed}"
        yield rf"x = {points[0]}"
    elif number(gold.answer) is not None:
        yield rf"x \ne {gold.answer}"
        yield rf"\mathbb{{R}} \setminus \{{{gold.answer}\}}"


def characters(gold: Gold) -> Iterator[str]:
    """Full-width and raised characters, other minus signs and spaces, written-out fractions."""
    answer, value = gold.answer, number(gold.answer)
    if answer.isascii() and not re.search(r"[\\{}$%^_]", answer):
        yield full_width(answer)
    if value is not None and "-" in answer:
        yield from (answer.replace("-", minus) for minus in MINUS_SIGNS)
    if value is not None and value.denominator == 1 and abs(value) > 999:
        yield from (f"{int(value):,}".replace(",", space) for space in THIN_SPACES)
    if value is not None and abs(value) % 1 in FRACTIONS and value.denominator > 1:
        sign, whole = "-" if value < 0 else "", int(abs(value))
        yield f"{sign}{whole or ''}{FRACTIONS[abs(value) % 1]}"
    if re.search(r"[a-z)]\^[0-9]", answer) and "^{" not in answer:
        yield re.sub(r"\^([0-9])", lambda power: SUPERSCRIPTS[int(power[1])], answer)
    if match := _ROOT.fullmatch(answer):
        yield f"{match[1]}\u221a{match[2]}"
    if (entries := pair(answer)) and not re.search(r"[\\{}]", "".join(entries[1])):
        yield full_width(entries[0] + ",".join(entries[1]) + entries[2])
    if r"\cup" in answer or r"\infty" in answer:
        yield answer.replace(r"\cup", "\u222a").replace(r"\infty", "\u221e")
    if r"\pi" in answer and re.fullmatch(r"[0-9]+\\pi", answer):
        yield answer.replace(r"\pi", "\u03c0")


def other_characters(gold: Gold) -> Iterator[str]:
    """Another sign, power, half or digit in typographic characters."""
    value = number(gold.answer)
    if value is None or value == 0:
        return
    if value > 0:
        yield from (minus + gold.answer for minus in MINUS_SIGNS)
    if value.denominator == 1:
        whole = int(value)
        yield full_width(str(whole + 1))
        yield f"{whole}\u00bd"
        if abs(whole) > 1:
            yield f"{whole}\u00b2"
            yield f"{whole}\u2082"
        if abs(whole) > 9:
            yield from (f"{str(whole)[:-1]}{space}{str(whole)[-1]}" for space in THIN_SPACES)


def per_unit(gold: Gold) -> Iterator[str]:
    """An amount per unit for the bare amount."""
    if number(gold.answer) is not None:
        for unit in (r"\text{ dollars per day}", r"/\text{day}", r"\text{ km}/\text{h}"):
            yield gold.answer + unit
        yield rf"{gold.answer} \text{{ miles/hour}}"
        yield rf"{gold.answer}\ \frac{{\text{{km}}}}{{\text{{h}}}}"
        yield rf"\${gold.answer}/\text{{hour}}"
        yield f"{gold.answer} km/h"
        yield f"{gold.answer}/day"


def per_number(gold: Gold) -> Iterator[str]:
    """Another amount per unit, or an amount over a number or a variable."""
    value = number(gold.answer)
    if value is not None and value != 0:
        yield f"{gold.answer}/2"
        yield f"{gold.answer}/x"
        yield rf"{gold.answer}/\text{{2 days}}"
        yield rf"{value + 1}/\text{{day}}"
        yield rf"\frac{{{gold.answer}}}{{7}} \text{{ km}}/\text{{h}}"


def products(gold: Gold) -> Iterator[str]:
    """A product with its sign: of a root, of pi, of brackets, of a power of ten."""
    if match := _ROOT.fullmatch(gold.answer):
        for sign in (r" \times ", r" \ast ", r" \cdot ", "*", " \u00b7 ", " \u00d7 "):
            yield rf"{match[1]}{sign}\sqrt{{{match[2]}}}"
        yield rf"{match[1]}\sqrt({match[2]})"
    elif match := re.fullmatch(r"(-?[0-9]+)(\\pi)", gold.answer):
        yield from (rf"{match[1]}{sign}\pi" for sign in (r" \times ", " * ", "\u00d7", "\u22c5"))
    elif match := _FACTORS.fullmatch(gold.answer):
        yield from (match[1] + sign + match[2] for sign in (r" \times ", "*", "\u00b7", r"\ast "))
    value = number(gold.answer)
    if value is not None and value.denominator == 1 and value and value % 100 == 0:
        for sign in ("x", " x ", r" \times ", r" \cdot ", "\u00d7", "*"):
            yield f"{int(value) // 100}{sign}10^2"


def product_unworked(gold: Gold) -> Iterator[str]:
    """A product of the answer with a number, with its result and without."""
    value = number(gold.answer)
    if value is not None and value.denominator == 1 and value != 0:
        for sign in (" x ", r" \times ", " * ", " \u00b7 ", " \u00d7 ", r" \cdot "):
            yield f"{int(value)}{sign}7"
            yield f"{int(value)}{sign}7 = {7 * int(value)}"
    elif match := _ROOT.fullmatch(gold.answer):
        yield rf"{match[1]} \times \sqrt{{{int(match[2]) + 1}}}"
        yield rf"{match[1]} + \sqrt{{{match[2]}}}"


EQUAL: dict[str, Family] = {
    "brackets": brackets,
    "and, or": and_or,
    "logarithms": logarithms,
    "remainders": remainders,
    "empty sets, complements": sets,
    "typographic characters": characters,
    "amounts per unit": per_unit,
    "products": products,
}
WRONG: dict[str, Family] = {
    "brackets": other_matrix,
    "and, or": part_missing,
    "logarithms": other_logarithm,
    "remainders": other_remainder,
    "empty sets, complements": other_set,
    "typographic characters": other_characters,
    "amounts per unit": per_number,
    "products": product_unworked,
}

OWN_ANSWERS = (
    *(rf"\log_{base} {inside}" for base in "2357" for inside in (6, 10, 11, 22)),
    *(rf"1+\log_{base} {inside}" for base in "257" for inside in (3, 11)),
    *(rf"3\log_{base} {inside}" for base in "257" for inside in (3, 11)),
    r"\log_b x",
    *[r"\emptyset"] * 12,
    *(
        rf"(-\infty,{low})\cup({low},{high})\cup({high},\infty)"
        for low, high in ((-3, 2), (0, 1), (-7, -5), (1, 9), (-1, 1), (4, 12))
    ),
    *(rf"(-\infty,{point})\cup({point},\infty)" for point in (-4, 0, 1, 6, r"\frac{1}{2}", -11)),
)
"""Reference answers for kinds of which the real rows have hardly any."""
