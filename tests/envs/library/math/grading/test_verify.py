"""Algebra: decimals are exact, tiny differences count, and nothing raises."""

from __future__ import annotations

import pytest

from laconic.envs.library.math.grading.verify import expressions_equal, same_form


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        (r"2\sqrt{3}", r"\sqrt{12}", True),
        ("x+1", "1+x", True),
        ("x+1", "x+2", False),
        ("0.1x", r"\frac{x}{10}", True),
        (r"\frac{x}{2^{98}}", r"-\frac{x}{2^{98}}", False),
        # `t` and `m` are no units here.
        ("6t-5", "-5+6t", True),
        (r"\sqrt{2}", r"\sqrt{2}m", False),
        ("-1-3i", "-i(3-i)", True),
        ("3+2i", "3-2i", False),
        (r"\sqrt{3}", "1.7320508075688772", False),
        # Relations have no value to compare.
        ("x>1", "1<x", True),
        ("x>1", "x>2", False),
        ("", "", False),
        (r"\frac{", "x", False),
        ("x" * 301, "x" * 301, False),
    ],
)
def test_expressions(gold: str, answer: str, expected: bool) -> None:
    assert expressions_equal(gold, answer) is expected


@pytest.mark.parametrize(
    ("answer", "other", "expected"),
    [
        ("x^2-9", r"\frac{2(x^2-9)}{2}", True),
        ("x^2-9", "(x^2-9)^1+0", True),
        ("x^2-9", "x^2+7-7-9", True),
        # Equal, and worked out.
        ("x^2-9", "(x-3)(x+3)", False),
        ("x^2-9", "x^2-8", False),
        ("", "", False),
        ("x" * 301, "x" * 301, False),
        # One of the two is too long, in either place: `0+` 150 times is 300 characters.
        ("x", "0+" * 150 + "x", False),
        ("0+" * 150 + "x", "x", False),
        (r"\frac{", "x", False),
    ],
)
def test_forms(answer: str, other: str, expected: bool) -> None:
    assert same_form(answer, other) is expected
