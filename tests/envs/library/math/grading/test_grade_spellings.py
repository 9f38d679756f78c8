"""Spellings from TeX, programs and sentences that say the reference answer, and near misses."""

from __future__ import annotations

import pytest

from laconic.envs.library.math.grading.grade import grade

RIGHT = {
    r"\frac12": (r"{1 \over 2}", r"1\over2", r"\frac 1 2", r"\sfrac12", r"{1}\over{2}", "0.5 = y"),
    r"-\frac12": (r"-{1 \over 2}", r"x = -{1\over 2}"),
    r"\frac{x+1}{2}": (r"{x+1 \over 2}", r"{x + 1} \over 2"),
    r"\frac{\frac12}{3}": (r"{{1 \over 2} \over 3}",),
    r"\binom{5}{2}": (r"{5 \choose 2}",),
    r"(\frac12, 3)": (r"({1 \over 2}, 3)", r"(1 \over 2, 3)"),
    "B, C": (r"\text{B and C}", "B and C", r"\text{B & C}", r"\text{B}, \text{C}"),
    r"\text{B and C}": ("B, C", r"\text{B, C}"),
    "A, B, C": (r"\text{A, B, and C}", r"\text{A, B and C}"),
    r"\text{Monday, Tuesday}": (r"\text{Monday and Tuesday}",),
    "(1,3)": (
        *(r"(1,2)\cup[2,3)", r"(1,2]\cup(2,3)", r"[2,3)\cup(1,2)", r"(1,2.5)\cup(2,3)"),
        *("1 < x < 2 or 2 \\le x < 3", r"(1,2)\cup\{2\}\cup(2,3)"),
    ),
    r"(1,2)\cup[2,3)": ("(1,3)",),
    r"(-\infty,\infty)": (r"(-\infty,0)\cup[0,\infty)", r"(-\infty,0)\cup\{0\}\cup(0,\infty)"),
    r"(1,2)\cup(3,5]": (r"(3,4]\cup(1,2)\cup(4,5]",),
    "5": ("5=x", "5 = y_1", r"\underline{5}", r"\underline{\underline{5}}", r"\boldsymbol{5}"),
    "-5": (r"\color{red}{-5}", r"\textcolor{red}{-5}", r"\Large -5", r"\hspace{1cm}-5", "-5 = x"),
    "x=5": ("5=x",),
    "5=x": ("5", "x=5"),
    "x^2": ("x**2", "x ** 2", r"\underline{x}^2"),
    "x^{10}+1": ("x**10 + 1", "1 + x**(10)"),
    "3x^2y^{-1}": ("3*x**2*y**-1",),
    "42000": ("42_000", "**42000**", "42_000 = x"),
    "1000000": (
        r"1\text{ million}",
        "1 million",
        r"\$1\mathrm{ million}",
        r"1\text{ million dollars}",
    ),
    "1000": (r"1\text{ thousand}", r"1\,\mbox{thousand}"),
    "7": (r"7\text{ cm}", r"7\text{ third graders}", "7=7", "x=y=7", r"7 \text{ mod } 8"),
    r"\frac52": (r"x = \frac52 \approx 2.5",),
    r"x \approx 2.5": ("2.5", r"2.5 \text{ cm}"),
    "1,2": ("x=1, y=2",),
    r"\infty": ("\u221e",),
}
WRONG = {
    r"\frac12": (r"{2 \over 1}", r"{1 \over 2} + 1", r"{1 \over 2}, 1", r"1 \atop 2", "0.5 = 0.6"),
    r"\frac{x}{2} + 1": (r"{x + 1 \over 2}",),
    "B, C": (r"\text{B and D}", r"\text{B or C}", r"\text{B and C and D}", r"\text{not B and C}"),
    r"\text{Monday, Tuesday}": (r"\text{Tuesday and Monday}",),
    "(1,3)": (r"(1,2)\cup(2,3)", r"(1,2)\cup[2,3]", r"[1,2)\cup[2,3)", r"(1,2)\cup(2.5,3)"),
    r"(1,2)\cup(2,3)": ("(1,3)", r"(1,2]\cup(2,3)"),
    "5": ("4=x", "5 = x + 1", r"\overline{5}", r"\cancel{5}", r"\underline{6}", r"5\phantom{1}6"),
    "x=5": ("5=y", "-5=x", r"x \approx 5", r"5 \approx x"),
    "x^2": ("x**3", "2**x", "x**2x"),
    "8": ("2**3",),
    "42000": ("42_00", "42_0000"),
    "-\\infty": ("\u221e",),
    "7": (
        *(r"7\text{ million}", "7 million", r"7\mathrm{ thousand}", r"7\mbox{ hundred}"),
        *(r"7\text{ billion dollars}", r"7\text{ dozens}", r"7\text{ pairs}", "7 pairs"),
        *(r"7\text{ squared}", r"7\text{ halves}", "7 halves", r"7\text{ or more}"),
        *(r"x \approx 7", r"\approx 7", "x \u2248 7", r"7 \approx x", "7 = 8", r"9 \text{ mod } 2"),
    ),
}


@pytest.mark.parametrize(
    ("gold", "answer"), [(gold, answer) for gold in RIGHT for answer in RIGHT[gold]]
)
def test_a_spelling_of_the_answer_is_right(gold, answer):
    assert grade(gold, answer).right


@pytest.mark.parametrize(
    ("gold", "answer"), [(gold, answer) for gold in WRONG for answer in WRONG[gold]]
)
def test_a_near_miss_is_wrong(gold, answer):
    assert not grade(gold, answer).right
