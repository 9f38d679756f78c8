"""The worth of every token of a message, worked out by hand."""

from __future__ import annotations

import pytest

from laconic.envs.dialogue.budget import split_words
from laconic.extras.analysis.demand_measure import worths
from laconic.learners.rollout.collectors.base import Players
from laconic.learners.rollout.collectors.counterfactual import shares
from laconic.learners.rollout.play import Start, play

SHAPLEY = {"rule": lambda speakers, generator: shares(speakers, generator, samples=4)}


def measured(env, policy, **settings):
    """Return the worths of one episode by agent and round, and the number of replays."""
    players = Players([env, type(env)()], dict.fromkeys(env.possible_agents, policy))
    starts = [Start(0)]
    episodes = play(*players, starts, seed=0, greedy=True)
    measured_worths, played = worths(players, starts, episodes, split_words, **settings)
    return {(worth.turn.agent, worth.turn.round): worth for worth in measured_worths}, played


def test_a_team_that_says_nothing_has_nothing_to_measure(relay, relayers):
    assert measured(relay, relayers(x_0="", y_0="", z_0="")) == ({}, 0)


@pytest.mark.parametrize("tokens", [False, True])
def test_the_worth_of_a_token_is_its_increase_of_the_return(relay, relayers, tokens):
    measures, _ = measured(relay, relayers(tokens, x_0="well left now"))
    # A worth holds no price: with `left` the task pays 6, to each and to the team.
    assert measures["x_0", 0].pieces == ("well", " left", " now")
    assert measures["x_0", 0].own == measures["x_0", 0].team == (0, 0, 6, 6)
    assert measures["z_0", 0].own == measures["z_0", 0].team == (0, 0)
    # In the last round nothing is played on: `left right` wins with its second word.
    assert measures["z_0", 1].own == measures["z_0", 1].team == (0, 0, 6)


def test_the_team_is_worth_the_sum_of_gains_of_their_own(relay, relayers):
    rules = {"metadata": {**relay.metadata, "reward": "own"}}
    own_gains = type("OwnGains", (type(relay),), rules)()
    measures, _ = measured(own_gains, relayers(x_0="well left now"))
    assert measures["x_0", 0].own == (0, 0, 6, 6)
    assert measures["x_0", 0].team == (0, 0, 18, 18)


def test_the_worth_of_a_stretch_is_the_loss_without_it(relay, relayers):
    measures, _ = measured(relay, relayers(x_0="well left now"), span=2)
    # Without `well left` 6 are lost, without `now` nothing.
    assert measures["x_0", 0].spans == ((2, 6.0, 6.0), (1, 0.0, 0.0))
    assert measured(relay, relayers())[0]["x_0", 0].spans == ()


def test_marginal_worths_add_up_to_the_gross_worth_to_the_bit(relay, relayers):
    measures, _ = measured(relay, relayers(x_0="well left now"))
    for worth in measures.values():
        steps = [after - before for before, after in zip(worth.own, worth.own[1:], strict=False)]
        assert sum(steps) == worth.own[-1]


def test_one_fact_said_twice_is_worth_nothing_alone_and_half_to_each_by_shapley(relay, relayers):
    twins = {"x_0": "left right", "y_0": "left right", "z_0": ""}
    alone, _ = measured(relay, relayers(**twins))
    shared, _ = measured(relay, relayers(**twins), **SHAPLEY)
    for agent in ("x_0", "y_0"):
        assert alone[agent, 0].own == (0, 0, 0)
        # Beside silence both words win 6; beside the other's, nothing: half of each.
        assert shared[agent, 0].own == shared[agent, 0].team == (0, 0, 6 / 2)


def test_equal_replays_are_played_once(relay, relayers):
    # Round 0: x, y and z as recorded, and without each: 4. Round 1: z without `right`, and silent.
    assert measured(relay, relayers())[1] == 4 + 2
