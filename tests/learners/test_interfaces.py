"""Types that agents, engines and rollouts share."""

from __future__ import annotations

from laconic.envs.dialogue.messages import SilenceWord
from laconic.learners.agents.chat import ReplyEnd
from laconic.learners.interfaces import Prompt

PIECES = {7: "<silence", 8: ">"}


def text_of(ids):
    return "".join(PIECES.get(token, "x") for token in ids)


def test_a_prompt_without_a_silence_word_stops_at_no_string():
    prompt = Prompt((3, 4), limit=4, end_ids=(1,), temperature=1.0, seed=0)
    assert prompt.stops == () and prompt.length((7, 8)) is None


def test_a_prompt_knows_where_its_silence_word_ends_a_reply():
    word = SilenceWord("<silence>")
    end = ReplyEnd(word, text_of, lambda token: text_of([token]), (1,))
    prompt = Prompt((3, 4), limit=4, end_ids=(1,), temperature=1.0, seed=0, reply_end=end)
    assert prompt.stops == tuple(word.spellings) and "<silence>" in prompt.stops
    # Tokens 7 and 8 are the word; the one behind it is cut.
    assert prompt.length((6, 7, 8, 6)) == 3
    # The word takes no part in equality, so equal prompts compare equal without it.
    assert prompt == Prompt((3, 4), limit=4, end_ids=(1,), temperature=1.0, seed=0)
