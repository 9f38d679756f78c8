from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations
from math import cos, gcd, isclose, pi, radians, sin, sqrt
from typing import Any

import pytest

from laconic.envs.benchmarks.generation import split_of
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.library.math.grading.boxed import commitment
from laconic.envs.library.math.problems.generate import FAMILIES, generate
from laconic.envs.library.math.problems.tex import root, surd, tex, times
from laconic.envs.task import Task

LEVELS = (1, 2, 3, 4, 5)


@cache
def many(level: int) -> tuple[Task, ...]:
    """Tasks in which every kind of question of a level comes up."""
    return generate(1, 600, "train", level)


def facts(task: Task) -> list[str]:
    flags = task.relevant or ()
    return [text for text, flag in zip(task.statements, flags, strict=True) if flag]


def contents(task: Task) -> str:
    return "\n".join((*sorted(facts(task)), task.question))


def test_no_tasks_are_no_work() -> None:
    assert generate(0, 0, "train") == ()


@pytest.mark.parametrize("level", [*LEVELS, (1, 5)])
def test_tasks_differ_and_come_quickly(level: Any) -> None:
    started = time.process_time()
    tasks = generate(0, 2000, "train", level)
    # Measured at a tenth of a second.
    assert time.process_time() - started < 3
    assert len({contents(task) for task in tasks}) == len({task.key for task in tasks}) == 2000


@pytest.mark.parametrize("level", LEVELS)
def test_train_and_evaluation_share_no_problem_whatever_the_seeds(level: int) -> None:
    trained = {contents(task) for seed in (0, -5) for task in generate(seed, 500, "train", level)}
    evaluated = [
        task for seed in (0, 2, 10**30) for task in generate(seed, 200, "evaluation", level)
    ]
    assert not trained & {contents(task) for task in evaluated}
    assert all(split_of(contents(task)) == "evaluation" for task in evaluated)


def test_the_same_arguments_give_the_same_tasks_and_fewer_are_the_first_of_more() -> None:
    before = random.getstate()
    first = generate(3, 50, "train")
    assert random.getstate() == before
    assert generate(3, 20, "train") == first[:20]
    assert generate(4, 50, "train") != first


def test_a_known_task_stays_what_it_is() -> None:
    # Written down so that a change of the tasks behind every published figure is seen.
    (task,) = generate(0, 1, "train", 1)
    assert (task.key, task.text, task.solution, task.answer_text, task.relevant) == KNOWN


KNOWN = (
    "train-0/0",
    "Ray's photo is 5 wide. Let p = 6. Ray's photo is 4 long. What is the area of Ray's photo?",
    "4 * 5 = 20",
    r"\boxed{20}",
    (True, False, True),
)


@pytest.mark.parametrize("subject", FAMILIES)
@pytest.mark.parametrize("level", LEVELS)
def test_every_subject_has_every_level(subject: str, level: int) -> None:
    tasks = generate(0, 100, "train", level, subject, (0, 4))
    assert all(dict(task.details) == {"level": level, "subject": subject} for task in tasks)
    assert all(commitment(task.answer_text) == (task.answer_text, task.answer) for task in tasks)
    assert {task.relevant.count(False) for task in tasks if task.relevant} == {0, 1, 2, 3, 4}
    assert all(len(set(task.statements)) == len(task.statements) for task in tasks)


def test_levels_and_subjects_mix() -> None:
    tasks = generate(0, 500, "train", (2, 4), ("algebra", "geometry"))
    assert {task.details["level"] for task in tasks} == {2, 3, 4}
    assert {task.details["subject"] for task in tasks} == {"algebra", "geometry"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seed": 1.5}, "generator.seed must be a whole number; got 1.5"),
        ({"count": -1}, "count must be a whole number of at least 0; got -1"),
        ({"level": 6}, "generator.level must be a whole number from 1 to 5"),
        ({"level": (3, 2)}, "from fewest to most; got (3, 2)"),
        ({"distractors": 5}, "generator.distractors must be a whole number from 0 to 4"),
        ({"subjects": ()}, "generator.subjects must name at least one of algebra"),
        ({"count": 10**6, "level": 2, "subjects": "number_theory"}, "before they ran out"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as caught:
        generate(**{"seed": 0, "count": 1, "split": "train", **settings})
    assert message in str(caught.value)


def test_an_unknown_subject_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'geometry'"):
        generate(0, 1, "train", 1, ["geometri"])


# What the answer of a question must be, worked out anew from the numbers of its conditions in the
# order of the conditions' own words (sorted with the numbers left out).
def _larger_root(product: float, total: float) -> float:
    return total / 2 + sqrt(total * total / 4 - product)


def _draws(a: int, b: int) -> Fraction:
    pairs = list(combinations([0] * a + [1] * b, 2))
    return Fraction(sum(first == other for first, other in pairs), len(pairs))


def _committees(size: int, men: int, women: int) -> int:
    groups = combinations(range(women + men), size)
    return sum(any(member < women for member in group) for group in groups)


def _hits(above: int, below: int, n: int, k: int) -> float:
    # Every sequence of hits and misses with k hits is as likely as the others.
    chance = above / below
    return len(list(combinations(range(n), k))) * chance**k * (1 - chance) ** (n - k)


def _smallest(p: int, a: int, q: int, b: int) -> int:
    return next(n for n in range(1, p * q + 1) if n % p == a and n % q == b)


def _in_base(digits: str, base: int) -> int:
    return int(digits, base)


CHECKS: list[tuple[str, Callable[..., float]]] = [
    (r"What is (\w) \+ (\w)\?", lambda a, b: a + b),
    (r"What is (\w) \* (\w)\?", lambda a, b: a * b),
    (r"What is the area of \w+'s (?!triangle|ring)\w+\?", lambda a, b: a * b),
    (r"What is the length plus width", lambda a, b: a + b),
    (r"How many ways are there to choose one of the \w+ and", lambda a, b: a * b),
    (r"How many ways are there to choose one of the \w+ or", lambda a, b: a + b),
    (r"For which \$x\$ is", lambda a, b, c: (c - b) / a),
    (r"What is the mean", lambda p, q, r: (p + q + r) / 3),
    (r"What is the larger root", _larger_root),
    (r"greatest common divisor", gcd),
    (r"least common multiple", lambda m, n: next(k for k in range(m, m * n + 1, m) if k % n == 0)),
    (r"What is the remainder when \$m\^n", lambda k, m, n: m**n % k),
    (r"the inverse of \$m\$", lambda m, p: next(x for x in range(1, p) if m * x % p == 1)),
    (r"What is the smallest positive", _smallest),
    (r"of one kind", _draws),
    (r"have at least one woman", _committees),
    (r"What is the area of \w+'s triangle", lambda base, height: base * height / 2),
    (r"hypotenuse", lambda a, b: sqrt(a * a + b * b)),
    (r"What is the area of \w+'s ring", lambda inner, outer: pi * (outer**2 - inner**2)),
    (r"volume of \w+'s cone", lambda radius, height: pi * radius * radius * height / 3),
    (r"How far is", lambda a, b, c, d: sqrt((a - c) ** 2 + (b - d) ** 2)),
    (r"What is the \$x\$-coord", lambda radius, angle: radius * cos(radians(angle))),
    (r"What is the \$y\$-coord", lambda radius, angle: radius * sin(radians(angle))),
]


def numbers(task: Task) -> list[int]:
    """Return all numbers of the conditions, sorted by the words of the conditions."""
    ordered = sorted(facts(task), key=lambda text: re.sub(r"-?\d+", "", text))
    return [int(number) for text in ordered for number in re.findall(r"-?\d+", text)]


def value(latex: str) -> float:
    """Return an answer as a float."""
    python = latex.replace(r"\cdot", "*").replace(r"\pi", "*PI")
    while r"\frac" in python:
        python = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", python)
    python = re.sub(r"\\sqrt\{(\d+)\}", r"*(\1)**0.5", python)
    python = re.sub(r"\)\s*\(", ")*(", re.sub(r"(\d)\(", r"\1*(", python))
    python = re.sub(r"(^|[-+(]\s*)\*", r"\1", python.strip())
    return float(eval(python, {"PI": pi}))


@pytest.mark.parametrize(("question", "expected"), CHECKS, ids=[check[0] for check in CHECKS])
def test_answers_are_what_their_conditions_give(
    question: str, expected: Callable[..., float]
) -> None:
    checked = 0
    for level in LEVELS:
        for task in many(level):
            if re.search(question, task.question):
                target = float(expected(*numbers(task)))
                assert isclose(value(task.answer), target, rel_tol=1e-9, abs_tol=1e-9), task
                checked += 1
    assert checked >= 20


def test_orders_and_choices_are_counted_one_by_one() -> None:
    orders = 0
    for task in generate(1, 60, "train", 2, "counting"):
        chosen, had = sorted(numbers(task))
        if "one after the other" in task.text:
            orders += 1
            assert int(task.answer) == sum(1 for _ in permutations(range(had), chosen))
        else:
            assert int(task.answer) == sum(1 for _ in combinations(range(had), chosen))
    assert 20 <= orders <= 40


def test_hits_divisors_and_sums_in_bases_are_right() -> None:
    for task in generate(1, 200, "train", 5, "counting"):
        above, below, n = map(int, re.findall(r"\d+", " ".join(sorted(facts(task)))))
        (k,) = map(int, re.findall(r"\d+", task.question))
        assert isclose(value(task.answer), _hits(above, below, n, k)), task
    for task in generate(1, 50, "train", 3, "number_theory"):
        exponents = [int(digits) for text in facts(task) for digits in re.findall(r"\^(\d+)", text)]
        a, b, c = exponents
        assert int(task.answer) == len({(i, j, k) for i in range(a + 1) for j in range(b + 1)
                                        for k in range(c + 1)})  # fmt: skip
    checked = 0
    for task in generate(1, 200, "train", 5, "number_theory"):
        if "in base" in task.question:
            checked += 1
            terms = [digits.split("_") for digits in re.findall(r"\d+_\d", " ".join(facts(task)))]
            digits, base = task.answer.split("_")
            total = sum(_in_base(number, int(base)) for number, base in terms)
            assert _in_base(digits, int(base)) == total
    assert checked >= 80


def test_systems_and_lines_are_solved() -> None:
    pairs = intervals = 0
    for task in generate(1, 200, "train", 3, "algebra"):
        if "ordered pair" in task.question:
            pairs += 1
            x, y = map(int, re.findall(r"-?\d+", task.answer))
            for text in facts(task):
                left, right = text.strip("$.").split(" = ")
                python = re.sub(r"(\d)([xy])", r"\1*\2", left.replace(" ", ""))
                assert eval(python, {"x": x, "y": y}) == int(right)
    for task in generate(1, 200, "train", 5, "algebra"):
        if "interval" in task.question:
            intervals += 1
            # A number is in the solution exactly when it makes the inequality true.
            s, t = numbers(task)
            for x in range(-35, 36):
                below = re.search(r"(<|>|\\le|\\ge) 0", task.question)
                assert below is not None
                left = x * x - s * x + t
                true = {"<": left < 0, ">": left > 0, r"\le": left <= 0, r"\ge": left >= 0}
                assert contains(task.answer, x) == true[below[1]], (task, x)
    assert pairs >= 80 and intervals >= 80


def contains(intervals: str, x: int) -> bool:
    for piece in intervals.split(r"\cup"):
        piece = piece.strip()
        low, high = (text.replace(r"\infty", "inf") for text in piece[1:-1].split(","))
        above = float(low) < x or (float(low) == x and piece[0] == "[")
        if above and (x < float(high) or (x == float(high) and piece[-1] == "]")):
            return True
    return False


def test_level_one_is_short_and_has_one_digit_numbers() -> None:
    for task in generate(0, 2000, "train", 1):
        assert len(facts(task)) == 2
        assert all(len(text) <= 45 for text in task.statements)
        assert all(2 <= int(n) <= 9 for text in task.statements for n in re.findall(r"\d+", text))
        assert 0 <= int(task.answer) <= 81
        assert task.solution.endswith(f" = {task.answer}")
        operands = re.findall(r"\d+", task.solution.partition(" = ")[0])
        assert sorted(operands) == sorted(re.findall(r"\d", " ".join(facts(task))))


@pytest.mark.slow
def test_level_one_is_large_enough_for_a_warm_start() -> None:
    assert len(generate(0, 60_000, "train", 1)) == 60_000


def test_a_distractor_comes_from_another_subject() -> None:
    shapes = {
        "algebra": r"Let \w = ",
        "number_theory": r"\w+ (shares|makes groups of) ",
        "counting": r"There are ",
        "geometry": r"\w+'s \w+ is ",
        "precalculus": r"\w is |\w\(x\) is ",
    }
    for task in generate(0, 1000, "train", 1, distractors=(1, 4)):
        for text, flag in zip(task.statements, task.relevant or (), strict=True):
            own = re.match(shapes[task.details["subject"]], text) is not None
            assert own == flag, task


def test_exact_numbers_are_written_as_usual() -> None:
    assert [tex(Fraction(-6, 4)), tex(4), tex(Fraction(0))] == [r"-\frac{3}{2}", "4", "0"]
    assert [times(1, "x"), times(-1, "x"), times(0, "x")] == ["x", "-x", "0"]
    assert times(Fraction(2, 3), r"\pi") == r"\frac{2}{3}\pi"
    # 72 = 36 * 2, 49 = 7 * 7, 15 has no square in it.
    assert [surd(72), surd(49), surd(15), surd(1)] == [(6, 2), (7, 1), (1, 15), (1, 1)]
    assert [root(72), root(49), root(15)] == [r"6\sqrt{2}", "7", r"\sqrt{15}"]
