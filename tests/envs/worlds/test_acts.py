"""Speech and acts of one message."""

from __future__ import annotations

import pytest

from laconic.envs.worlds.acts import split_act, with_act


@pytest.mark.parametrize(
    ("message", "speech", "act"),
    [
        ("", "", ""),
        ("> catch 10", "", "> catch 10"),
        ("Ten each.\n> catch 10", "Ten each.", "> catch 10"),
        ("Ten each.\n> catch 10\n \n", "Ten each.", "> catch 10"),
        ("> catch 3\n> catch 10", "> catch 3", "> catch 10"),
        # What is not the last line, does not begin with the mark or quotes others is speech.
        ("> catch 10\nTen each.", "> catch 10\nTen each.", ""),
        ("Ten each. > catch 10", "Ten each. > catch 10", ""),
        ("See:\n  > catch 50", "See:\n  > catch 50", ""),
        ("fisher_1: > catch 50", "fisher_1: > catch 50", ""),
        (" > catch 10", " > catch 10", ""),
    ],
)
def test_the_last_line_is_an_act_if_it_begins_with_the_mark(message, speech, act):
    assert split_act(message) == (speech, act)


def test_speech_and_act_are_put_together_as_they_are_taken_apart():
    for speech, act in (("", ""), ("Hm.", ""), ("", "> end"), ("Two\nlines.", "> next a_1")):
        assert split_act(with_act(speech, act)) == (speech, act)
