"""Trained policies of an update, requirements of a method, and resumed runs."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from updates import (
    ADAMW,
    SGD,
    UNIT_SGD,
    distance,
    equal,
    group_of,
    learner,
    weights,
)

from laconic.envs.errors import SettingError
from laconic.extras.methods.edges import Edge, Edges
from laconic.learners.advantages.group import Advantages
from laconic.learners.advantages.role_average import RoleAverage
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.agents.scripted import ScriptedPolicy
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.rollout.collectors.base import Extra, Independent, Wraps
from laconic.learners.training.objective import Objective

# Teams


def test_separate_policies_learn_from_their_own_agents_alone(make_policy):
    solver, helper = (make_policy(max_reply_tokens=8, model={"seed": n}) for n in (1, 2))
    speakers = {"solver_0": solver, "helper_0": helper, "helper_1": helper}
    before = {"solver": weights(solver), "helper": weights(helper)}
    # Only the solver's pay differs between episodes.
    group = group_of(speakers, [(1.0, 0.5, 0.5), (0.0, 0.5, 0.5)])
    metrics = learner(speakers, ADAMW, minibatches=2).update([group])
    assert metrics["steps"] == 4.0 and metrics["sequences"] == 6.0
    norms = {name: value for name, value in metrics.items() if name.startswith("grad_norm/")}
    assert set(norms) == {"grad_norm/solver_0", "grad_norm/helper_0+helper_1"}
    assert norms["grad_norm/solver_0"] == pytest.approx(2 * metrics["grad_norm"])
    assert norms["grad_norm/helper_0+helper_1"] == 0.0
    assert not equal(before["solver"], weights(solver))
    assert equal(before["helper"], weights(helper))


def test_a_policy_whose_agents_never_spoke_is_left_alone(make_policy):
    solver, helper = (make_policy(max_reply_tokens=8, model={"seed": n}) for n in (1, 2))
    before = weights(helper)
    spoke = group_of({"solver_0": solver}, [(1.0,), (0.0,)])
    both = learner({"solver_0": solver, "helper_0": helper}, ADAMW, minibatches=2)
    assert both.update([spoke])["steps"] == 2.0
    assert equal(before, weights(helper))


def test_an_agent_that_spoke_in_some_episodes_is_compared_within_them(policy, speakers, group):
    first, *others = group.episodes
    quiet = replace(first, turns=tuple(t for t in first.turns if t.agent == "solver_0"))
    metrics = learner(speakers, ADAMW).update([replace(group, episodes=(quiet, *others))])
    assert metrics["sequences"] == 7.0 and metrics["steps"] == 1.0


def test_shared_weights_have_one_optimiser_and_tied_ones_are_counted_once(make_policy):
    policy = make_policy("gpt2")
    trained = learner({"solver_0": policy, "helper_0": policy}, ADAMW)
    assert trained.state_dict()["updates"] == 0
    (trainer,) = trained.state_dict()["trainers"]
    assert len(trainer["optimizer"]["param_groups"][0]["params"]) == len(
        {id(parameter) for parameter in policy.model.parameters()}
    )


def test_frozen_weights_stay(policy, speakers, group):
    for name, parameter in policy.model.named_parameters():
        parameter.requires_grad_("mlp" in name)
    before = weights(policy)
    learner(speakers, ADAMW).update([group])
    changed = {name for name, tensor in weights(policy).items() if not tensor.equal(before[name])}
    assert changed and all("mlp" in name for name in changed)


def test_a_team_without_anybody_to_train_is_refused(policy):
    scripted = ScriptedPolicy(lambda task, request, generator: "", {})
    policy.model.requires_grad_(False)
    with pytest.raises(SettingError, match="solver_0: frozen, helper_0: ScriptedPolicy"):
        GroupLearner({"solver_0": policy, "helper_0": scripted}, SGD)


def test_edges_learn_beside_weights_and_alone(policy, speakers, group):
    edge = Edge(0, "helper_0", "solver_0")

    def with_edge(**settings):
        """Return edges of which one is learned, and the group as it was played with this edge."""
        edges = Edges(**settings)
        edges.edges, edges.logits = (edge,), np.zeros(1)
        graph = ({"solver_0": ("helper_0",)},)
        played = (replace(each, topology=graph) for each in group.episodes)
        return edges, replace(group, episodes=tuple(played))

    edges, played = with_edge()
    trained = learner(speakers, ADAMW, topology=edges)
    without = GroupLearner(speakers, ADAMW).update([group])
    metrics = trained.update([played])
    assert set(metrics) - set(without) == {"edges", "edge_training_tokens"}
    assert trained.collector.edges is edges and edges.updates_taken == 1
    state = trained.state_dict()
    assert state["topology"]["edges"] == [list(edge)]
    policy.model.requires_grad_(False)
    edges, played = with_edge(updates=1)
    alone = GroupLearner(speakers, SGD, topology=edges)
    alone.check(2)
    assert set(alone.update([played])) == {"edges", "edge_training_tokens"}
    again, _ = with_edge()
    resumed = GroupLearner(speakers, SGD, topology=again)
    resumed.load_state_dict(alone.state_dict())
    assert again.updates_taken == 1 and again.logits == edges.logits


class Counted(Independent):
    """A collector that learns how many groups there were."""

    learns = True

    def bind(self, learner, rank, count):
        self.bound = (learner.price, rank, count)

    def learn(self, groups):
        return {"counted": float(len(groups))}


class Counting(Wraps):
    def around(self, collector):
        return Counted(collector)


def test_a_collector_of_ones_own_knows_its_learner_and_learns_beside_it(speakers, group):
    trained = learner(speakers, ADAMW, topology=Counting())
    assert trained.collector.bound == (trained.price, 0, 1)
    assert trained.update([group])["counted"] == 1.0


def test_with_the_unit_reply_every_reply_is_a_sequence(policy, speakers, group):
    trained = learner(
        speakers, ADAMW, unit="reply", advantages=Advantages(("task", "agent", "round"))
    )
    metrics = trained.update([group])
    assert metrics["sequences"] == 16.0  # four episodes of two agents and two rounds
    assert metrics["clip_fraction"] == 0.0
    assert metrics["ratio_max"] == pytest.approx(1.0, abs=1e-5)


# What a method asks for


def test_separate_policies_are_asked_for_by_saying_what_to_change(make_policy, policy, speakers):
    with pytest.raises(SettingError, match="solver_0, helper_0 share theirs; set agent.sharing"):
        learner(speakers, sharing="separate")
    with pytest.raises(SettingError, match="single agent 'solver_0'. Add agents to env.team"):
        learner({"solver_0": policy}, sharing="separate")
    learner({"solver_0": policy, "helper_0": make_policy()}, sharing="separate")
    learner(speakers, sharing="shared")


def test_a_median_needs_an_odd_group_counting_what_the_collector_adds(speakers):
    median = Advantages(center="median")
    learner(speakers, advantages=median).check(3)
    learner(speakers, advantages=median, collect=Extra()).check(4)
    learner(speakers).check(4)
    for settings, size in (({}, 4), ({"collect": Extra()}, 3)):
        with pytest.raises(SettingError, match="got 4 episodes. Change train.group_size by one"):
            learner(speakers, advantages=median, **settings).check(size)


def test_a_role_average_moves_once_an_update_and_survives_a_reload(speakers, group):
    advantages = RoleAverage(decay=0.5)
    trained = learner(speakers, advantages=advantages)
    trained.update([group])
    # Solver 1, 0, 0.5, 0: 0.5, 0.25, 0.375, 0.1875. Helper 0.5, 0, -1, 0.25: 0.25, 0.125,
    # -0.4375, -0.09375.
    expected = {"solver": 0.1875, "helper": -0.09375}
    assert trained.state_dict()["advantages"] == {"averages": expected}
    again = learner(speakers, advantages=RoleAverage(decay=0.5))
    again.load_state_dict(trained.state_dict())
    assert again.sequences(group) == trained.sequences(group)
    assert trained.sequences(group)[0].advantage == 1.0 - 0.1875


def test_whitened_advantages_are_those_of_the_whole_update(policy):
    alone = {"solver_0": policy}
    flat = Advantages(center="none", scale="none")
    trained = learner(alone, UNIT_SGD, advantages=flat, whiten=True)
    before = weights(policy)
    # Equal pay for everybody, in however many groups, is nothing to learn from.
    metrics = trained.update([group_of(alone, [(1.0,), (1.0,)]), group_of(alone, [(1.0,)] * 3)])
    assert metrics["grad_norm"] == 0.0 and equal(before, weights(policy))
    metrics = trained.update([group_of(alone, [(1.0,), (1.0,)]), group_of(alone, [(0.0,)] * 3)])
    assert metrics["grad_norm"] > 0.0


# Going on


@pytest.mark.parametrize("kl", [0.0, 0.1])
def test_a_loaded_state_goes_on_bit_for_bit(make_policy, kl):
    def built() -> tuple[dict[str, HFPolicy], GroupLearner]:
        policy, other = (make_policy(max_reply_tokens=8, model={"seed": n}) for n in (1, 2))
        team = {"solver_0": policy, "helper_0": other}
        return team, learner(team, ADAMW, minibatches=2, objective=Objective(beta=kl))

    team, trained = built()
    group = group_of(team, [(1.0, 0.5), (0.0, 0.0), (0.5, -1.0)])
    trained.update([group])
    state = copy.deepcopy(trained.state_dict())
    expected = trained.update([group])
    fresh, loaded = built()
    loaded.load_state_dict(state)
    assert loaded.update([group]) == expected
    for agent in team:
        assert equal(weights(team[agent]), weights(fresh[agent]))


@pytest.mark.parametrize(
    "settings",
    [
        {"minibatches": 0},
        {"minibatches": True},
        {"minibatches": 1.5},
        {"microbatch_tokens": 0},
        {"max_grad_norm": 0.0},
        {"max_grad_norm": float("nan")},
    ],
)
def test_settings_out_of_range_are_refused(speakers, settings):
    with pytest.raises(SettingError, match=f"learner.{next(iter(settings))}"):
        learner(speakers, **settings)


def test_rounds_are_compared_only_where_replies_are_sequences(speakers):
    with pytest.raises(SettingError, match="unit"):
        learner(speakers, advantages=Advantages(("task", "agent", "round")))


def test_the_learning_rate_falls_on_a_straight_line_and_survives_a_reload(speakers, group):
    # Plain gradient descent at rate r(u) = r(0) * (1 - u/2): the first update moves, the third
    # (u = 2) does not.
    deciding = learner(speakers, UNIT_SGD, minibatches=1, decay_updates=2)
    policy = next(iter(speakers.values()))
    for _ in range(2):
        deciding.update([group])
    again = learner(speakers, UNIT_SGD, minibatches=1, decay_updates=2)
    again.load_state_dict(deciding.state_dict())
    for each in (deciding, again):
        before = weights(policy)
        each.update([group])
        assert equal(before, policy.model.state_dict())
        each.load_state_dict({**each.state_dict(), "updates": 0})
        each.update([group])
        assert distance(before, policy) > 0


def test_episodes_of_others_do_not_scale_an_update(speakers):
    trained = learner(speakers, SGD, advantages=Advantages(scale="std", scale_over="batch"))
    agents = len(speakers)
    own = group_of(speakers, [(2.0,) * agents, (0.0,) * agents])
    foreign = replace(group_of(speakers, [(90.0,) * agents, (-90.0,) * agents]), own=False)
    trained.update([own, foreign])
    (first, _) = trained.compared[0]
    alone = learner(speakers, SGD, advantages=Advantages(scale="std", scale_over="batch"))
    alone.update([own])
    (same,) = alone.compared[0]
    assert [each.advantage for each in first] == [each.advantage for each in same]
    assert {round(abs(each.advantage), 1) for each in first} == {0.9}
