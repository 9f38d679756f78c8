"""Cutting text into tokens, and to a budget."""

from __future__ import annotations

import random
import sys

import pytest

from laconic.envs.dialogue.budget import (
    _ASCII,
    _TOKEN,
    count_tokens,
    cut,
    replace_surrogates,
    split_words,
)


def test_the_empty_text_has_no_tokens():
    assert split_words("") == []


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("hello", ["hello"]),
        ("say it", ["say", " it"]),
        ("grandmothers", ["grandmot", "hers"]),
        ("#### 1234", ["#", "#", "#", "#", " 123", "4"]),
        ("$12.50", ["$", "12", ".", "50"]),
        ("a_b", ["a", "_", "b"]),
        ("x  y\n\n", ["x", " ", " y", "\n", "\n"]),
        # Å and ö have two bytes each, so seven bytes stand before the ö.
        ("Ångström", ["Ångstr", "öm"]),
        # Three bytes a letter, so two letters a token, whatever stands before them.
        ("\u4f60\u597d\u4e16\u754c\u548c", ["\u4f60\u597d", "\u4e16\u754c", "\u548c"]),
        (" \u4f60\u597d\u4e16", [" \u4f60\u597d", "\u4e16"]),
        ("e\u0301", ["e", "\u0301"]),
    ],
)
def test_words_numbers_and_signs_are_tokens(text, tokens):
    assert split_words(text) == tokens


def test_the_tokens_of_any_text_join_back_to_it():
    generator = random.Random(0)
    for _ in range(300):
        text = "".join(chr(generator.randrange(sys.maxunicode + 1)) for _ in range(40))
        text += "".join(generator.choices(" \n\t_ab1#\u00b2\ud800", k=20))
        assert "".join(split_words(text)) == text


def test_a_text_within_the_limit_is_kept_whole():
    assert cut("one two", 2, split_words) == ("one two", 2)
    assert cut("one two", 10, split_words) == ("one two", 2)


def test_a_text_over_the_limit_is_cut_at_a_token_border():
    assert cut("one two three", 2, split_words) == ("one two", 2)
    assert cut("grandmothers", 1, split_words) == ("grandmot", 1)


@pytest.mark.parametrize("limit", [0, -3])
def test_without_a_limit_above_zero_nothing_is_left(limit):
    assert cut("one", limit, split_words) == ("", 0)


def test_silence_stays_silence():
    assert cut("", 5, split_words) == ("", 0)


def test_a_beginning_that_counts_longer_on_its_own_is_shortened_until_it_fits():
    # Pairs of letters; an odd number of pairs counts one token more.
    def odd(text):
        pairs = [text[i : i + 2] for i in range(0, len(text), 2)]
        return [*pairs, ""] if len(pairs) % 2 else pairs

    # The first three tokens are "ababab", which count four on their own; "abab" counts two.
    assert cut("abababab", 3, odd) == ("abab", 2)


def test_a_tokenizer_that_never_fits_leaves_nothing():
    assert cut("abc", 1, lambda text: [*text, ""]) == ("", 0)


def test_lone_surrogates_become_question_marks_one_by_one():
    assert replace_surrogates("a\ud83d\ude00b\udfff") == "a??b?"
    assert replace_surrogates("\U0001f600 \u00e9") == "\U0001f600 \u00e9"


def test_ascii_is_cut_as_any_other_text_is():
    """The two expressions, one of them for ASCII alone, find the same tokens."""
    generator = random.Random(0)
    for _ in range(300):
        text = "".join(chr(generator.randrange(128)) for _ in range(60))
        assert _ASCII.findall(text) == _TOKEN.findall(text)
    for sign in map(chr, range(128)):
        around = f"a{sign}b {sign}{sign}1 "
        assert _ASCII.findall(around) == _TOKEN.findall(around)


def test_tokens_that_are_counted_line_by_line_are_those_of_the_whole_text():
    generator = random.Random(0)
    for alphabet in (" \n\t\rab1#_", "\n\v\x85\u2028\u00e9 a\U0001f600"):
        texts = {str(number): "".join(generator.choices(alphabet, k=30)) for number in range(300)}
        expected = {agent: len(split_words(text)) for agent, text in texts.items()}
        assert count_tokens(texts, split_words) == expected
    # Others may join a line to the next one.
    assert count_tokens({"a": "a\nb"}, lambda text: [text]) == {"a": 1}
