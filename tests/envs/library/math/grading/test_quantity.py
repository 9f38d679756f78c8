"""Numbers are exact, units are annotations with one name, words are words."""

from __future__ import annotations

from fractions import Fraction

import pytest

from laconic.envs.library.math.grading.latex import tidy
from laconic.envs.library.math.grading.quantity import (
    based,
    in_base,
    letters,
    quantity,
    rational,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12", 12),
        ("-0.50", Fraction(-1, 2)),
        ("+.5", Fraction(1, 2)),
        ("12.", 12),
        ("1,234.5", Fraction(2469, 2)),
        ("12,34", None),
        ("3/4", Fraction(3, 4)),
        ("1/0", None),
        (r"\frac{0}{0}", None),
        ("1 2/3", Fraction(5, 3)),
        (r"1\frac{2}{3}", Fraction(5, 3)),
        (r"-\frac{1}{2}", Fraction(-1, 2)),
        (r"1.5\times10^{3}", 1500),
        (r"15\cdot10^2", 1500),
        (r"2\times10^{60}", 2 * 10**60),
        (r"2\times10^{61}", None),
        # 0.1666... is 1/10 + 6/90, 1.2333... is 12/10 + 3/90, and 0.3434... is 34/99.
        (r"0.1\overline{6}", Fraction(1, 6)),
        (r"1.2\overline{3}", Fraction(37, 30)),
        (r".\overline{34}", Fraction(34, 99)),
        ("x", None),
        ("", None),
        ("1" * 61, None),
        ("\u0661", None),
    ],
)
def test_a_number_is_exactly_what_it_spells(text: str, expected: Fraction | None) -> None:
    assert rational(text) == expected


@pytest.mark.parametrize(
    ("answer", "number", "unit"),
    [
        (r"3\text{ cm}", 3, "cm"),
        (r"3\text{ square inches}", 3, "inch^2"),
        (r"3\text{ in}^2", 3, "inch^2"),
        ("3 centimeters", 3, "cm"),
        (r"50\%", 50, "percent"),
        (r"90^\circ", 90, "degree"),
        # 1.5 * 10**6, 7 * 100 * 1000 and 7 * 12.
        ("5 million", 5_000_000, ""),
        (r"1.5\text{ million dollars}", 1_500_000, "dollar"),
        (r"7\mathrm{ hundred thousand}", 700_000, ""),
        (r"7\mbox{ dozens}", 84, ""),
        (r"7\text{ third graders}", 7, ""),
        (r"7\text{ meters squared}", 7, ""),
        (r"7\text{ pairs}", None, ""),
        (r"7\text{ halves}", None, ""),
        (r"7\text{ squared}", None, ""),
        (r"7\text{ or more}", None, ""),
        (r"7\text{ plus tax}", None, ""),
        (r"3\text{ blue balls}", 3, ""),
        (r"2\pi", None, ""),
        # Letters that name no unit are variables where they are few.
        ("6xy", None, ""),
        ("6 xy", None, ""),
        ("6abc", None, ""),
        ("6cm", 6, "cm"),
        ("6 men", 6, ""),
        ("6rods", 6, ""),
        (r"6\text{ large red balls in a bag}", 6, ""),
        (r"6\text{ large red balls in a paper bag}", None, ""),
        ("6 km/h", 6, "km/hour"),
        (r"6\text{ miles per hour}", 6, "mile/hour"),
        ("6 mph", 6, "mile/hour"),
        ("6/day", 6, ""),
        ("6/xy", None, ""),
        (r"6/\text{2 days}", None, ""),
        (r"6 \pmod{13}", 6, "mod 13"),
        (r"6 \pmod{5}", None, ""),
    ],
)
def test_units_are_split_off_and_named(answer: str, number: int | None, unit: str) -> None:
    result = quantity(tidy(answer) or "")
    assert (result.number, result.unit) == (number, unit)


def test_words_are_compared_without_case_and_punctuation() -> None:
    result = quantity(tidy(r"\text{Evelyn.}") or "")
    assert result.words and result.number is None
    assert letters(result.text) == letters("EVELYN") == "evelyn"


def test_numbers_in_bases() -> None:
    assert based("1a_{16}") == ("1A", 16)
    assert based("101_two") == ("101", 2)
    words = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
    assert [based(f"1_{word}") for word in words] == [("1", base) for base in range(2, 10)]
    assert based("101_99") is None and based("101") is None
    assert in_base("101", 2) == 5 and in_base("12", 2) is None
