"""Learned edges: drawn graphs, the gradient by hand, pruning, and the star into the solver."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from laconic import envs
from laconic.envs.errors import SettingError
from laconic.extras.methods.candidates import Alternatives
from laconic.extras.methods.edges import Edge, Edges, edges_of
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.rollout.collectors.base import Extra, Independent, as_collector
from laconic.learners.rollout.collectors.contrast import DynamicSampling
from laconic.learners.rollout.play import Start, collect

HELPERS = ("helper_0", "helper_1", "helper_2")
STAR = ({"solver_0": HELPERS},)


def made(**settings):
    """Return an environment of one solver and three helpers, who hear each other."""
    settings = {"topology": "complete", "tasks": 256, "information": "split", **settings}
    return envs.make(
        "gsm8k",
        free=True,
        team={"solver": 1, "helper": 3},
        schedule=["helper", "solver"],
        generator={"level": 1, "distractors": 1, "seed": 0},
        **settings,
    )


def edges(**settings) -> Edges:
    """Return edges from a and from b to c, in the first of two rounds."""
    made = Edges(**settings)
    made.edges = (Edge(0, "a", "c"), Edge(0, "b", "c"))
    made.logits = np.zeros(2)
    return made


def group(*episodes, task="t"):
    """Return a group of episodes of a task."""
    return Group(task, tuple(replace(each, task=task) for each in episodes))


def episode(task_reward, hears, **said):
    """Return an episode in which agents said these numbers of tokens in the first round."""
    turns = tuple(Turn(agent, 0, "x" * count, tokens_said=count) for agent, count in said.items())
    return Episode(
        "task",
        turns,
        # The environment charged 5 for words; edges do not pay for those.
        rewards={"c": (0.0, task_reward - 5.0)},
        task_rewards={"c": (0.0, task_reward)},
        bills={"c": (0.0, 5.0)},
        common=True,
        topology=({"c": hears},),
        tokens_said={"a": 4, "b": 2},
        tokens_read={"c": 7},
        tokens_thought={"a": 1},
    )


BOTH, ONE, NONE = ("a", "b"), ("a",), ()


def test_the_gradient_worked_out_by_hand():
    learned = edges(rate=0.05)
    # R: 1 - 0.05 (4 + 2) = 0.7; 1 - 0.05 x 4 = 0.8; 0. Means of the others: 0.4, 0.35, 0.75.
    groups = [
        group(episode(1.0, BOTH, a=4, b=2), task="t_1"),
        group(episode(1.0, ONE, a=4, b=2), task="t_2"),
        group(episode(0.0, NONE, a=4, b=2), task="t_3"),
    ]
    # a: (0.3 x 0.5 + 0.45 x 0.5 + -0.75 x -0.5) / 3; b: (0.3 x 0.5 - 0.45 x 0.5 + 0.75 x 0.5) / 3.
    assert learned.gradient(groups) == pytest.approx([0.75 / 3, 0.3 / 3])
    learned.update(groups)
    assert learned.logits == pytest.approx([0.25, 0.1])
    # Now p = 0.5622 and 0.5250.
    assert learned.gradient(groups)[0] == pytest.approx(
        (0.3 * 0.43782 + 0.45 * 0.43782 + 0.75 * 0.56218) / 3, abs=1e-5
    )


def test_groups_of_one_task_are_no_baseline_for_each_other():
    learned = edges(rate=0.0)
    groups = [group(episode(1.0, ONE, a=4)), group(episode(1.0, ONE, a=4))]
    # Both were played under one graph. The baseline is 0, so a: (0.5 + 0.5) / 2.
    assert learned.gradient(groups) == pytest.approx([0.5, 0.0])
    # With a failure in another task, it is 0 for both, and 1 for the third: (0.5 + 0.5 + 0.5) / 3.
    groups.append(group(episode(0.0, NONE, a=4), task="other"))
    assert learned.gradient(groups) == pytest.approx([0.5, 0.0])


def test_an_edge_from_a_silent_speaker_learns_nothing():
    learned = edges(rate=0.05)
    groups = [
        group(episode(1.0, BOTH, a=4), episode(1.0, BOTH, a=4, b=2), task="t_1"),
        group(episode(0.0, BOTH, a=4, b=0), task="t_2"),
    ]
    # R: 0.8 and 0.7, 0 - 0.2. The baselines are -0.2 and 0.75. b spoke in the second episode alone.
    first, second = (1.0 + 0.9) / 2 * 0.5, -0.95 * 0.5
    assert learned.gradient(groups) == pytest.approx([(first + second) / 2, 0.9 * 0.5 / 2 / 2])


def test_edges_above_one_half_stay_and_the_others_are_pruned_for_good():
    learned = edges(updates=2)
    # b never speaks: its probability stays 1/2, and that is not enough.
    groups = [
        group(episode(1.0, BOTH, a=4), episode(1.0, BOTH, a=4), task="t_1"),
        group(episode(0.0, NONE, a=4), task="t_2"),
    ]
    assert learned.graph == ()
    metrics = learned.update(groups)
    # Three episodes of 6 tokens said, 7 read and 1 thought.
    assert metrics == {"edges": 1.0, "edge_training_tokens": 3 * 14.0} and learned.graph == ()
    assert learned.update(groups)["edge_training_tokens"] == 6 * 14.0
    assert learned.graph == ({"c": ("a",)},) and learned.probabilities[1] == 0.5
    before = learned.logits.copy()
    assert learned.update(groups)["edge_training_tokens"] == 6 * 14.0
    assert (learned.logits == before).all() and learned.updates_taken == 2


def test_groups_of_other_runs_and_without_a_drawn_graph_are_left_out():
    learned = edges()
    own = episode(1.0, BOTH, a=4)
    foreign = Group("task", (own,), own=False)
    fixed = Group("task", (replace(own, topology=()),))
    assert learned.update([foreign, fixed]) == {"edges": 0.0, "edge_training_tokens": 0.0}
    assert learned.updates_taken == 0


def test_each_edge_is_drawn_with_its_probability_and_by_the_seed():
    environment, learned = made(), Edges()
    learned.draw(environment, 1, np.random.default_rng(0))
    # Twelve directed edges of four agents, in the first round alone.
    assert len(learned.edges) == 12 and {edge.round for edge in learned.edges} == {0}
    learned.logits = np.linspace(-2, 2, 12)
    graphs = learned.draw(environment, 2000, np.random.default_rng(1))
    assert graphs == learned.draw(environment, 2000, np.random.default_rng(1))
    for edge, probability in zip(learned.edges, learned.probabilities, strict=True):
        drawn = np.mean([edge.speaker in graph[0].get(edge.listener, ()) for graph in graphs])
        # Four standard errors.
        assert abs(drawn - probability) < 4 * np.sqrt(probability * (1 - probability) / 2000)


def test_edges_are_those_of_the_topology_in_all_rounds_but_the_last():
    environment = made(topology=["star", "none", {"helper_1": ["helper_0"]}], rounds=5)
    star = [Edge(0, speaker, "solver_0") for speaker in HELPERS]
    star += [Edge(0, "solver_0", listener) for listener in HELPERS]
    again = [edge._replace(round=3) for edge in star]
    assert edges_of(environment) == (*star, Edge(2, "helper_0", "helper_1"), *again)
    # A round without edges keeps its place, or the next round would begin the cycle again.
    (graph,) = Edges().draw(made(topology=["star", "none"], rounds=3), 1, np.random.default_rng(0))
    assert len(graph) == 2 and graph[0] and not graph[1]


def test_a_group_is_played_under_one_graph_and_agents_hear_along_it():
    environments = [made() for _ in range(6)]
    policies = ScriptedTeam("verbose").policies(environments[0])
    learned = Edges()
    collector = learned.around(as_collector(collect))
    keys = [*environments[0].tasks][:3]
    starts = [Start(seed, key) for seed, key in enumerate(keys)]
    groups = collector(environments, policies, starts, 2, seed=0)
    graphs = [group.episodes[0].topology for group in groups]
    assert len({str(graph) for graph in graphs}) == 3
    for group, graph in zip(groups, graphs, strict=True):
        assert [each.topology for each in group.episodes] == [graph, graph]
        for each in group.episodes:
            answer = next(turn for turn in each.turns if turn.agent == "solver_0")
            named = tuple(name for name in HELPERS if f"{name}: " in answer.read)
            assert named == graph[0].get("solver_0", ())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_on_split_arithmetic_the_star_into_the_solver_is_learned(seed):
    environments = [made() for _ in range(64)]
    # The oracle tells what matters, and answers if it knows all that matters.
    policies = ScriptedTeam("oracle").policies(environments[0])
    learned = Edges(updates=40)
    collector = learned.around(Independent())
    keys, generator = [*environments[0].tasks], np.random.default_rng(seed)
    for step in range(40):
        starts = [
            Start(int(generator.integers(2**31)), keys[place])
            for place in generator.integers(len(keys), size=64)
        ]
        groups = collector(environments, policies, starts, 1, seed=100 * seed + step)
        metrics = learned.update(groups)
    assert learned.graph == collector.graph == STAR and metrics["edges"] == 3
    played = collector(environments, policies, starts, 1, seed=7)
    assert all(group.episodes[0].solved for group in played)


def test_the_collector_keeps_the_other_ones_attributes():
    collector = Edges().around(Extra(episodes=2))
    assert collector.members(4) == 6 and collector.state_dict() == {}
    assert collector.kind == "learner/topology=edges"
    alternatives = Edges().around(Alternatives())
    assert (alternatives.credit, alternatives.unit) == ("team", "reply")


def test_a_state_continues_the_learning():
    learned, restored = edges(), Edges()
    learned.update([Group("task", (episode(1.0, BOTH, a=4),))])
    restored.load_state_dict(learned.state_dict())
    assert restored.edges == learned.edges and (restored.logits == learned.logits).all()
    assert (restored.updates_taken, restored.tokens) == (1, 14)


def test_what_has_no_edges_to_learn_is_refused():
    generator = np.random.default_rng(0)
    with pytest.raises(SettingError, match="links made by replies"):
        Edges().draw(made(topology={"kind": "by_reply"}), 1, generator)
    with pytest.raises(SettingError, match=r"got env\.rounds=1"):
        Edges().draw(envs.make("gsm8k", free=True, tasks=2, rounds=1), 1, generator)
    with pytest.raises(SettingError, match="got object"):
        Edges().draw(object(), 1, generator)
    learned = Edges()
    learned.draw(made(), 1, generator)
    with pytest.raises(SettingError, match="has learned 12 edges"):
        learned.draw(made(topology="star"), 1, generator)


def test_a_collector_that_plays_other_starts_is_refused():
    with pytest.raises(SettingError, match="learner/collect=contrast plays further groups"):
        Edges().around(DynamicSampling())

    def elsewhere(environments, policies, starts, group_size, *, seed):
        starts = [Start(start.seed, start.task) for start in starts]
        return collect(environments, policies, starts, group_size, seed=seed)

    environments = [made()]
    policies = ScriptedTeam("silent").policies(environments[0])
    starts = [Start(0, next(iter(environments[0].tasks)))]
    with pytest.raises(SettingError, match="plays the starts that it is given"):
        Edges().around(Independent(elsewhere))(environments, policies, starts, 1, seed=0)


@pytest.mark.parametrize(
    ("settings", "key"),
    [({"rate": -1}, "rate"), ({"learning_rate": 0}, "learning_rate"), ({"updates": 0}, "updates")],
)
def test_settings_out_of_range_are_refused(settings, key):
    with pytest.raises(SettingError, match=rf"learner\.topology\.{key}"):
        Edges(**settings)
