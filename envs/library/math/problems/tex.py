"""Words and exact numbers in LaTeX for families of problems."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random

from laconic.envs.benchmarks.generation import Problem
from laconic.envs.benchmarks.words import PEOPLE

Family = Callable[[Random], Problem]
"""Makes a problem; its answer is exact, in LaTeX."""


def tex(number: Fraction | int) -> str:
    r"""Return a number in LaTeX: `3`, `-\frac{1}{2}`."""
    number = Fraction(number)
    if number.denominator == 1:
        return str(number.numerator)
    sign = "-" if number < 0 else ""
    return rf"{sign}\frac{{{abs(number.numerator)}}}{{{number.denominator}}}"


def times(number: Fraction | int, symbol: str) -> str:
    r"""Return a multiple of a symbol: `\pi`, `-x`, `\frac{2}{3}\pi`, and 0 for none."""
    number = Fraction(number)
    if number == 0:
        return "0"
    return f"{'-' if number < 0 else ''}{'' if abs(number) == 1 else tex(abs(number))}{symbol}"


def surd(square: int) -> tuple[int, int]:
    """Return the root of a positive whole number as `outside * sqrt(inside)`, fully reduced."""
    outside, inside, factor = 1, square, 2
    while factor * factor <= inside:
        if inside % (factor * factor) == 0:
            inside //= factor * factor
            outside *= factor
        else:
            factor += 1
    return outside, inside


def root(square: int) -> str:
    r"""Return the root of a whole number in LaTeX: `3`, `2\sqrt{5}`."""
    outside, inside = surd(square)
    return str(outside) if inside == 1 else times(outside, rf"\sqrt{{{inside}}}")


def signed(number: int) -> str:
    """Return a number with its sign, as a second term: `+ 3`, `- 3`."""
    return f"{'-' if number < 0 else '+'} {abs(number)}"


def given(form: str, **values: object) -> tuple[str, ...]:
    """Return a sentence for each name and value, which fill the gaps of the form."""
    return tuple(form.format(name, value) for name, value in values.items())


def somebody(random: Random) -> str:
    """Draw a name."""
    return random.choice(PEOPLE)
