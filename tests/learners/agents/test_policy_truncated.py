"""Replies that their limit stops are marked, and those that end themselves are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from laconic.learners.agents.policy import HFPolicy
from laconic.learners.interfaces import Request
from laconic.learners.rollout.play import Start, play, replies_of

LONG = Request("solver_0", "How many?")


@pytest.fixture
def policy(make_policy) -> HFPolicy:
    return make_policy(max_reply_tokens=6)


def test_a_reply_is_truncated_exactly_if_it_has_all_its_tokens_and_no_end(policy):
    replies = policy.reply([LONG] * 64, seed=0, greedy=False)
    end = policy.write("word")[-1]
    marks = {reply.truncated for reply in replies}
    assert marks == {True, False}
    for reply in replies:
        ended = reply.reply_ids[-1] in (end, *policy.write(""))
        assert reply.truncated == (not ended)
        assert ended or len(reply.reply_ids) == 6


def test_the_limit_of_the_environment_truncates_as_well(policy):
    short = replace(LONG, max_tokens=1)
    for reply in policy.reply([short, LONG] * 16, seed=1, greedy=False)[::2]:
        assert len(reply.reply_ids) <= 2
        assert reply.truncated == (reply.reply_ids[-1] not in policy.end_ids)


def test_turns_carry_the_mark_and_what_was_read(policy, make_env):
    env = make_env(team={"solver": 1, "helper": 1})
    [episode] = play([env], dict.fromkeys(env.possible_agents, policy), [Start(0, "fruit")], seed=0)
    marks = {
        (turn.agent, turn.round): turn.reply_ids[-1] not in policy.end_ids for turn in episode.turns
    }
    assert any(marks.values())
    assert {(t.agent, t.round): t.truncated for t in episode.turns} == marks
    assert {key: turn.truncated for key, turn in replies_of(episode.turns).items()} == marks
    first = episode.turns[0]
    assert first.read == env.reset(seed=0, options={"task": "fruit"})[0][first.agent]["text"]
    assert all(turn.read for turn in episode.turns)
