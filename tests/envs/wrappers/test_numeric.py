"""The menu of messages, bags of words, and the array of a numeric agent, entry by entry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from laconic import envs
from laconic.envs.dialogue.messages import Message, format_messages
from laconic.envs.errors import SettingError
from laconic.envs.task import Task
from laconic.envs.wrappers.numeric import (
    ABSTAIN,
    Bag,
    Layout,
    Menu,
    Reader,
    messages_in,
    overlap,
    unheard,
    vocabulary,
    words_of,
)

AGENTS = ("solver_0", "helper_0", "helper_1")
MENU = Menu(statements=1, drafts=0, answers=("#### red",))
ENTRIES = ("", "the cup is red", "#### red", "I do not know.")
KNOWN = ("what colour is the cup", ("the cup is red",), ENTRIES)


def test_it_has_silence_statements_answers_and_abstention_in_this_order(make_signal: Any) -> None:
    env = make_signal()
    menu = Menu.of(env)
    assert menu == Menu(statements=1, drafts=0, answers=("#### red",))
    task = env.tasks["own"]
    assert menu.entries(task, (1,), "helper_0", False) == ("", "The cup is red.", "", ABSTAIN)
    assert menu.entries(task, (), "solver_0", True) == ("", "", "#### red", ABSTAIN)
    # Of more statements than there are places for the first are taken.
    assert menu.entries(task, (0, 1), "helper_0", False)[1] == "The ball is blue."


@pytest.mark.parametrize(
    ("settings", "statements"),
    [
        # Three statements: for 3 helpers one each, for 2 one of them holds two.
        ({}, 1),
        ({"team": {"solver": 1, "helper": 2}}, 2),
        # Where nobody but those who answer is there they hold them.
        ({"team": {"solver": 2}, "schedule": "all"}, 2),
        ({"information": "full"}, 3),
    ],
)
def test_it_has_room_for_the_largest_share(
    make_signal: Any, settings: Any, statements: int
) -> None:
    env = make_signal(**settings)
    assert Menu.of(env).statements == statements
    _, infos = env.reset(seed=0)
    assert max(len(info["share"]) for info in infos.values()) == statements


def test_the_commonest_answers_are_taken_and_stand_in_order() -> None:
    env = envs.make("signal", free=True, tasks=200)
    assert Menu.of(env).answers == ("#### blue", "#### green", "#### red", "#### white")
    counts = {
        answer: sum(task.answer_text == answer for task in env.tasks.values())
        for answer in Menu.of(env).answers
    }
    two = sorted(sorted(counts, key=counts.__getitem__)[-2:])
    assert Menu.of(env, answers=2).answers == tuple(two)
    with pytest.raises(SettingError, match="answers must be a whole number of at least 1"):
        Menu.of(env, answers=0)


def test_joint_work_has_its_roles_drafts_in_an_order_that_tells_nothing() -> None:
    env = envs.make("tldr", free=True, tasks=40, team={"concise": 1, "detailed": 1}, answer="joint")
    menu = Menu.of(env)
    assert menu.statements == 0 and menu.answers == () and menu.drafts >= 2
    first = []
    for task in env.tasks.values():
        entries = menu.entries(task, (), "concise_0", True)
        assert len(entries) == menu.size and entries[0] == "" and entries[-1] == ABSTAIN
        drafts = task.drafts["concise"]
        assert set(entries[1 : 1 + len(drafts)]) == set(drafts)
        first.append(entries[1] == drafts[0])
        assert entries == menu.entries(task, (), "concise_0", True)
    assert 0 < sum(first) < len(first)


def test_words_are_told_apart_whatever_their_case_and_signs() -> None:
    assert words_of("The cup, the CUP: 12 of $x_1$!") == {"the", "cup", "12", "of", "x_1"}
    assert words_of("") == frozenset()


def test_a_bag_of_a_vocabulary_has_its_places_in_order_and_leaves_others_out() -> None:
    bag = Bag(("cup", "red", "cup", "blue"))
    assert bag.size == 3
    assert bag.array(words_of("The blue cup")).tolist() == [1.0, 0.0, 1.0]


def test_a_hashed_bag_has_a_place_for_every_word_the_same_in_every_process() -> None:
    # crc32 of "cup" and "red" modulo 8.
    expected = {4, 7}
    assert set(Bag(8).array({"cup", "red"}).nonzero()[0].tolist()) == expected
    assert Bag(1).array({"any", "thing"}).tolist() == [1.0]


@pytest.mark.parametrize("words", [0, -1, (), True])
def test_a_bag_without_a_place_is_refused(words: object) -> None:
    with pytest.raises(SettingError, match="words must be a number of at least 1"):
        Bag(words)  # type: ignore[arg-type]


def test_the_vocabulary_of_tasks_has_all_their_words_once() -> None:
    tasks = [Task("a", "Which?", ("A cup.", "A ball."), "x"), Task("b", "Which cup?", (), "x")]
    assert vocabulary(tasks) == ("a", "ball", "cup", "which")


def test_overlap_is_the_share_of_words_that_are_among_others() -> None:
    # Three of the statement's four words are in the question.
    assert overlap(words_of("The cup is red."), words_of("What colour is the cup?")) == 0.75
    assert overlap((), {"cup"}) == overlap({"cup"}, ()) == 0.0


def test_what_was_heard_is_read_back_line_by_line() -> None:
    messages = (
        Message("solver_0", 0, "one\nhelper_0: forged\n  deep", 3),
        Message("helper_0", 0, "", 0),
        Message("helper_1", 0, "two: 2", 3),
    )
    text = format_messages(messages)
    assert messages_in(text, ("solver_0", "helper_0", "helper_1")) == {
        "solver_0": "one\nhelper_0: forged\n  deep",
        "helper_1": "two: 2",
    }


def test_what_is_nobodys_is_left_out() -> None:
    assert messages_in(format_messages(()), ("helper_0",)) == {}
    text = "helper_0: yes\nRevise your work.\n  indented\nstranger_0: no\n  more\n"
    assert messages_in(text, ("helper_0",)) == {"helper_0": "yes"}


def test_who_could_not_be_heard_is_read_off_whole_lines_only() -> None:
    text = "a_0 could not be heard.\nb_0: so\n  c_0 could not be heard."
    assert unheard(text, ("c_0", "b_0", "a_0")) == ("a_0",)


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
    reader = Reader(layout, "helper_0", *KNOWN, str.split)
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
    reader = Reader(layout, "solver_0", *KNOWN, str.split)
    reader.look(0.0, (9, 9, 9, 9))
    assert reader.message(2) == "#### red"
    reader.hear("helper_1: blue cup\n  red\nNobody: red")
    array = reader.look(0.5, (1, 9, 9, 9))
    assert np.reshape(part(layout, array, "menu"), (4, 4))[:, 3].tolist() == [0, 0, 1, 0]
    words_heard = np.reshape(part(layout, array, "heard"), (2, 5))
    assert words_heard[0].tolist() == [0] * 5
    # Cup, red and blue; one of the three words is in the question; it was heard at all.
    assert words_heard[1] == pytest.approx([1, 1, 1, 1 / 3, 1])
    assert reader.message(1) == ""


def test_who_could_not_be_heard_shows_as_one_half_until_it_is_heard(layout):
    reader = Reader(layout, "solver_0", *KNOWN, str.split)

    def ears() -> list[float]:
        return np.reshape(part(layout, reader.look(0.0, (9,) * 4), "heard"), (2, 5))[:, -1].tolist()

    reader.hear("helper_1 could not be heard.")
    assert ears() == [0.0, 0.5]
    reader.hear("helper_1: blue")
    assert ears() == [0.0, 1.0]
    # What was heard stays heard.
    reader.hear("helper_1 could not be heard.\nhelper_0: I could not be heard.")
    assert ears() == [1.0, 1.0]
