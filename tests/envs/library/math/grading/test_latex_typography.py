"""Typographic characters are read as the LaTeX that they stand for, and as nothing else."""

from __future__ import annotations

import pytest

from laconic.envs.library.math.grading.grade import grade
from laconic.envs.library.math.grading.latex import to_latex


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("", ""),
        ("x + 1", "x + 1"),
        ("x\u00b2 \u2265 \u00bd", r"x^{2} \ge  \frac{1}{2}"),
        # A run of raised or lowered characters is one exponent or one index.
        ("x\u207b\u00b9\u2070", r"x^{-10}"),
        ("a\u2081\u2082", "a_{12}"),
        # Two powers, one after the other, keep their order.
        ("a\u2081\u00b2", "a_{1}^{2}"),
        ("1\u00bd", r"1\frac{1}{2}"),
        # Full-width and bold letters and digits are plain ones.
        ("\uff11\uff12", "12"),
        ("\U0001d7d7", "9"),
        ("\uff085\uff09", "(5)"),
        ("\u22125", "-5"),
        ("\u03c0\u22152", r"\pi /2"),
        ("2*3", r"2\cdot 3"),
    ],
)
def test_a_character_becomes_its_latex(text: str, latex: str) -> None:
    assert to_latex(text) == latex


def pairs(rows: list[tuple[str, str]]) -> list[object]:
    return [
        pytest.param(gold, answer, id=answer.encode("unicode_escape").decode())
        for gold, answer in rows
    ]


RIGHT = [
    (r"2, 3, \text{ and } 4", "2, 3, 4"),
    (r"2, 3, \text{ and } 4", "2,3,4"),
    (r"-12 \text{ or } -30", "-30, -12"),
    ("(1,2)", "\uff081\uff0c2\uff09"),
    ("5", "\uff15"),
    (r"\frac{1}{2}", "\u00bd"),
    (r"\frac{3}{2}", "1\u00bd"),
    ("-5", "\u20115"),
    ("-5", "\u20135"),
    ("-5", "\uff0d5"),
    ("-5", "\ufe635"),
    ("-5", "\u20105"),
    ("-5", "\u2014 5"),
    ("42000", "42 000"),
    ("42000", "\uff14\uff12\uff10\uff10\uff10"),
    ("x^2+1", "x\u00b2+1"),
    ("x^{10}", "x\u00b9\u2070"),
    ("x^{-2}", "x\u207b\u00b2"),
    ("1011_2", "1011\u2082"),
    (r"\sqrt{12}", "\u221a(12)"),
    (r"2\sqrt{3}", "2\u221a3"),
    (r"2\sqrt{3}", "2 \u00d7 \u221a3"),
    (r"2\pi", "\uff12\u03c0"),
    (r"\theta", "\u03b8"),
    (r"x\le 3", "x \u2264 3"),
    (r"\frac{\pi}{2}", "\u03c0\u22152"),
    (r"\sqrt[3]{2}", "\u221b2"),
    (r"90^\circ", "90\u00ba"),
    (r"\frac{3}{4}", "3\u20444"),
]
WRONG = [
    ("(1,2)", r"\begin{vmatrix} 1 \\ 2 \end{vmatrix}"),
    ("(1,2)", "\uff082\uff0c1\uff09"),
    ("5", "\uff16"),
    (r"\frac{1}{2}", "\u00bc"),
    (r"\frac{11}{2}", "1\u00bd"),
    (r"\frac{5}{2}", "1\u00bd"),
    ("5", "\u20115"),
    ("5", "\u20135"),
    ("5", "\uff0d5"),
    ("-5", "5"),
    ("42000", "42 00"),
    ("x^2+1", "x\u00b3+1"),
    ("8", "2\u00b3"),
    ("23", "2\u00b3"),
    ("25", "2\u2075"),
    ("12", "1\u2082"),
    (r"\sqrt[3]{2}", "\u221a2"),
    (r"90^\circ", "9\u00ba"),
]


@pytest.mark.parametrize(("gold", "answer"), pairs(RIGHT))
def test_an_answer_in_typographic_characters_is_right(gold: str, answer: str) -> None:
    assert grade(gold, answer).right


@pytest.mark.parametrize(("gold", "answer"), pairs(WRONG))
def test_an_answer_of_other_characters_is_wrong(gold: str, answer: str) -> None:
    assert not grade(gold, answer).right
