"""Spellings of an answer that models use, and similar texts that are wrong."""

from __future__ import annotations

import time

import pytest

from laconic.envs.library.math.grading.grade import grade
from laconic.envs.library.math.grading.latex import MAX_CHARACTERS, tidy

COLUMN, SQUARE = (
    r"\begin{pmatrix} 4 \\ -9 \end{pmatrix}",
    r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}",
)

RIGHT: dict[str, list[tuple[str, str]]] = {
    "vectors and matrices": [
        (COLUMN, r"\left[\begin{array}{c} 4 \\ -9 \end{array}\right]"),
        (COLUMN, r"\left[\begin{matrix} 4 \\ -9 \end{matrix}\right]"),
        (COLUMN, r"\left(\begin{array}{r} 4 \\ -9 \end{array}\right)"),
        (COLUMN, r"\Bigl[\begin{smallmatrix} 4 \\ -9 \end{smallmatrix}\Bigr]"),
        (COLUMN, r"\left\lbrack\begin{array}{@{}r@{}} 4 \\ -9 \end{array}\right\rbrack"),
        (COLUMN, r"\left\{\begin{array}{c} 4 \\ -9 \end{array}\right\}"),
        (COLUMN, r"\begin{Bmatrix} 4 \\ -9 \end{Bmatrix}"),
        (COLUMN, r"\begin{bmatrix*}[r] 4 \\ -9 \end{bmatrix*}"),
        (COLUMN, r"\pmatrix{4 \cr -9}"),
        (COLUMN, r"\begin{pmatrix} 4 & -9 \end{pmatrix}^T"),
        (COLUMN, r"[4, -9]^{\top}"),
        (COLUMN, "(4, -9)"),
        (COLUMN, r"\langle 4, -9 \rangle"),
        (COLUMN, r"\left\langle 4, -9 \right\rangle"),
        (COLUMN, "\u27e84, -9\u27e9"),
        (COLUMN, r"\vec{v} = \begin{bmatrix} 4 \\ -9 \end{bmatrix}"),
        (COLUMN, r"\mathbf{v} = \begin{bmatrix} 4 \\ -9 \end{bmatrix}"),
        (COLUMN, r"\begin{bmatrix}4\\[4pt]-9\end{bmatrix}"),
        (SQUARE, "[[1,2],[3,4]]"),
        (SQUARE, r"\left[\begin{array}{cc} 1 & 2 \\ 3 & 4 \end{array}\right]"),
        (SQUARE, r"\left[\begin{array}{c|c} 1 & 2 \\ \hline 3 & 4 \end{array}\right]"),
        (SQUARE, r"\begin{pmatrix} 1 & 3 \\ 2 & 4 \end{pmatrix}^{\mathrm{T}}"),
        ("(1,2,3)", r"\langle 1,2,3 \rangle"),
    ],
    "and, or": [
        ("1,4,9", r"1, 4, \text{ and } 9"),
        ("1,4,9", "1, 4, and 9"),
        ("1,4,9", "1, 4 and 9"),
        ("1,4,9", r"1,\ 4,\ \text{and}\ 9"),
        ("1,4,9", r"\text{1, 4, and 9}"),
        ("1,4", r"x=1, \text{ or } x=4"),
        ("1,4", r"x=1 \text{ or } x=4"),
        ("1,4", r"x = 1 \lor x = 4"),
        ("1,4", r"1 \& 4"),
        ("1,4", r"x = 1, \, \mathrm{or} \, x = 4"),
        ("1,4", r"x = 1 \vee x = 4"),
        ("(1,2), (3,4)", "(1,2) and (3,4)"),
        ("(1,2), (3,4)", r"(1,2), \text{ and } (3,4)"),
    ],
    "logarithms": [
        (r"\log_2 5", r"\log_2(5)"),
        (r"\log_2 5", r"\log_2{5}"),
        (r"\log_2 5", r"\log_{2} 5"),
        (r"\log_2 5", r"\log_{2}\left(5\right)"),
        (r"\log_2 5", r"\frac{\ln 5}{\ln 2}"),
        (r"\log_2 5", r"\frac{\log 5}{\log 2}"),
        (r"\log_2 5", "log\u20825"),
        (r"\log_2 5", r"x = \log_2 5"),
        (r"1+\log_5 2", r"\log_5 2+1"),
        (r"1+\log_5 2", r"\log_5(2) + 1"),
        (r"1+\log_5 2", r"1 + \log_{5}{2}"),
        (r"\log_{10} 7", r"\log_{10}(7)"),
        (r"\log_2 10", r"\log_2(10)"),
        (r"\frac{\log_2 5}{3}", r"\frac{1}{3}\log_2 5"),
    ],
    "remainders": [
        ("8", r"8 \pmod{13}"),
        ("8", r"n \equiv 8 \pmod{13}"),
        ("8", r"8 \bmod 13"),
        ("8", r"8 \mod 13"),
        ("8", r"8\ (\text{mod } 13)"),
        ("8", r"8\ (\mathrm{mod}\ 13)"),
        ("8", "8 (mod 13)"),
        ("8", r"8 \pmod 13"),
        ("8", r"8 \text{ mod } 13"),
        ("8", r"x \equiv 8 \pmod{13}"),
        ("3,5", r"x \equiv 3, 5 \pmod{7}"),
        ("8", r"8 \text{ (mod 13)}"),
    ],
    "empty sets": [
        (r"\emptyset", r"\varnothing"),
        (r"\emptyset", r"\{\}"),
        (r"\emptyset", "\u2205"),
        (r"\emptyset", r"\{ \}"),
        (r"\emptyset", r"\left\{\,\right\}"),
        (r"\emptyset", r"x \in \emptyset"),
    ],
    "complements": [
        (r"(-\infty,0)\cup(0,\infty)", r"\mathbb{R}\setminus\{0\}"),
        (r"(-\infty,0)\cup(0,\infty)", r"x \ne 0"),
        (r"(-\infty,0)\cup(0,\infty)", r"\mathbb{R} - \{0\}"),
        (r"(-\infty,0)\cup(0,\infty)", r"\mathbb{R} \backslash \{0\}"),
        (r"(-\infty,0)\cup(0,\infty)", "\u211d\u2216{0}"),
        (r"(-\infty,0)\cup(0,\infty)", r"x \in \mathbb{R} \setminus \{0\}"),
        (r"(-\infty,0)\cup(0,\infty)", r"\{x \mid x \neq 0\}"),
        (r"(-\infty,0)\cup(0,\infty)", r"\{x \in \mathbb{R} : x \neq 0\}"),
        (r"(-\infty,0)\cup(0,\infty)", r"(-\infty,\infty) \setminus \{0\}"),
        (r"(-\infty,1)\cup(1,2)\cup(2,\infty)", r"\mathbb{R} \setminus \{1,2\}"),
        (r"(-\infty,1)\cup(1,2)\cup(2,\infty)", r"\mathbb{R} \setminus \{2,1\}"),
        (r"(-\infty,1)\cup(1,2)\cup(2,\infty)", r"x \ne 1, 2"),
        (r"(-\infty,1)\cup(1,2)\cup(2,\infty)", r"x \ne 1, x \neq 2"),
        (r"(-\infty,1)\cup(1,2)\cup(2,\infty)", r"x \ne 1 \text{ and } x \ne 2"),
        (r"(-\infty,-1)\cup(-1,1)\cup(1,\infty)", r"x \ne \pm 1"),
        (r"(-\infty,1)\cup(2,\infty)", r"\mathbb{R} \setminus [1,2]"),
        (r"(-\infty,1]\cup[2,\infty)", r"\mathbb{R} \setminus (1,2)"),
        (r"[-1,0)\cup(0,1]", r"[-1,1] \setminus \{0\}"),
        (r"(-\infty,\sqrt{2})\cup(\sqrt{2},\infty)", r"x \ne \sqrt2"),
        (r"(3,\infty)", r"\{x \mid x > 3\}"),
        ("(3,5]", r"\{ x : 3 < x \le 5 \}"),
        (r"(-\infty,0)\cup(0,\infty)", r"\left\{ x \,\middle|\, x \ne 0 \right\}"),
        (r"(-\infty,-\sqrt2)\cup(\sqrt2,\infty)", r"\mathbb{R}\setminus[-\sqrt2,\sqrt2]"),
    ],
    "amounts per unit": [
        ("18", r"\$18/\text{day}"),
        ("18", r"18 \text{ dollars per day}"),
        ("18", r"18/\text{day}"),
        ("18", r"18 \text{ km}/\text{h}"),
        ("18", r"18\ \frac{\text{km}}{\text{h}}"),
        ("18", "18 km/h"),
        ("18", r"18 \text{ km/h}"),
        ("18", "18/day"),
        ("18", r"18 \text{ eggs/day}"),
        (r"18\text{ mph}", r"18 \text{ miles per hour}"),
        (r"18\text{ mph}", r"18 \text{ mi/h}"),
        (r"\approx 8.24 \text{ mph}", r"8.24 \text{ miles per hour}"),
        (r"18\text{ km/h}", r"18\,\mathrm{km/h}"),
    ],
    "products": [
        (r"7\sqrt{2}", r"7 \times \sqrt{2}"),
        (r"7\sqrt{2}", r"7 \ast \sqrt{2}"),
        (r"7\sqrt{2}", "7 \u00b7 \u221a2"),
        (r"7\sqrt{2}", "7*sqrt(2)"),
        (r"7\sqrt{2}", r"7\sqrt(2)"),
        ("(x-2)(x-3)", r"(x-2) \times (x-3)"),
        ("(x-2)(x-3)", "(x-2)*(x-3)"),
        ("1500", "1.5 x 10^3"),
        ("1500", "1.5 \u00d7 10^3"),
        ("1500", r"1.5 \cdot 10^{3}"),
        ("1500", "1.5x10^3"),
        ("6xy", r"6 \cdot x \cdot y"),
        ("6xy", r"6 \times x \times y"),
        ("6xy", "6 yx"),
    ],
    "dress": [
        ("38", "38</b>"),
        ("38", "<b>38</b>"),
        ("38", r"\(38\)"),
    ],
    "plus or minus": [
        ("2,3,-3", r"2, \pm 3"),
        ("3,-3", r"\{\pm 3\}"),
    ],
    "powers": [
        ("2x^2-18", "2x^2 - 18"),
        (r"x^2 \cdot 3", "x^2 3"),
    ],
}

WRONG: dict[str, list[tuple[str, str]]] = {
    "vectors and matrices": [
        (COLUMN, r"\left[\begin{array}{c} -9 \\ 4 \end{array}\right]"),
        (COLUMN, r"\left|\begin{array}{c} 4 \\ -9 \end{array}\right|"),
        (COLUMN, r"\left[\begin{array}{cc} 4 & -9 \end{array}\right]"),
        (COLUMN, r"\begin{pmatrix} 4 \\ -9 \end{pmatrix}^T"),
        (COLUMN, "(4, -9]"),
        (COLUMN, "(-9, 4)"),
        (COLUMN, r"\{4, -9\}"),
        (COLUMN, "4, -9"),
        (COLUMN, r"\left(\begin{array}{c} 4 \\ -9 \end{array}\right]"),
        (COLUMN, "(4,-9,0)"),
        (SQUARE, "[[1,3],[2,4]]"),
        (SQUARE, "(1,2,3,4)"),
        (SQUARE, r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}^T"),
        (SQUARE, r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}^{-1}"),
        (SQUARE, r"2\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}"),
        (SQUARE, r"\begin{pmatrix} 1 & 2 & 3 & 4 \end{pmatrix}"),
        ("[1,2)", r"\langle 1,2 \rangle"),
        ("[1,2]", r"\langle 1,2 \rangle"),
    ],
    "and, or": [
        ("1,4,9", r"1, 4, \text{ and }"),
        ("1,4,9", r"1, \text{ and } 4"),
        ("1,4,9", r"1, 4, \text{ and } 8"),
        ("1,4,9", r"1, 4, \text{ or not } 9"),
        ("13", r"13, \text{ or } 14"),
        ("13", r"13 \lor 14"),
        ("1,4", r"1 \text{ to } 4"),
    ],
    "logarithms": [
        (r"\log_2 5", r"\log_5 2"),
        (r"\log_2 5", r"\log_2 6"),
        (r"\log_2 5", r"\log_3 5"),
        (r"\log_2 5", r"\log 25"),
        (r"\log_2 5", r"\log 5"),
        (r"\log_2 5", r"\log_{25}"),
        (r"\log_2 5", r"\log_{2} 5 + 1"),
        (r"\log_2 5", r"\frac{\ln 2}{\ln 5}"),
        (r"\log_2 5", r"\log_2, 5"),
        (r"\log_2 5", "2.3219"),
        (r"1+\log_5 2", r"\log_5 2 + 2"),
        (r"1+\log_5 2", r"\log_5 3"),
        (r"\log_2 10", r"\log_2 1 0"),
        ("3", r"\log_2 8"),
    ],
    "remainders": [
        ("8", r"21 \pmod{13}"),
        ("100", r"100 \bmod 13"),
        ("9", r"100 \bmod 13"),
        ("8", r"8 \pmod{7}"),
        ("8", r"n \equiv 9 \pmod{13}"),
        ("8", r"-5 \pmod{13}"),
        ("8", r"21 \equiv 8 \pmod{13}"),
        ("13", r"8 \pmod{13}"),
        ("8", r"8 \pmod{x}"),
        ("8", r"8 \equiv 9"),
    ],
    "empty sets": [
        (r"\emptyset", r"\{\emptyset\}"),
        (r"\{\emptyset\}", r"\emptyset"),
        (r"\emptyset", "0"),
        (r"\emptyset", r"\{0\}"),
        ("0", r"\emptyset"),
        ("0", r"\{\}"),
        (r"\emptyset", r"\{\{\}\}"),
        (r"\emptyset", "()"),
    ],
    "complements": [
        (r"(-\infty,0)\cup(0,\infty)", r"\mathbb{R}\setminus\{1\}"),
        (r"(-\infty,0)\cup(0,\infty)", r"\mathbb{R}"),
        (r"(-\infty,0)\cup(0,\infty)", r"x \ne 1"),
        (r"(-\infty,0)\cup(0,\infty)", r"\{0\}"),
        (r"(-\infty,0)\cup(0,\infty)", r"\mathbb{R} \setminus \{0, 1\}"),
        (r"(-\infty,0)\cup(0,\infty)", "x = 0"),
        (r"(-\infty,0)\cup(0,\infty)", r"\mathbb{R} + \{0\}"),
        (r"(-\infty,1)\cup(1,2)\cup(2,\infty)", r"x \ne 1"),
        (r"(-\infty,1)\cup(2,\infty)", r"\mathbb{R} \setminus (1,2)"),
        (r"(-\infty,1)\cup(2,\infty)", r"\mathbb{R} \setminus \{1,2\}"),
        (r"[-1,0)\cup(0,1]", r"(-1,1) \setminus \{0\}"),
        ("0", r"x \ne 0"),
        ("0", r"\mathbb{R}\setminus\{0\}"),
        ("(1,2) - (3,4)", r"(1,2) \setminus (3,4)"),
        (r"(3,\infty)", r"\{x \mid x \ge 3\}"),
        (r"(3,\infty)", r"\{x \mid y > 3\}"),
    ],
    "amounts per unit": [
        ("18", "18/2"),
        ("18", "18/x"),
        ("18", "18/ab"),
        ("18", r"18/\text{2 days}"),
        (r"18\text{ km/h}", r"18 \text{ m/s}"),
        (r"18\text{ mph}", r"18 \text{ km/h}"),
        (r"18\text{ miles per hour}", r"18 \text{ miles per second}"),
        ("18", r"\$19/\text{day}"),
        ("18", r"\frac{18}{\text{day}} + 1"),
    ],
    "products": [
        ("42", "4 2"),
        ("6", "6 x 7 = 42"),
        ("42", "6 x 7"),
        ("42", r"6 \times 7"),
        ("6", r"6 \times 7"),
        ("6", "6 \u00b7 7"),
        ("6", "6 x 7"),
        ("15", "1.5 x 10^3"),
        (r"7\sqrt{2}", r"7 \times \sqrt{3}"),
        (r"7\sqrt{2}", r"7 + \sqrt{2}"),
        ("(x-2)(x-3)", "(x-2)*(x-4)"),
        ("6xy", "6"),
        ("6xy", "6x"),
        ("6xy", "6xz"),
    ],
    "dress": [
        ("38", "38<b>"),
        ("38", "38<39"),
    ],
    "plus or minus": [
        ("3,-3", r"\{\pm 2\}"),
        (r"\pm 3", "3"),
        ("2,3,-3", r"\pm 3"),
    ],
    "powers": [
        (r"x^2 \cdot 3", "x^{23}"),
        (r"x^2 \cdot 3", "x^2 4"),
    ],
}


def pairs(kinds: dict[str, list[tuple[str, str]]]) -> list[tuple[str, str]]:
    """Return the pairs of a reference and an answer of all kinds."""
    return [pair for listed in kinds.values() for pair in listed]


def test_a_way_of_writing_the_answer_is_right() -> None:
    verdicts = {pair: grade(*pair).right for pair in pairs(RIGHT)}
    assert len(verdicts) > 100
    assert [pair for pair, right in verdicts.items() if not right] == []


def test_what_only_looks_like_the_answer_is_wrong() -> None:
    verdicts = {pair: grade(*pair).right for pair in pairs(WRONG)}
    assert len(verdicts) > 100
    assert [pair for pair, right in verdicts.items() if right] == []


def test_every_kind_has_right_and_wrong_forms() -> None:
    assert set(WRONG) <= set(RIGHT)
    assert min(map(len, (*RIGHT.values(), *WRONG.values()))) >= 1


@pytest.mark.parametrize(
    "piece",
    [
        r"\log_",
        r"\pmatrix{",
        r"\begin{array}{",
        r"[\begin{matrix}",
        r"|\begin{matrix}1\end{matrix}",
        r"\setminus {",
        r"\setminus \{",
        r"x \ne ",
        r"(mod ",
        r"\text{mod }",
        r"\frac{\text{a}}{\text{b}}/",
        r"\{x \mid ",
        "</b>",
        "\u00bd\u00b2",
        ", and ",
        "^T",
    ],
)
def test_hostile_answers_are_tidied_and_compared_quickly(piece: str) -> None:
    text = (piece * MAX_CHARACTERS)[:MAX_CHARACTERS]
    started = time.process_time()
    tidy(text)
    assert not grade(r"(-\infty,0)\cup(0,\infty)", text).right
    assert not grade("8", text).right
    # It takes some milliseconds; the bound leaves room for a busy machine.
    assert time.process_time() - started < 1
