"""Texts that print alike are tidied alike."""

from __future__ import annotations

import pytest

from laconic.envs.library.math.grading.latex import (
    DROW,
    MAX_CHARACTERS,
    WORD,
    squeezed,
    tidy,
)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("", ""),
        (" 5 . ", "5"),
        (r"\dfrac12", r"\frac{1}{2}"),
        (r"\frac1{\sqrt2}", r"\frac{1}{\sqrt{2}}"),
        (r"\sqrt[3]5", r"\sqrt[3]{5}"),
        (r"\left( 1,\, 2 \right)", "( 1, 2 )"),
        (r"10,\!000", "10000"),
        (r"90^{\circ}", r"90^\circ"),
        (r"x \leq 2", r"x \le 2"),
        ("2*3", r"2\cdot 3"),
        ("\u22125", "-5"),
        (r"\text{ cm}", f"{WORD} cm{DROW}"),
        (r"50\%", f"50{WORD}percent{DROW}"),
        (r"1 \text{ or } 2", "1 , 2"),
        ("x = 15,600", "x = 15600"),
        ("{15,600}", "{15600}"),
        (r"111, \! 111", "111111"),
        ("(15,600)", "(15,600)"),
        ("1, 600", "1, 600"),
        (r"1\text{ not \frac{1}{2}}", f"1{WORD}not\\frac{{1}}{{2}}{DROW}"),
        (r"\text{\textbf{a}}", f"{WORD}{{a}}{DROW}"),
        ("x^{2}", "x^2"),
        # The marks of words cannot be smuggled in.
        (f"{WORD}a{DROW}", "a"),
    ],
)
def test_ways_of_writing_one_thing_become_one(answer: str, expected: str) -> None:
    assert squeezed(tidy(answer) or "") == squeezed(expected)
    assert (WORD in (tidy(answer) or "")) == (WORD in expected)


def test_what_is_too_long_or_too_deep_is_not_read() -> None:
    assert tidy("1" * MAX_CHARACTERS) is not None
    assert tidy("1" * (MAX_CHARACTERS + 1)) is None
    assert tidy("(" * 40 + "x" + ")" * 40) is not None
    assert tidy("(" * 41 + "x" + ")" * 41) is None


def test_words_that_cannot_be_read_are_not_skipped() -> None:
    # Groups four deep: whatever they say, it is not dropped.
    assert tidy(r"1\text{ not {a {b {c}}}}") is None


def test_squeezing_drops_white_space_and_marks() -> None:
    assert squeezed(f"3 {WORD}c m{DROW}") == "3cm"
