from __future__ import annotations

import re

import pytest

from laconic.envs.library.gsm8k.generate import generate
from laconic.envs.task import Task

HAS = re.compile(r"(?P<person>\w+) has (?P<count>\d+) (?P<item>\w+)\.")
GAINS = re.compile(r"(?P<person>\w+) (?:buys|finds|gets) (?P<count>\d+) (?P<item>\w+)\.")
LOSES = re.compile(r"(?P<person>\w+) (?:sells|loses|uses) (?P<count>\d+) (?P<item>\w+)\.")
FILLS = re.compile(r"(?P<person>\w+) fills (?P<count>\d+) boxes with (?P<item>\w+)\.")
PUTS = re.compile(r"(?P<person>\w+) puts (?P<count>\d+) (?P<item>\w+) in each box\.")
SHAPES = {"has": HAS, "gains": GAINS, "loses": LOSES, "fills": FILLS, "puts": PUTS}
QUESTION = re.compile(r"How many (?P<item>\w+) does (?P<person>\w+) have (?:now|in all)\?")


def read(sentence: str) -> tuple[str, str, str, int]:
    """Return the shape, person, item and number of a sentence."""
    for shape, pattern in SHAPES.items():
        if match := pattern.fullmatch(sentence):
            return shape, match["person"], match["item"], int(match["count"])
    raise AssertionError(sentence)


def interpret(facts: list[tuple[str, int]]) -> int:
    """Return the result of the facts' shapes and numbers."""
    total = 0
    numbers = dict(facts)
    if "fills" in numbers:
        return numbers["fills"] * numbers["puts"]
    for shape, number in facts:
        total += -number if shape == "loses" else number
    return total


@pytest.fixture(scope="module")
def tasks() -> tuple[Task, ...]:
    return generate(0, 3000, "train", 1)


def test_the_question_and_two_short_sentences_give_the_answer(tasks: tuple[Task, ...]) -> None:
    for task in tasks:
        question = QUESTION.fullmatch(task.question)
        assert question is not None, task
        facts = [read(text) for text in task.statements]
        own = [
            (shape, number)
            for shape, who, what, number in facts
            if (who, what) == subject(question)
        ]
        assert len(own) == 2
        assert {shape for shape, _ in own} in (
            {"has", "gains"},
            {"has", "loses"},
            {"fills", "puts"},
        )
        assert str(interpret(own)) == task.answer == task.solution.rpartition(" = ")[2]
        assert 0 <= int(task.answer) <= 81


def subject(requests: re.Match[str]) -> tuple[str, str]:
    return requests["person"], requests["item"]


def test_the_flags_are_what_the_question_says(tasks: tuple[Task, ...]) -> None:
    for task in tasks:
        question = QUESTION.fullmatch(task.question)
        assert question is not None
        read_flags = tuple(read(text)[1:3] == subject(question) for text in task.statements)
        assert task.relevant == read_flags


def test_a_distractor_is_of_the_other_kind_and_about_neither_person_nor_item(
    tasks: tuple[Task, ...],
) -> None:
    for task in tasks:
        question = QUESTION.fullmatch(task.question)
        assert question is not None
        boxes = task.question.endswith("in all?")
        for text, flag in zip(task.statements, task.relevant or (), strict=True):
            shape, person, item, _ = read(text)
            assert (shape in ("fills", "puts")) == (boxes == flag)
            if not flag:
                assert person != question["person"]
                assert item != question["item"]


def test_numbers_have_one_digit(tasks: tuple[Task, ...]) -> None:
    for task in tasks:
        for text in task.statements:
            assert 2 <= read(text)[3] <= 9


def test_statements_come_in_any_order(tasks: tuple[Task, ...]) -> None:
    places = [task.relevant.index(False) for task in tasks if len(task.statements) == 3]  # type: ignore[union-attr]
    assert set(places) == {0, 1, 2}
    first = [read(text)[0] for task in tasks for text in task.statements[:1]]
    assert {"has", "gains", "loses", "fills", "puts"} == set(first)
