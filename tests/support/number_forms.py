r"""Right and wrong messages around GSM8K's reference answers, eight families of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

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


EQUAL: dict[str, Family] = {
    "marked": marked,
    "boxed": boxed,
    "grouped digits": grouped,
    "decimals": decimal,
    "over one": over_one,
    "with a unit": with_unit,
    "in a sentence": in_a_sentence,
    "corrected": corrected,
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


WRONG: dict[str, Family] = {
    "off by one": off_by_one,
    "sign": sign,
    "glued": glued,
    "operators": operators,
    "digits dropped": dropped,
    "chained": chained,
    "either, or": either,
    "remarks": remarks,
}
