"""Typographic characters become ASCII ones, and paragraphs become sentences."""

from __future__ import annotations

import pytest

from laconic.envs.families.common.text import (
    DASHES,
    INVISIBLE,
    ascii_alike,
    split_question,
    split_sentences,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("as it is", "as it is"),
        ("\uff11\uff12\uff0c\uff08\uff09", "12,()"),
        (DASHES, "-" * len(DASHES)),
        ("".join(map(chr, range(0xFF01, 0xFF5F))), "".join(map(chr, range(0x21, 0x7F)))),
        ("".join(map(chr, range(0x2000, 0x200B))), " " * 11),
        ("\uff5f", "\uff5f"),
        (INVISIBLE, " " * len(INVISIBLE)),
        ("a\u00a0b\u3000c", "a b c"),
        ("42\u202f000", "42,000"),
        ("1'234'567", "1,234,567"),
        # Not in groups of three digits.
        ("42\u202f00 5'12 42\u20090000", "42 00 5'12 42 0000"),
        ("it's", "it's"),
        ("\u20ac5 \u00a35", "$5 $5"),
        # A dash between words is punctuation, and one before a number alone is a sign.
        ("so \u2013 5", "so , 5"),
        ("5 \u2013 5", "5 - 5"),
        ("\u0661", "\u0661"),
    ],
)
def test_typographic_characters_become_ascii_ones_and_no_text_changes_its_length(
    text: str, expected: str
) -> None:
    assert ascii_alike(text) == expected
    assert len(expected) == len(text)


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
