"""Families of problems that `test_generate` does not work out again; and a few by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from math import cos, isclose, pi, radians, sin, sqrt
from random import Random

import pytest

from laconic.envs.library.math.problems import continuous, discrete, level_one
from laconic.envs.library.math.problems.generate import FAMILIES
from laconic.envs.library.math.problems.tex import Family, Problem


def drawn(family: Family, count: int = 60) -> list[tuple[Problem, list[int]]]:
    """Return problems of a family, each with the numbers of its facts in order."""
    assert count > 0
    problems = [family(Random(seed)) for seed in range(count)]
    return [
        (problem, list(map(int, re.findall(r"-?\d+", " ".join(problem.facts)))))
        for problem in problems
    ]


def fraction(latex: str) -> Fraction:
    match = re.fullmatch(r"(-?)\\frac\{(\d+)\}\{(\d+)\}", latex)
    return Fraction(int(f"{match[1]}{match[2]}"), int(match[3])) if match else Fraction(latex)


def rooted(latex: str) -> float:
    """`3`, `2\\sqrt{5}`, `\\sqrt{5}`."""
    match = re.fullmatch(r"(\d*)(?:\\sqrt\{(\d+)\})?", latex)
    assert match is not None, latex
    return float(match[1] or 1) * sqrt(int(match[2] or 1))


def complex_of(text: str) -> complex:
    bare = re.sub(r"(?<!\d)j", "1j", text.replace(" ", "").replace("i", "j"))
    return complex(bare)


@pytest.mark.parametrize("subject", FAMILIES)
def test_every_level_from_two_on_has_families_that_hardly_repeat(subject: str) -> None:
    assert sorted(FAMILIES[subject]) == [1, 2, 3, 4, 5]
    families = [family for level in (2, 3, 4, 5) for family in FAMILIES[subject][level]]
    for family in families:
        problems = [family(Random(seed)) for seed in range(100)]
        assert len({problem.content for problem in problems}) > 60, family
        for problem in problems:
            assert problem.answer and problem.working and len(problem.facts) >= 2


def test_a_quotient_of_quotients_is_their_product() -> None:
    for problem, (a, b, c, d) in drawn(continuous.ratio):
        assert fraction(problem.answer) == Fraction(a, b) * Fraction(c, d)


def test_squares_of_reciprocals_are_those_of_the_roots() -> None:
    for problem, (total, product) in drawn(continuous.powers):
        # The roots of x^2 - total x + product, real or not.
        root = (total * total - 4 * product + 0j) ** 0.5
        u, v = (total + root) / 2, (total - root) / 2
        assert isclose((1 / u**2 + 1 / v**2).real, fraction(problem.answer), abs_tol=1e-9)


def test_a_committee_and_a_choice_by_hand() -> None:
    # 5 women and 4 men, committees of 2: C(9, 2) - C(4, 2) = 36 - 6.
    for problem, (women, men, size) in drawn(discrete.committee, 400):
        if (women, men, size) == (5, 4, 2):
            assert problem.answer == "30"
            break
    else:
        pytest.fail("no such committee was drawn")
    for problem, (n, k) in drawn(discrete.choose):
        factors = range(n - k + 1, n + 1)
        ordered = eval("*".join(map(str, factors)))
        divided = {1: 1, 2: 2, 3: 6, 4: 24}[k]
        expected = ordered if "one after the other" in problem.facts[1] else ordered // divided
        assert int(problem.answer) == expected


def test_the_third_side_is_the_distance_of_the_ends() -> None:
    for problem, (a, b, angle) in drawn(continuous.cosines):
        x, y = b * cos(radians(angle)), b * sin(radians(angle))
        assert isclose(rooted(problem.answer), sqrt((a - x) ** 2 + y * y))


def test_a_segment_is_its_sector_without_the_triangle() -> None:
    for problem, (radius, _) in drawn(continuous.segment):
        expected = radius**2 * (radians(60) - sin(radians(60))) / 2
        latex = problem.answer.replace(r"\frac", "").replace("}{", ")/(")
        python = latex.replace(r"\pi", "*pi").replace(r"\sqrt{3}", "*sqrt(3)")
        python = re.sub(r"(^|- )\*", r"\1", python.replace("{", "((").replace("}", "))"))
        python = re.sub(r"\(\((\d+)\)/\((\d+)\)\)", r"(\1/\2)", python)
        assert isclose(eval(python, {"pi": pi, "sqrt": sqrt}), expected), problem


def test_numbers_in_bases_by_hand() -> None:
    # 10 = 1 * 9 + 0 * 3 + 1, 255 = 3 * 64 + 7 * 8 + 7.
    assert [discrete.in_base(10, 3), discrete.in_base(255, 8)] == ["101", "377"]
    for problem, _ in drawn(discrete.congruences):
        p, a, q, b = map(int, re.findall(r"\d+", " ".join(problem.facts)))
        assert (int(problem.answer) % p, int(problem.answer) % q) == (a, b)
        assert 0 < int(problem.answer) < p * q


def test_vectors_and_matrices_are_multiplied() -> None:
    for problem, (a, b, c, d) in drawn(continuous.dot):
        assert int(problem.answer) == a * c + b * d
    for problem, (a, b, c, d, x, y) in drawn(continuous.applied):
        rows = list(map(int, re.findall(r"-?\d+", problem.answer)))
        assert rows == [a * x + b * y, c * x + d * y]


def test_complex_numbers_are_multiplied() -> None:
    for problem, _ in drawn(continuous.product):
        w, z = (complex_of(fact.split(" = ")[1].strip("$.")) for fact in problem.facts)
        assert complex_of(problem.answer) == w * z


def test_lines_meet_on_both() -> None:
    for problem, (m, b, n, c) in drawn(continuous.line):
        x, y = map(fraction, problem.answer.strip("()").split(", "))
        assert m * x + b == y == n * x + c


LEVEL_ONE: list[tuple[Family, str, Callable[[int, int], int]]] = [
    (level_one.algebra, r"What is \w \+", lambda a, b: a + b),
    (level_one.algebra, r"What is \w \*", lambda a, b: a * b),
    (level_one.algebra, r"What is \w -", lambda a, b: a - b),
    (level_one.number_theory, "remainder", lambda a, b: a - b * (a // b)),
    (level_one.counting, " and one of", lambda a, b: a * b),
    (level_one.counting, r"one of the \w+ or", lambda a, b: a + b),
    (level_one.geometry, "area", lambda a, b: a * b),
    (level_one.geometry, "length plus width", lambda a, b: a + b),
]


@pytest.mark.parametrize(("family", "question", "expected"), LEVEL_ONE)
def test_level_one_takes_one_step(
    family: Family, question: str, expected: Callable[[int, int], int]
) -> None:
    fitting = [problem for problem in drawn(family) if re.search(question, problem[0].question)]
    assert len(fitting) >= 10
    for problem, (first, second) in fitting:
        assert int(problem.answer) == expected(first, second) >= 0


def test_a_function_of_level_one_is_applied() -> None:
    for problem, (point, second) in drawn(level_one.precalculus):
        sign = problem.facts[1].split(" is x ")[1][0]
        results = {"+": point + second, "-": point - second, "*": point * second}
        assert int(problem.answer) == results[sign] >= 0
