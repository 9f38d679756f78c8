"""What a reply says, and where the silence word ends it."""

from __future__ import annotations

import pytest

from laconic.learners.agents.chat import first_text
from laconic.learners.agents.silence import ReplyEnd, SilenceWord

WORD = SilenceWord("<silence>")


@pytest.mark.parametrize(
    "text",
    [
        "<silence>",
        " \n<silence>",
        "`<silence>`",
        "```\n<silence>\n```",
        "**<silence>**",
        '"<silence>"',
        "“<silence>”",
        "> <silence>",
        "helper_1: <silence>",
        "Helper_1: <silence>",
        "**helper_1:** <silence>",
        "Helper 1: <silence>",
        "[helper]: <silence>",
        "Reply: <silence>",
        "<silence/>",
        "<silence />",
        "</silence>",
        "< silence >",
        "<Silence>",
        "<SILENCE>",
        "[silence]",
        "(silence)",
        "Silence.",
        "helper_1: silence",
        "<silence> and more",
    ],
)
def test_silence_in_any_dress_is_silence(text):
    assert WORD.split(text, "helper_1").message == ""


@pytest.mark.parametrize(
    ("text", "message", "rest"),
    [
        (" Anna has 3. ", "Anna has 3.", ""),
        ("I say <silence>", "I say", ""),
        ("Anna has 3.\n<silence>\nNow I think: 3 + 4", "Anna has 3.", "Now I think: 3 + 4"),
        ("Anna has 3 </Silence> 4", "Anna has 3", "4"),
        ("<silence> a <silence> b", "", "a <silence> b"),
        # Dressing behind the word says nothing either.
        ("**<silence>**", "", ""),
        # Only the name of who speaks is dressing.
        ("solver_0: <silence>", "solver_0:", ""),
        ("42 <silence>", "42", ""),
        ("#### 7 <silence>", "#### 7", ""),
        ("silence is golden", "silence is golden", ""),
        ("I keep silence", "I keep silence", ""),
        ("", "", ""),
    ],
)
def test_what_stands_before_the_word_is_the_message(text, message, rest):
    assert WORD.split(text, "helper_1") == (message, rest)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<sil", ""),
        ("**<silenc", ""),
        ("helper_1: <sile", ""),
        ("</sil", ""),
        ("", ""),
        ("Anna has 3 <sil", "Anna has 3 <sil"),
        ("**", "**"),
    ],
)
def test_a_reply_that_its_limit_stops_within_the_word_is_silent(text, message):
    assert WORD.split(text, "helper_1", stopped=True).message == message
    # A reply that ended itself there says it.
    assert WORD.split(text, "helper_1").message == text


def test_a_word_without_brackets_counts_as_it_is_written():
    word = SilenceWord("PASS")
    assert word.split("I know 3. PASS I think") == ("I know 3.", "I think")
    assert word.split("I pass the ball to Bea") == ("I pass the ball to Bea", "")
    assert word.split("pass").message == ""
    assert word.spellings == ("PASS",)
    assert SilenceWord("-").split("3-2") == ("3", "2")


def test_servers_are_given_the_likeliest_spellings():
    spellings = set(WORD.spellings)
    assert {"<silence>", "<Silence>", "<SILENCE>", "<silence/>", "</silence>"} <= spellings
    assert all(WORD.ends(spelling) for spelling in spellings)


PIECES = ["a", "<", "sil", "ence", ">", ">x", "<silence", "e>", "<end>", "<silenc", ">"]
"""Texts of the tokens 0, 1, ...; token 8 ends a reply."""


@pytest.fixture
def reply_end() -> ReplyEnd:
    def text_of(ids):
        return "".join(PIECES[token] for token in ids if token != 8)

    return ReplyEnd(WORD, text_of, PIECES.__getitem__, end_ids=(8,))


@pytest.mark.parametrize(
    ("ids", "length"),
    [
        ((), None),
        ((0, 8), None),
        # "a<silence>" over five tokens, and what follows.
        ((0, 1, 2, 3, 4, 0, 0), 5),
        # The last token of the word holds a character more; it was sampled, so it counts.
        ((6, 5, 0), 2),
        ((9, 7), 2),
        # A word that does not end is none.
        ((6, 0, 4), None),
        ((6,), None),
        # The first of two words counts.
        ((6, 4, 6, 4), 2),
        # ">" alone completes nothing.
        ((4, 4, 0, 6, 10, 0), 5),
    ],
)
def test_a_reply_ends_with_the_token_that_completes_the_word(reply_end, ids, length):
    assert reply_end.length(ids) == length


def test_only_tokens_with_the_last_character_of_the_word_can_complete_it(reply_end):
    able = [token for token in range(len(PIECES)) if reply_end.can_complete(token)]
    # The end token has the character, and never completes the word.
    assert able == [4, 5, 7, 10]


def test_the_first_text_says_what_the_silence_word_is_if_asked_to():
    assert first_text("Hi", "", "-", False) == ("", "Hi")
    told = "Hi\nTo stay silent, reply with - and nothing else."
    assert first_text("Hi", "", "-", True) == ("", told)
