"""Where the silence word ends a reply, in tokens."""

from __future__ import annotations

import pytest

from laconic.envs.dialogue.messages import SilenceWord
from laconic.learners.agents.chat import ReplyEnd, first_text

WORD = SilenceWord("<silence>")
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
    text = "Hi\nTo stay silent, reply with - and nothing else."
    assert first_text("Hi", "", "-", True) == ("", text)
