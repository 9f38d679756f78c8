from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from laconic.envs.library.math.grading.grade import POOL, WALL_SECONDS, grade, plain

EQUAL = [
    (r"\frac{1}{2}", "0.5"),
    (r"\frac{1}{2}", r"\frac12"),
    (r"\frac{1}{2}", r"\dfrac{1}{2}"),
    (r"\frac{1}{2}", "1/2"),
    (r"\frac{1}{2}", ".5"),
    (r"\frac{1}{6}", r"0.1\overline{6}"),
    (r"12\text{ cm}^2", "12 cm²"),
    (r"\sqrt{12}", "√12"),
    (r"(-\infty,3)\cup(5,\infty)", "x < 3 or x > 5"),
    (r"3\sqrt{2}", r"x = \sqrt{18} = 3\sqrt{2}"),
    ("5760", "5 760"),
    (r"-\frac{1}{2}", r"\frac{-1}{2}"),
    (r"1\frac{2}{3}", "5/3"),
    (r"1\frac{2}{3}", "1 2/3"),
    (r"10,\!000", "10000"),
    ("10000", "10,000"),
    ("1500", r"1.5 \times 10^3"),
    ("50", r"50\%"),
    (r"50\%", "50"),
    (r"90^\circ", "90"),
    ("120", r"{120^\circ}"),
    ("x_1+x_2", "x_2+x_1"),
    (r"120^\circ", r"{120^{\circ}}"),
    ("13", "x = y = 13"),
    (r"90^\circ", "90 degrees"),
    (r"3\text{ cm}", "3"),
    (r"3\text{ cm}", "3 centimeters"),
    ("7", r"7\text{ cm}^2"),
    (r"\$5.00", "5"),
    (r"\text{Evelyn}", "evelyn."),
    (r"\text{(B)}", "B"),
    (r"\text{A, C}", "C, A"),
    ("1011_2", r"1011_{2}"),
    ("1011_2", "1011"),
    ("24", "24_{10}"),
    ("x=5", "5"),
    (r"\approx 8.24 \text{ mph}", "8.24"),
    (r"\frac{1}{2^{98}}", "2^{-98}"),
    ("5", "x = 5"),
    (r"\$\dfrac23 \approx \$0.67", "2/3"),
    ("(1,2)", r"\left( 1,\; 2 \right)"),
    (r"\left( \frac{1}{2}, 3 \right)", "(0.5, 3)"),
    ("1,2", "2, 1"),
    (r"\{1,2\}", "2, 1"),
    ("3,-3", r"\pm 3"),
    (r"3 \pm \sqrt{2}", r"3-\sqrt2, 3+\sqrt2"),
    (r"(-\infty, 2] \cup [5,\infty)", r"[5,\infty) \cup (-\infty,2]"),
    (r"(-\infty, 2] \cup [5,\infty)", r"x \le 2 \text{ or } x \ge 5"),
    ("[0,2)", r"0 \le x < 2"),
    ("(3,5]", r"x \in (3,5]"),
    (r"(-\infty,\infty)", r"\mathbb{R}"),
    (r"\begin{pmatrix} 1 \\ 1/2 \end{pmatrix}", r"\begin{bmatrix}1\\0.5\end{bmatrix}"),
    (r"2\sqrt{3}", r"\sqrt{12}"),
    (r"\frac{10}{\sqrt{3}}", r"\frac{10\sqrt{3}}{3}"),
    (r"12\pi", "12 pi"),
    ("x^2+2x+1", "(x+1)^2"),
    ("3+4i", "4i+3"),
    ("y = 2x + 1", "y = 1 + 2x"),
    ("x + y + z = 0", "x + y = -z"),
    (r"\cot x", r"\frac{\cos x}{\sin x}"),
]
DIFFERENT = [
    ("12", ""),
    ("12", r"\text{}"),
    (r"\frac{1}{3}", "0.333333333"),
    (r"2\sqrt{3}", "3.4641016"),
    ("50", "0.5"),
    (r"50\%", "0.5"),
    ("5", "5 million"),
    ("13", "1 3"),
    (r"3\sqrt{2}", r"x = 4 = 3\sqrt{2}"),
    ("2+i", "x = 3 + i = 2 + i"),
    (r"3\sqrt{2}", r"x = \sqrt{8} = 3\sqrt{2}"),
    (r"\frac{1}{6}", r"0.\overline{16}"),
    (r"3\text{ cm}", r"3\text{ m}"),
    (r"3\text{ cm}^2", r"3\text{ cm}^3"),
    (r"\text{Evelyn}", "Eve"),
    (r"\text{CBAD}", "ABCD"),
    ("B", "(C)"),
    ("1011_2", "1011_3"),
    ("10", "10_2"),
    ("x=5", "y=5"),
    ("5", "3=5"),
    ("(1,2)", "(2,1)"),
    ("(1,2)", "[1,2]"),
    ("(1,2)", "1,2"),
    ("(1,2)", "(1,2,3)"),
    (r"\{1,2\}", "(1,2)"),
    ("1,2", "1,2,2"),
    ("1,234", "1,235"),
    (r"(-\infty, 2] \cup [5,\infty)", r"(-\infty,2)\cup[5,\infty)"),
    (r"(-\infty, 2] \cup [5,\infty)", r"[5,\infty)"),
    ("[0,2)", "0 < x < 2"),
    (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix} 1 & 2 \end{pmatrix}"),
    ("3:5", "5:3"),
    (r"12\pi", "12"),
    ("3+4i", "3-4i"),
    ("x^2+1", "x^2+2"),
    ("x_1", "x_2"),
    ("15", r"3 \cdot 5"),
    ("y = 2x + 1", "x = 2y + 1"),
    ("x + y + z = 0", "0"),
    ("6", "3!+1"),
    ("13", "13!"),
    ("13", "x = 14 = 13"),
    ("13", r"13\text{ no wait it is 14}"),
    ("13", "13 no wait it is fourteen"),
    ("13", r"13\text{ or } 14"),
    # Differences of tiny numbers are not nothing.
    (r"\frac{1}{2^{98}}", r"\frac{2}{2^{98}}"),
    (r"\frac{x}{2^{98}}", r"-\frac{x}{2^{98}}"),
    (r"\$\dfrac23 \approx \$0.67", r"\frac23 \approx 0.67+1"),
    (r"\approx 8.24 \text{ mph}", r"-\approx 8.24"),
]


@pytest.mark.parametrize(("gold", "answer"), EQUAL)
def test_equal_answers_are_right(gold: str, answer: str) -> None:
    assert grade(gold, answer).right


@pytest.mark.parametrize(("gold", "answer"), DIFFERENT)
def test_different_answers_are_wrong(gold: str, answer: str) -> None:
    assert not grade(gold, answer).right


def test_plain_answers_need_no_algebra() -> None:
    assert grade("12", "12").how == grade("12", "13").how == grade("(1,2)", "[1,2]").how == "rules"
    assert grade("x+1", "1+x").how == "math-verify"
    assert grade("12", "1" * 2000).how == "unread"


@pytest.mark.parametrize(
    "answer",
    [
        "9**9**9",
        pytest.param("9^{9^{9^9}}", marks=pytest.mark.slow),
        r"\sum_{i=1}^{10^{9}} i",
        r"\int_0^1 x^{x^{x^x}} dx",
        r"\prod_{n=1}^{10^{7}} (x+n)",
        "(x+y+z+1)^{300}",
        "10^{10^{10}}!",
        "{" * 30 + "x" + "}" * 30,
        r"\begin{pmatrix}" * 20,
        "__import__('os').system('sleep 60')",
        "١٢+x",
        "x\x00+1",
    ],
)
def test_no_answer_takes_longer_than_its_limit(
    answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(POOL, "_seconds", 0.5)
    started = time.monotonic()
    assert not grade(r"\pi + x", answer).right
    # Half a second of processor time, whatever a busy machine makes of it.
    assert time.monotonic() - started < WALL_SECONDS


def test_grading_is_fast_enough() -> None:
    # 200 a second are asked for; half of these need math-verify. Measured above 300 on two cores.
    pairs = [(rf"{n}\sqrt{{3}}", rf"\sqrt{{3}} \cdot {n + n % 2}") for n in range(2, 152)]
    pairs += [(str(n), rf"\frac{{{2 * n}}}{{2}}") for n in range(150)]
    grade(r"5\sqrt{7}", r"\sqrt{175}")
    started = time.monotonic()
    with ThreadPoolExecutor(8) as threads:
        right = sum(
            comparison.right for comparison in threads.map(lambda pair: grade(*pair), pairs)
        )
    assert right == 75 + 150
    assert time.monotonic() - started < 30


def test_the_plain_form_is_the_same_for_ways_of_writing_one_answer() -> None:
    assert plain("0.50") == plain(r"\dfrac{2}{4}") == "1/2"
    assert plain(r"( 1,\, \frac12 )") == plain(r"\left(1,\dfrac{1}{2}\right)")
    assert plain("x = 5") == plain("5") == "5"
    assert plain("x" * 2000) == "x" * 100
