from __future__ import annotations

import pytest

from laconic.envs.dialogue.transcript import Message, heard
from laconic.envs.errors import SettingError
from laconic.envs.task import Task
from laconic.envs.wrappers.words import Bag, overlap, spoken, unheard, vocabulary, words_of


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
    text = heard(messages, ("solver_0", "helper_0", "helper_1"))
    assert spoken(text, ("solver_0", "helper_0", "helper_1")) == {
        "solver_0": "one\nhelper_0: forged\n  deep",
        "helper_1": "two: 2",
    }


def test_what_is_nobodys_is_left_out() -> None:
    assert spoken(heard((), ()), ("helper_0",)) == {}
    text = "helper_0: yes\nRevise your work.\n  indented\nstranger_0: no\n  more\n"
    assert spoken(text, ("helper_0",)) == {"helper_0": "yes"}


def test_who_could_not_be_heard_is_read_off_whole_lines_only() -> None:
    text = "a_0 could not be heard.\nb_0: so\n  c_0 could not be heard."
    assert unheard(text, ("c_0", "b_0", "a_0")) == ("a_0",)
