"""What a reply says and does not say."""

from __future__ import annotations

import pytest

from laconic.learners.agents.chat import first_text, said


@pytest.mark.parametrize(
    ("text", "stopped", "message"),
    [
        (" Anna has 3. ", False, "Anna has 3."),
        ("<silence>", False, ""),
        ("<silence> and more", False, ""),
        # Stopped within the silence word; a reply that ended itself there says it.
        ("<sil", True, ""),
        ("<sil", False, "<sil"),
        ("", True, ""),
        ("I say <silence>", False, "I say <silence>"),
    ],
)
def test_a_reply_that_begins_with_the_silence_word_says_nothing(text, stopped, message):
    assert said(text, "<silence>", stopped) == message


def test_the_first_text_says_what_the_silence_word_is_if_asked_to():
    assert first_text("Hi", "", "-", False) == ("", "Hi")
    told = "Hi\nTo stay silent, reply with - and nothing else."
    assert first_text("Hi", "", "-", True) == ("", told)
