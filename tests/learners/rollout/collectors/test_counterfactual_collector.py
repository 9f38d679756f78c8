"""Collectors of learners by credit and unit."""

from __future__ import annotations

import pytest
import torch

from laconic.envs.errors import SettingError
from laconic.extras.methods.candidates import Candidates
from laconic.learners.advantages.credit import CREDITS, FORWARD_LOOKING
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.rollout.collectors.counterfactual import (
    MEASURES,
    collector_for,
    shapley,
    silence,
)
from laconic.learners.rollout.play import Start, collect


def test_every_counterfactual_credit_has_its_measure():
    assert set(MEASURES) == {name for name, credit in CREDITS.items() if credit in FORWARD_LOOKING}
    assert all(make(collect).credit == name for name, make in MEASURES.items())


@pytest.mark.parametrize("credit", ["own", "team"])
def test_a_credit_without_measure_leaves_the_collector_alone(credit):
    assert collector_for(collect, credit, "episode").play is collect


def test_a_credit_with_a_measure_puts_it_around_the_collector():
    measured = collector_for(collect, "silence", "episode")
    assert (measured.credit, measured.greedy) == ("silence", True)
    assert measured.collect.play is collect


def test_a_measure_of_ones_own_stays_as_it_is():
    mine = shapley(greedy=False, samples=9)
    assert collector_for(mine, "shapley", "reply") is mine


def test_a_measure_for_another_credit_is_refused():
    with pytest.raises(SettingError, match="works with learner.credit=silence; got .*shapley"):
        collector_for(silence(), "shapley", "episode")


def test_candidates_want_single_replies_and_their_own_credit():
    assert collector_for(Candidates(), "own", "reply") == Candidates()
    with pytest.raises(SettingError, match="Candidates.*learner.unit=reply; got .*unit=episode"):
        collector_for(Candidates(), "own", "episode")
    with pytest.raises(SettingError, match="learner.credit=team; got learner.credit=own"):
        collector_for(Candidates("team"), "own", "reply")


def test_a_collector_that_changes_the_number_of_groups_cannot_be_measured(relay, relayers):
    def several(environments, policies, starts, group_size, *, seed):
        return 2 * collect(environments, policies, starts, group_size, seed=seed)

    policies = dict.fromkeys(relay.possible_agents, relayers())
    with pytest.raises(SettingError, match=r"one group per start \(1\); got 2 groups"):
        silence(several)([relay], policies, [Start(0)], 2, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["episode", "reply"])
@pytest.mark.parametrize("credit", ["silence", "shapley"])
def test_a_learner_credits_every_message(make_env, make_policy, credit, unit):
    environments = [make_env(rounds=2) for _ in range(2)]
    policies = dict.fromkeys(environments[0].possible_agents, make_policy(max_reply_tokens=6))
    learner = GroupLearner(
        policies, lambda weights: torch.optim.SGD(weights, lr=0.1), credit=credit, unit=unit
    )
    groups = learner.collector(
        environments, policies, [Start(0, "fruit"), Start(1, "birds")], 3, seed=0
    )
    for group in groups:
        turns = {(i, t.agent, t.round): t for i, e in enumerate(group.episodes) for t in e.turns}
        for sequence in learner.sequences(group):
            covered = range(2) if sequence.round is None else [sequence.round]
            mine = [turns.get((sequence.episode, sequence.agent, round)) for round in covered]
            assert sequence.return_to_go == sum(
                turn.credit.task - turn.credit.cost for turn in mine if turn
            )
    assert learner.update(groups)["replays"] > 0


def test_episodes_that_nobody_measured_are_refused(make_env, make_policy):
    env = make_env()
    policies = dict.fromkeys(env.possible_agents, make_policy(max_reply_tokens=4))
    learner = GroupLearner(policies, lambda w: torch.optim.SGD(w, lr=0.1), credit="silence")
    with pytest.raises(SettingError, match="was not measured; let learner.collect play"):
        learner.update(collect([env], policies, [Start(0, "fruit")], 2, seed=0))
