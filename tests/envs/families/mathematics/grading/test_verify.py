"""Algebra: decimals are exact, tiny differences count, and nothing raises."""

from __future__ import annotations

import pytest

from laconic.envs.families.mathematics.grading.verify import expressions_equal


@pytest.mark.parametrize(
    ("gold", "given", "expected"),
    [
        (r"2\sqrt{3}", r"\sqrt{12}", True),
        ("x+1", "1+x", True),
        ("x+1", "x+2", False),
        ("0.1x", r"\frac{x}{10}", True),
        (r"\frac{x}{2^{98}}", r"-\frac{x}{2^{98}}", False),
        (r"\sqrt{3}", "1.7320508075688772", False),
        ("", "", False),
        (r"\frac{", "x", False),
        ("x" * 301, "x" * 301, False),
    ],
)
def test_expressions(gold: str, given: str, expected: bool) -> None:
    assert expressions_equal(gold, given) is expected
