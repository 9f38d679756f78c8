"""A reply is believed only where it can be one to what was asked."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from laconic.envs.dialogue.silence import SilenceWord
from laconic.learners.agents.silence import ReplyEnd
from laconic.learners.engines.dialect import Raw, check_reply, ids_of, numbers_of
from laconic.learners.errors import ServerError
from laconic.learners.interfaces import Prompt

ASKED = Prompt(ids=(3, 4, 5), limit=4, end_ids=(1, 2), temperature=1.0, seed=0)


@pytest.mark.parametrize("ids", [(7, 8, 9, 6), (7, 1), (2,), (7, 8, 9, 1)])
def test_a_reply_ends_with_an_end_token_or_at_its_limit(ids):
    raw = Raw((3, 4, 5), ids, (-1.0,) * len(ids))
    assert check_reply(raw, ASKED, "http://here", 10) == raw


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        (Raw((3, 4), (1,), (-1.0,)), "3 prompt tokens that were sent it read 2.*from token 2"),
        (Raw((3, 9, 5), (1,), (-1.0,)), "differ from token 1"),
        (Raw((), (1,), (-1.0,)), "it read 0"),
        (Raw((3, 4, 5), (), ()), "it has 0 tokens, and 1 to 4"),
        (Raw((3, 4, 5), (7,) * 5, (-1.0,) * 5), "it has 5 tokens"),
        (Raw((3, 4, 5), (7, 1), (-1.0,)), "2 tokens and 1 log-prob"),
        (Raw((3, 4, 5), (10, 1), (-1.0,) * 2), "10 is none of the 10 tokens of the model"),
        (Raw((3, 4, 5), (-1, 1), (-1.0,) * 2), "-1 is none of the 10"),
        (Raw((3, 4, 5), (1,), (0.5,)), "0.5 is no log"),
        (Raw((3, 4, 5), (1,), (-math.inf,)), "-inf is no log"),
        (Raw((3, 4, 5), (1, 7), (-1.0, -1.0)), "goes on after the end token 1"),
        (Raw((3, 4, 5), (7, 8), (-1.0, -1.0)), r"ends with token 8 after 2 of 4"),
        # The word of the tokens 7, 8 comes behind an end token.
        (Raw((3, 4, 5), (1, 7, 8), (-1.0,) * 3), "goes on after the end token 1"),
    ],
)
def test_anything_else_is_refused_with_what_is_wrong(raw, word):
    with pytest.raises(ServerError, match=f"http://here.*{word}"):
        check_reply(raw, ASKED, "http://here", 10)


PIECES = {7: "<silence", 8: ">", 9: "> and"}


@pytest.fixture
def stopped() -> Prompt:
    """The same prompt with a silence word of the tokens 7 and 8, or 7 and 9."""

    def text_of(ids):
        return "".join(PIECES.get(token, "x") for token in ids)

    end = ReplyEnd(SilenceWord("<silence>"), text_of, lambda token: text_of([token]), (1, 2))
    return replace(ASKED, limit=5, reply_end=end)


@pytest.mark.parametrize(
    ("ids", "size"),
    [
        ((7, 8), 2),
        ((6, 7, 9), 3),
        # A server that looks at text late has sampled on, even up to an end token.
        ((6, 7, 8, 6), 3),
        ((7, 8, 6, 1), 2),
        ((6, 7, 1), 3),
        ((6, 6, 6, 7, 8), 5),
    ],
)
def test_a_reply_may_end_with_the_silence_word_and_is_cut_there(stopped, ids, size):
    logprobs = tuple(-float(place) for place in range(len(ids)))
    tops = tuple({token: -1.0} for token in ids)
    checked = check_reply(Raw((3, 4, 5), ids, logprobs, tops), stopped, "http://here", 10)
    assert checked == Raw((3, 4, 5), ids[:size], logprobs[:size], tops[:size])


def test_a_short_reply_without_the_whole_word_is_refused(stopped):
    with pytest.raises(ServerError, match="does not complete the silence word"):
        check_reply(Raw((3, 4, 5), (6, 7), (-1.0, -1.0)), stopped, "http://here", 10)
    # Nor does the word stop what has none, such as the text of a probe.
    with pytest.raises(ServerError, match="ends with token 8"):
        check_reply(Raw((3, 4, 5), (7, 8), (-1.0, -1.0)), ASKED, "http://here", 10)


def test_what_is_no_list_of_ids_or_numbers_gives_none():
    assert ids_of(None) == () and ids_of([1, "2", True, 3]) == (1, 3)
    assert numbers_of("no") == () and math.isnan(numbers_of([None])[0])
