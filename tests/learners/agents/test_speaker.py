"""A speaker reads and writes in a model's tokens without weights of its own."""

from __future__ import annotations

import pytest

from laconic.learners.agents.base import Request
from laconic.learners.agents.hf import SamplingSettings
from laconic.learners.agents.speaker import Speaker, past, positions_of

LONG = Request("solver_0", "How many?")


@pytest.fixture
def policy(make_model, tiny_tokenizer) -> Speaker:
    model = make_model("llama", len(tiny_tokenizer))
    settings = SamplingSettings(explain_silence=False, max_reply_tokens=6)
    return Speaker(model, tiny_tokenizer, settings)


@pytest.mark.parametrize("message", ["", "3"])
def test_what_is_written_is_what_is_said(policy, message):
    assert policy.message(policy.write(message)) == message


def test_a_conversation_is_read_turn_by_turn(policy):
    first = policy.quote(LONG, "3")
    later = Request("solver_0", "And now?", history=(first,), texts=(LONG.text,))
    assert past(later.history) == [*first.prompt_ids, *first.reply_ids]
    # What stands before the second reply has not to be read again.
    assert LONG.text not in policy.tokenizer.decode(policy.read(later))


def test_a_limit_is_that_of_the_speaker_the_environment_and_the_positions(policy):
    assert policy.limit(LONG, [0] * 10) == 6
    assert policy.limit(Request("solver_0", "", max_tokens=2), [0] * 10) == 3
    assert (
        policy.limit(LONG, [0] * (policy.positions - 4)) == policy.room(policy.positions - 4) == 4
    )
    assert policy.limit(LONG, [0] * policy.positions) == 0


def test_positions_are_those_of_the_model(policy, make_model, tiny_tokenizer):
    model = make_model("llama", len(tiny_tokenizer), max_position_embeddings=77)
    assert positions_of(model) == 77 != policy.positions


def test_a_reply_that_had_no_room_at_all_was_not_stopped(policy):
    assert not policy._stopped(())


def test_a_quoted_message_that_does_not_fit_is_truncated(policy):
    said = policy.quote(LONG, "There are 3 birds in the tree")
    assert len(said.reply_ids) == 6 and said.truncated
    assert not policy.quote(LONG, "3").truncated
    assert not policy.quote(LONG, "").truncated
