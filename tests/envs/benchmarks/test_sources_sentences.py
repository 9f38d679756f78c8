from __future__ import annotations

import pytest

from laconic.envs.benchmarks.sources import split_question, split_sentences


def test_an_empty_text_has_no_sentence() -> None:
    assert split_sentences(" \n") == ()
    assert split_question("") == ((), "")


def test_one_sentence_is_the_question() -> None:
    assert split_question("How many are 2 and 3?") == ((), "How many are 2 and 3?")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It costs $1.50. He pays $2.", ("It costs $1.50.", "He pays $2.")),
        ("Mr. Lee has 3. Dr. Ray has 4.", ("Mr. Lee has 3.", "Dr. Ray has 4.")),
        ("John F. Kay runs. He stops.", ("John F. Kay runs.", "He stops.")),
        ("At 9 a.m. Ann eats.", ("At 9 a.m.", "Ann eats.")),
        ("From 9 a.m. to 5 p.m. he works.", ("From 9 a.m. to 5 p.m. he works.",)),
        ("It is 9 a.m. 3 cars come.", ("It is 9 a.m. 3 cars come.",)),
        ("Stop! Why? So.", ("Stop!", "Why?", "So.")),
        ('He said "go." Then he went.', ('He said "go."', "Then he went.")),
        ("It has 12.  Then\n13 more.", ("It has 12.", "Then\n13 more.")),
        ("Ten oz. of tea is 3. Why?", ("Ten oz. of tea is 3.", "Why?")),
    ],
)
def test_a_full_stop_ends_a_sentence_only_where_it_does(
    text: str, sentences: tuple[str, ...]
) -> None:
    assert split_sentences(text) == sentences


def test_the_question_runs_from_the_last_question_sentence_to_the_end() -> None:
    facts, question = split_question("Is it late? Ann has 3. How many? Say it in words.")
    assert facts == ("Is it late?", "Ann has 3.")
    assert question == "How many? Say it in words."


def test_question_sentences_in_a_row_stay_together() -> None:
    assert split_question("Ann has 3. How many? Why?") == (("Ann has 3.",), "How many? Why?")


def test_without_a_question_mark_the_last_sentence_asks() -> None:
    assert split_question("Ann has 3. Find half of it.") == (("Ann has 3.",), "Find half of it.")
