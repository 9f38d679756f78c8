r"""Right and wrong messages around GSM8K's reference answers, twelve families of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from math_styles import MINUS_SIGNS, THIN_SPACES, full_width

_TIMES = ("x", "X", "*", "\u00d7", "\u00b7", "\u22c5", "times", r"\times")
Family = Callable[[int], Iterator[str]]


def marked(value: int) -> Iterator[str]:
    """A mark, tight or wide, in bold."""
    yield f"#### {value}"
    yield f"####{value}"
    yield f"It follows.\n#### **{value}**"


def boxed(value: int) -> Iterator[str]:
    """A box, in dollars, with spaces."""
    yield rf"\boxed{{{value}}}"
    yield rf"So $\boxed{{ {value} }}$."


def grouped(value: int) -> Iterator[str]:
    """Digits in groups of three."""
    if abs(value) > 999:
        yield f"#### {value:,}"
        yield f"#### {value:,}".replace(",", " ")
        yield rf"\boxed{{{value:,}}}".replace(",", "{,}")
        yield rf"\boxed{{{value:,}}}".replace(",", r"\,")


def decimal(value: int) -> Iterator[str]:
    """Needless decimals."""
    yield f"#### {value}.00"
    yield f"#### {value}."
    yield rf"\boxed{{{value}.0}}"


def over_one(value: int) -> Iterator[str]:
    """A fraction over one."""
    yield f"#### {value}/1"
    yield rf"\boxed{{{value}/1}}"
    yield rf"\boxed{{\frac{{{value}}}{{1}}}}"


def with_unit(value: int) -> Iterator[str]:
    """Money and units."""
    yield f"#### ${value}"
    yield rf"#### \${value}"
    yield f"#### {value} apples"
    yield rf"\boxed{{{value} \text{{ apples}}}}"
    yield rf"\boxed{{{value}\%}}"


def in_a_sentence(value: int) -> Iterator[str]:
    """No mark at all: the last number counts."""
    yield f"The answer is {value}."
    yield f"Of 3 boxes with 4 each, {value} pens are left"
    yield f"2 + 2 = {value}!"


def corrected(value: int) -> Iterator[str]:
    """Another answer first; the last mark counts."""
    yield f"#### {value + 3}\nNo, I forgot one.\n#### {value}"
    yield rf"\boxed{{{value + 3}}} was wrong: \boxed{{{value}}}"
    yield f"#### {value}\nThat took 17 steps."


def dressed(value: int) -> Iterator[str]:
    """Delimiters of mathematics, tags and emphasis around the number or the mark."""
    yield rf"#### \({value}\)"
    yield rf"#### \[{value}\]"
    yield f"#### $${value}$$"
    yield f"<b>#### {value}</b>"
    yield f"#### <b>{value}</b>"
    yield f"#### *{value}*"
    yield f"<answer>#### {value}</answer>"
    yield rf"\boxed{{\({value}\)}}"


def characters(value: int) -> Iterator[str]:
    """Full-width characters, other minus signs, thin spaces between groups of digits."""
    yield f"#### {full_width(str(value))}"
    yield f"#### \u200b{value}\ufeff"
    yield f"####\u00a0{value}"
    if value < 0:
        for minus in MINUS_SIGNS:
            yield f"#### {minus}{-value}"
            yield rf"\boxed{{{minus}{-value}}}"
            yield f"The answer is {minus}{-value}."
    if abs(value) > 999:
        for space in (*THIN_SPACES, "'", "\u2019"):
            yield f"#### {value:,}".replace(",", space)
            yield f"The answer is {value:,}".replace(",", space)


def per_unit(value: int) -> Iterator[str]:
    """An amount per unit."""
    yield f"#### ${value}/day"
    yield f"#### {value}/hour"
    yield f"#### {value} eggs/day"
    yield f"#### ${value} per day"
    yield rf"\boxed{{\${value}/\text{{day}}}}"
    yield rf"\boxed{{{value}\text{{ km}}/\text{{h}}}}"


def product_explained(value: int) -> Iterator[str]:
    """How it was worked out, behind the answer or without a mark."""
    for times in _TIMES:
        yield f"#### {value} (6 {times} 7 and so on)"
        yield f"#### {value}, for it is {value} {times} 1"
        yield f"1 {times} {abs(value)} is {value}"


EQUAL: dict[str, Family] = {
    "marked": marked,
    "boxed": boxed,
    "grouped digits": grouped,
    "decimals": decimal,
    "over one": over_one,
    "with a unit": with_unit,
    "in a sentence": in_a_sentence,
    "corrected": corrected,
    "dressed": dressed,
    "typographic characters": characters,
    "amounts per unit": per_unit,
    "products": product_explained,
}


def off_by_one(value: int) -> Iterator[str]:
    """One too many or too few."""
    yield f"#### {value + 1}"
    yield f"#### {value - 1}"
    yield rf"\boxed{{{value + 1}}}"


def sign(value: int) -> Iterator[str]:
    """Another sign, or two of them."""
    if value > 0:
        yield f"#### -{value}"
        yield f"#### --{value}"
        yield f"The answer is --{value}"
        yield rf"\boxed{{--{value}}}"
        yield rf"\boxed{{-{value}}}"
    if value < 0:
        yield f"#### {-value}"


def glued(value: int) -> Iterator[str]:
    """Letters and digits behind it."""
    for junk in ("e3", "abc1", "x10", "_2"):
        yield f"#### {value}{junk}"
        yield rf"\boxed{{{value}{junk}}}"
        yield f"The answer is {value}{junk}"


def operators(value: int) -> Iterator[str]:
    """A factorial, a power, a fraction, a product."""
    if abs(value) < 3:
        return
    for worked in (f"{value}!", f"{value}^2", f"1/{value}", f"{value}/7", rf"\sqrt{{{value}}}"):
        yield f"#### {worked}"
        yield rf"\boxed{{{worked}}}"
    yield rf"\boxed{{\frac{{1}}{{{value}}}}}"
    yield rf"\boxed{{{value} \times 10}}"
    yield f"#### {value} * 10"


def dropped(value: int) -> Iterator[str]:
    """Digits left out, added, or parted by a point."""
    if abs(value) > 9:
        yield f"#### {str(value)[:-1]}"
        yield f"#### {str(value)[:-1]}.{str(value)[-1]}"
    if value:
        yield f"#### {value}0"
    yield f"#### {value}.5"


def chained(value: int) -> Iterator[str]:
    """Equations that say two things."""
    yield f"#### {value} = {value + 1}"
    yield f"#### {value + 1} = {value}"
    yield rf"\boxed{{{value} = {value + 1}}}"
    yield rf"\boxed{{{value + 1} = {value}}}"
    yield rf"\boxed{{x = {value + 1} = {value}}}"


def either(value: int) -> Iterator[str]:
    """Two answers in one mark."""
    yield f"#### {value} or {value + 1}"
    yield f"#### {value}, {value + 1}"
    yield rf"\boxed{{{value}, {value + 1}}}"
    yield rf"\boxed{{{value + 1} \text{{ or }} {value}}}"
    yield rf"\boxed{{{value + 1}; {value}}}"


def remarks(value: int) -> Iterator[str]:
    """Second thoughts inside the mark, or after the words of commitment."""
    yield f"#### {value} no wait it is {value + 1}"
    yield f"#### {value} is wrong, it is {value + 1}"
    yield rf"\boxed{{{value} \text{{ no wait it is }} {value + 1}}}"
    yield rf"\boxed{{{value + 1} \text{{ and not }} {value}}}"
    yield f"The answer is {value}, no, it is {value + 1}"


def other_dressed(value: int) -> Iterator[str]:
    """Another number in dress, or two of them."""
    yield rf"#### \({value + 1}\)"
    yield rf"#### \({value}\) or \({value + 1}\)"
    yield f"<b>#### {value + 1}</b>"
    yield f"#### ~~{value}~~ {value + 1}"
    yield rf"#### \({value} = {value + 1}\)"


def other_characters(value: int) -> Iterator[str]:
    """Another sign, power, half or digit in typographic characters."""
    yield f"#### {value}\u00bd"
    yield f"The answer is {value}\u00bd"
    yield f"#### {full_width(str(value + 1))}"
    if abs(value) > 1:
        yield f"#### {value}\u00b2"
    for minus in MINUS_SIGNS:
        if value > 0:
            yield f"#### {minus}{value}"
            yield rf"\boxed{{{minus}{value}}}"
        yield f"#### {value} {minus} 2"
    if abs(value) > 99:
        for space in THIN_SPACES:
            yield f"#### {str(value)[:-2]}{space}{str(value)[-2:]}"


def per_number(value: int) -> Iterator[str]:
    """Another amount per unit, or an amount over a number or a variable."""
    yield f"#### ${value + 1}/day"
    if value:
        yield f"#### ${value}/2"
        yield f"#### ${value}/2 days"
        yield f"#### {value}/x"
        yield f"#### {value}/two"
        yield rf"\boxed{{\${value}/(2)}}"


def product_unworked(value: int) -> Iterator[str]:
    """A product of the answer with a number, with its result and without."""
    if value:
        for times in _TIMES:
            yield f"#### {value} {times} 7 = {7 * value}"
            yield f"#### {value} {times} 7"
            yield f"#### {value} pens {times} 7"
            yield rf"\boxed{{{value} {times} 7}}"
            yield f"The answer is {value} {times} 7 = {7 * value}."
        yield f"#### {value}(7)"
        yield f"#### {value} \u00f7 2"


WRONG: dict[str, Family] = {
    "off by one": off_by_one,
    "sign": sign,
    "glued": glued,
    "operators": operators,
    "digits dropped": dropped,
    "chained": chained,
    "either, or": either,
    "remarks": remarks,
    "dressed": other_dressed,
    "typographic characters": other_characters,
    "amounts per unit": per_number,
    "products": product_unworked,
}
