"""A false number in a word problem: the answer that follows, by hand and by another reading."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest

from laconic import envs
from laconic.envs.library.gsm8k.falsify import falsified, numbers, worked_out
from laconic.envs.task import Task

GSM8K = envs.benchmark("gsm8k")


@pytest.mark.parametrize(
    ("steps", "stated", "true", "value", "answer"),
    [
        # 8 + 3 in place of 5 + 3.
        ("5 + 3 = 8", [5, 3], 5, 8, "11"),
        # 7 - 9 is no number of things.
        ("7 - 3 = 4", [7, 3], 3, 9, None),
        # (4 + 3) * 2, where the factor stands in words.
        ("6 + 3 = 9, 9 * 2 = 18", [6, 3], 6, 4, "14"),
        # 11 halves do not come out even.
        ("12 / 2 = 6", [12], 12, 11, None),
        # Of two equal numbers that may change places, the first changes: 7 * 4.
        ("4 * 4 = 16", [4, 4], 4, 7, "28"),
        # 4 - 4: it is in doubt which one is meant.
        ("4 - 4 = 0", [4, 4], 4, 7, None),
        # The 2 of "twice" and the 2 of a fact.
        ("2 + 5 = 7, 7 * 2 = 14", [2, 5], 2, 3, None),
        # 9 is a fact and a result that changes: which of them the last step takes is in doubt.
        ("6 + 3 = 9, 20 - 9 = 11", [6, 3, 20, 9], 6, 4, None),
        # A number that no step takes up.
        ("5 + 3 = 8", [5, 3, 6], 6, 4, None),
        ("", [5], 5, 4, None),
    ],
)
def test_steps_are_worked_out_again(steps, stated, true, value, answer):
    assert worked_out(steps, Counter(stated), true, value) == answer


def test_an_easy_problem_has_the_answer_of_its_changed_sentences():
    changed = 0
    for task in GSM8K.generate(0, 300, level=1):
        sign = re.search("[-+*]", task.solution).group()
        for index, relevant in enumerate(task.relevant):
            lie = falsified(task, index, Random(index)) if relevant else None
            if lie is None:
                continue
            changed += 1
            facts = [*task.statements]
            facts[index] = lie.statement
            first, second = (
                numbers(text)[0] for text, flag in zip(facts, task.relevant, strict=True) if flag
            )
            # A loss may stand before what there was.
            low, high = sorted((first, second))
            want = {"+": first + second, "-": high - low, "*": first * second}[sign]
            assert (lie.answer, numbers(lie.statement)) == (str(want), [int(lie.value)])
            assert lie.answer != task.answer
            known = f"{' '.join(task.statements)} {task.solution} {task.question}"
            assert int(lie.value) not in numbers(known)
    # Of 600 facts; those of `4 - 4` and such stay.
    assert changed > 540


@pytest.mark.parametrize("level", [2, 4, 8])
def test_the_true_number_brings_the_true_answer_back(level):
    changed = 0
    for task in GSM8K.generate(1, 100, level=level):
        facts = [text for text, flag in zip(task.statements, task.relevant, strict=True) if flag]
        stated = Counter(numbers(" ".join(facts)))
        for index in [i for i, flag in enumerate(task.relevant) if flag]:
            lie = falsified(task, index, Random(index))
            if lie is not None:
                changed += 1
                (true,) = Counter(numbers(task.statements[index])) - Counter(numbers(lie.statement))
                assert worked_out(task.solution, stated, true, true) == task.answer
    assert changed > 100


def test_equal_generators_give_equal_falsehoods_and_real_problems_none():
    task = GSM8K.generate(0, 1, level=1)[0]
    index = task.relevant.index(True)
    assert falsified(task, index, Random(3)) == falsified(task, index, Random(3))
    # The working of a published problem is prose.
    prose = Task("a", "How many?", ("Ann has 5 pens.",), "5", (True,), "She has all five.")
    assert falsified(prose, 0, Random(0)) is None
