"""What a numeric agent reads, entry by entry."""

from __future__ import annotations

import numpy as np
import pytest

from laconic.envs.wrappers.menu import Menu
from laconic.envs.wrappers.reader import Known, Layout, Reader
from laconic.envs.wrappers.words import Bag

AGENTS = ("solver_0", "helper_0", "helper_1")
MENU = Menu(statements=1, drafts=0, answers=("#### red",))
ENTRIES = ("", "the cup is red", "#### red", "I do not know.")
KNOWN = Known("what colour is the cup", ("the cup is red",), ENTRIES)


@pytest.fixture
def layout():
    """Three words, and a menu of silence, a statement, an answer and abstaining."""
    return Layout(AGENTS, MENU, Bag(["cup", "red", "blue"]))


def part(layout, array, name):
    return array[layout.parts[name]].tolist()


def test_the_parts_stand_one_after_the_other(layout):
    # 2 roles, 3 agents, 2 of time, 4 caps, 4 for each of 4 entries, 3 words of the question, 3 of
    # one statement, and 3 words and two numbers for each of 2 others.
    assert layout.size == 2 + 3 + 2 + 4 + 16 + 3 + 3 + 10


def test_an_agent_reads_who_it_is_what_it_knows_and_what_it_may_say(layout):
    reader = Reader(layout, "helper_0", KNOWN, str.split)
    array = reader.look(0.5, (2, 64, 64, 64))
    assert part(layout, array, "role") == [0, 1] and part(layout, array, "agent") == [0, 1, 0]
    assert part(layout, array, "time") == [0.5, 1]
    # t / (t + 64).
    assert part(layout, array, "left") == pytest.approx([2 / 66, 0.5, 0.5, 0.5])
    assert part(layout, array, "question") == [1, 0, 0]
    assert part(layout, array, "known") == [1, 1, 0]
    # Of 4, 2 and 4 words only the answer has at most 2; silence always fits.
    assert reader.mask.tolist() == [1, 0, 1, 0]
    table = np.reshape(part(layout, array, "menu"), (4, 4))
    assert table[:, 1] == pytest.approx([0, 4 / 20, 2 / 18, 4 / 20])
    # Of `the cup is red` the question has three words in four; of `red` it has none.
    assert table[:3, 2].tolist() == [0, 0.75, 0]


def test_what_it_said_and_whom_it_heard_is_remembered(layout):
    reader = Reader(layout, "solver_0", KNOWN, str.split)
    reader.look(0.0, (9, 9, 9, 9))
    assert reader.message(2) == "#### red"
    reader.hear("helper_1: blue cup\n  red\nNobody: red")
    array = reader.look(0.5, (1, 9, 9, 9))
    assert np.reshape(part(layout, array, "menu"), (4, 4))[:, 3].tolist() == [0, 0, 1, 0]
    heard = np.reshape(part(layout, array, "heard"), (2, 5))
    assert heard[0].tolist() == [0] * 5
    # Cup, red and blue; one of the three words is in the question; it was heard at all.
    assert heard[1] == pytest.approx([1, 1, 1, 1 / 3, 1])
    assert reader.message(1) == ""


def test_who_could_not_be_heard_shows_as_one_half_until_it_is_heard(layout):
    reader = Reader(layout, "solver_0", KNOWN, str.split)

    def ears() -> list[float]:
        return np.reshape(part(layout, reader.look(0.0, (9,) * 4), "heard"), (2, 5))[:, -1].tolist()

    reader.hear("helper_1 could not be heard.")
    assert ears() == [0.0, 0.5]
    reader.hear("helper_1: blue")
    assert ears() == [0.0, 1.0]
    # What was heard stays heard.
    reader.hear("helper_1 could not be heard.\nhelper_0: I could not be heard.")
    assert ears() == [1.0, 1.0]
