"""A forward pass finds the probabilities that replies were sampled with, of trained turns alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from laconic.extras.swarm.replay import scored
from laconic.learners.interfaces import Reply
from laconic.learners.rollout.play import Start, play


class Script:
    """Says one word, in no tokens."""

    def reply(self, requests, *, seed, greedy):
        return [Reply("hello")] * len(requests)


@pytest.fixture
def episodes(make_env, make_policy):
    env = make_env(information="split")
    policies = dict.fromkeys(env.possible_agents, make_policy(temperature=0.7))
    policies[sorted(policies)[0]] = Script()
    return play([env], policies, [Start(0, "fruit"), Start(1, "birds")], seed=4), policies


def test_sampled_turns_get_their_sampling_probabilities(episodes):
    played, policies = episodes
    for before, after in zip(played, scored(played, policies, 4096), strict=True):
        for mine, other in zip(before.turns, after.turns, strict=True):
            assert other.behavior_logprobs == pytest.approx(mine.behavior_logprobs, abs=1e-5)
            assert replace(other, behavior_logprobs=mine.behavior_logprobs) == mine


def test_turns_that_are_context_stay_as_they_are(episodes):
    played, policies = episodes
    wrong = [
        replace(
            episode,
            turns=tuple(
                replace(
                    turn,
                    trained=turn.round == 0,
                    behavior_logprobs=(9.0,) * len(turn.reply_ids),
                )
                for turn in episode.turns
            ),
        )
        for episode in played
    ]
    for episode in scored(wrong, policies, 4096):
        for turn in episode.turns:
            untouched = set(turn.behavior_logprobs) <= {9.0}
            assert untouched == (turn.round > 0 or not turn.reply_ids)
