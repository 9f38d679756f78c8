"""Silence on purpose is played, counted, and learned from as what the policy might have said."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import torch

from laconic.envs.dialogue.reward import Reward
from laconic.envs.errors import SettingError
from laconic.learners.advantages.credit import own
from laconic.learners.advantages.group import Advantages
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.episode import Group
from laconic.learners.metrics import summarise
from laconic.learners.rollout.collectors.base import Players
from laconic.learners.rollout.collectors.tried_silence import TriedSilence
from laconic.learners.rollout.play import Start, collect
from laconic.learners.training.sequences import sequences_of

STARTS = [Start(0, "fruit"), Start(1, "birds")]


@pytest.fixture
def players(make_env, make_policy):
    """Who never keeps silent by itself: fresh weights would have to hit on the word."""
    environments = [make_env(information="split") for _ in range(8)]
    policy = make_policy(max_reply_tokens=8)
    return Players(environments, dict.fromkeys(environments[0].possible_agents, policy))


def helpers(groups):
    return [
        turn
        for group in groups
        for episode in group.episodes
        for turn in episode.turns
        if turn.agent != "solver_0"
    ]


def test_all_helpers_are_silent_at_rate_one_and_the_answering_agent_never(players):
    collector = TriedSilence(rate=1.0)
    groups = collector.gather(players, STARTS, 3, seed=5)
    said = helpers(groups)
    assert said
    assert not any(turn.message or turn.tokens_said for turn in said)
    assert collector.metrics == {"tried_silences": float(len(said))}
    policy = players.policies["solver_0"]
    silence = policy.write("")
    assert {turn.reply_ids for turn in said} == {silence}
    others = [t for g in groups for e in g.episodes for t in e.turns if t.agent == "solver_0"]
    assert any(turn.reply_ids != silence for turn in others)


def test_rate_zero_plays_what_would_be_played_anyway(players):
    collector = TriedSilence(rate=0.0)
    assert collector.gather(players, STARTS, 3, seed=5) == collect(*players, STARTS, 3, seed=5)
    assert collector.metrics == {"tried_silences": 0.0}


def test_about_the_share_asked_for_is_silent_and_equal_seeds_draw_equal_turns(players):
    collector = TriedSilence(rate=0.3)
    first = collector.gather(players, STARTS * 4, 4, seed=1)
    count, turns = collector.metrics["tried_silences"], len(helpers(first))
    # Within four standard deviations.
    assert abs(count / turns - 0.3) < 4 * (0.3 * 0.7 / turns) ** 0.5
    assert collector.gather(players, STARTS * 4, 4, seed=1) == first
    assert collector.gather(players, STARTS * 4, 4, seed=2) != first


def test_what_was_tried_has_the_log_probabilities_of_a_forward_pass(players):
    groups = TriedSilence(rate=1.0).gather(players, STARTS[:1], 2, seed=5)
    model = players.policies["solver_0"].model
    checked = 0
    for turn in helpers(groups):
        if turn.round:
            continue
        ids = torch.tensor([[*turn.prompt_ids, *turn.reply_ids]])
        with torch.no_grad():
            logprobs = model(input_ids=ids).logits[0].log_softmax(-1)
        first = len(turn.prompt_ids)
        expected = [float(logprobs[at - 1, ids[0, at]]) for at in range(first, ids.shape[1])]
        assert turn.behaviour_logprobs == pytest.approx(expected, abs=1e-5)
        checked += 1
    assert checked


@pytest.mark.parametrize("credit", ["own", "silence"])
def test_an_update_learns_from_it_with_a_ratio_of_one(players, credit):
    for environment in players.environments:
        # So that those who spoke have not what those who were silent have.
        environment.reward = Reward(price=0.5)
    learner = GroupLearner(
        players.policies,
        partial(torch.optim.AdamW, lr=1e-3),
        credit=credit,
        collect=TriedSilence(rate=0.5),
        minibatches=1,
    )
    groups = learner.collector(*players, STARTS, 4, seed=3)
    assert all(turn.trained for turn in helpers(groups))
    metrics = learner.update(groups)
    assert metrics["tried_silences"] > 0
    assert metrics["ratio_min"] == pytest.approx(1.0, abs=1e-4)
    assert metrics["ratio_max"] == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("rate", [-0.1, 1.1, "many"])
def test_a_rate_is_a_probability(rate):
    with pytest.raises(SettingError, match="learner.collect.rate"):
        TriedSilence(rate=rate)


def test_it_is_learned_from_where_it_did_better_and_only_there(players):
    """Alone in its group a tried silence is above or below the others, by its return."""
    groups = TriedSilence(rate=1.0).gather(players, STARTS[:1], 2, seed=3)
    (group,) = groups
    agent = helpers(groups)[0].agent
    for gain, expected in ((1.0, 0.5), (-1.0, 0.0)):
        first, second = group.episodes
        paid = replace(first, rewards={**second.rewards, agent: (gain,)})
        other = replace(second, rewards={**second.rewards, agent: (0.0,)})
        spoken = tuple(replace(turn, tried=False) for turn in other.turns)
        made = sequences_of(
            Group(group.task, (paid, replace(other, turns=spoken))),
            credit=own,
            advantages=Advantages(scale="none"),
            agents=[agent],
        )
        # The other one is learned from whichever way it went.
        assert [one.advantage for one in made] == [expected, -gain / 2]


def test_figures_of_silence_leave_it_out(players):
    (group,) = TriedSilence(rate=1.0).gather(players, STARTS[:1], 2, seed=3)
    found = summarise(group.episodes)
    alone = [turn for one in group.episodes for turn in one.turns if turn.agent == "solver_0"]
    assert found["silence_rate"] == sum(not turn.message for turn in alone) / len(alone)
    assert "silent_if_uninformed" not in found
