from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import torch

from laconic.envs.dialogue.reward import Reward
from laconic.envs.errors import SettingError
from laconic.extras.swarm.exchange import Exchange, share
from laconic.extras.swarm.swarm import Swarm, has_contrast
from laconic.learners.advantages.credit import own
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.rollout.play import Start, collect

SGD = partial(torch.optim.SGD, lr=0.1)
STARTS = [Start(1, "fruit"), Start(2, "birds"), Start(3, "fruit"), Start(4, "unknown")]


@pytest.fixture
def environments(make_env):
    """Make four environments of one round, with a price on characters that tells episodes apart."""
    team, reward = {"solver": 1, "helper": 1}, Reward(price=0.5)
    return [make_env(team=team, rounds=1, reward=reward, tokenize=list) for _ in range(4)]


@pytest.fixture
def make_team(make_writer):
    """Make the policies of a team, which share weights."""

    def make(seed=0):
        policy = make_writer(max_reply_tokens=5, model={"seed": seed, "num_hidden_layers": 2})
        return dict.fromkeys(("solver_0", "helper_0"), policy)

    return make


@pytest.fixture
def node(tmp_path):
    """Make a node of one swarm."""

    def make(name="ann", **settings):
        return Swarm(str(tmp_path / "swarm"), name, **settings)

    return make


def files(node):
    return sorted(path.name for path in (node._exchange.folder / node.name).glob("*"))


@pytest.mark.parametrize(
    "shares",
    [pytest.param((8, 0), id="alone", marks=pytest.mark.slow), pytest.param((4, 4), id="empty")],
)
def test_without_others_it_is_plain_collection_bit_for_bit(node, environments, make_team, shares):
    bob = node(own=shares[0], foreign=shares[1])
    if not shares[1]:
        # With others about, too, a node of 8 and 0 takes nothing.
        node("bob")(environments, make_team(1), STARTS, 2, seed=6)
    groups = bob(environments, make_team(), STARTS, 2, seed=5)
    assert groups == collect(environments, make_team(), STARTS, 2, seed=5)
    assert bob.metrics["own_groups"] == 4.0 and bob.metrics["foreign_groups"] == 0.0


def test_two_nodes_learn_from_each_other(node, environments, make_team):
    ann, bob = node("ann"), node("bob")
    policies = {"ann": make_team(1), "bob": make_team(2)}
    learners = {
        each.name: GroupLearner(policies[each.name], SGD, collect=each, minibatches=1)
        for each in (ann, bob)
    }
    rows = []
    for step in (1, 2):
        for this in (ann, bob):
            mine, learner = policies[this.name], learners[this.name]
            groups = learner.collector(environments, mine, STARTS, 2, seed=step)
            assert len(groups) == 4
            keys = [group.task for group in groups]
            other = "bob/" if this is ann else "ann/"
            foreign = [key.startswith(other) for key in keys]
            # The first to play finds nobody, and from then on half is the other's.
            assert foreign == ([False] * 4 if not rows else [False, False, True, True])
            assert [not group.own for group in groups] == foreign
            rows.append(learner.update(groups))
    assert [row["foreign_groups"] for row in rows] == [0.0, 2.0, 2.0, 2.0]
    assert [row["own_groups"] for row in rows] == [4.0, 2.0, 2.0, 2.0]
    assert [row["published_groups"] for row in rows] == [4.0, 2.0, 2.0, 2.0]
    for row in rows:
        assert row["sequences"] == 16.0 and row["steps"] == 1.0 and row["skipped_steps"] == 0.0
        # Nobody has moved since the replies were drawn or measured.
        assert row["ratio_min"] == pytest.approx(1.0, abs=1e-5)
        assert row["ratio_max"] == pytest.approx(1.0, abs=1e-5)


def test_every_group_is_taken_once_and_a_resumed_run_remembers(node, environments, make_team):
    node("ann")(environments, make_team(1), STARTS, 2, seed=1)
    bob = node("bob")
    batches = []
    for seed in (1, 2, 3):
        groups = bob(environments, make_team(2), STARTS, 2, seed=seed)
        batches.append([group.episodes for group in groups if group.task.startswith("ann/")])
    # Ann shared four, and two are wanted a step.
    assert [len(each) for each in batches] == [2, 2, 0]
    assert all(episodes not in batches[1] for episodes in batches[0])
    learner = GroupLearner(make_team(2), SGD, collect=bob)
    again = GroupLearner(make_team(2), SGD, collect=node("bob"))
    again.load_state_dict(learner.state_dict())
    groups = again.collector(environments, make_team(2), STARTS, 2, seed=4)
    assert again.collector.metrics["foreign_groups"] == 0.0
    assert len(groups) == 4


def test_the_draw_is_a_function_of_seed_and_folder(node, environments, make_team):
    node("ann")(environments, make_team(1), STARTS, 2, seed=1)
    first, same, other = (
        node("bob")(environments, make_team(2), STARTS, 2, seed=seed) for seed in (9, 9, 10)
    )
    assert first == same
    assert [group.task for group in first[:2]] == [group.task for group in other[:2]]
    assert first[2:] != other[2:]


def test_only_the_newest_files_are_drawn_from(node, environments, make_team):
    node("ann")(environments, make_team(1), STARTS, 2, seed=1)
    bob = node("bob", newest=1)
    bob(environments, make_team(2), STARTS, 2, seed=1)
    assert bob.metrics["foreign_groups"] == 1.0 and bob.metrics["own_groups"] == 3.0


def test_groups_that_teach_nothing_are_neither_shared_nor_taken(
    node, environments, make_team, tmp_path
):
    silent = ScriptedTeam("silent").policies(environments[0])
    ann = node("ann")
    groups = ann(environments, silent, STARTS, 2, seed=1)
    assert ann.metrics["published_groups"] == 0.0 and files(ann) == []
    # Shared by somebody who thinks otherwise.
    shared = share("sums", groups[0], environments[0].tasks["fruit"], 1)
    Exchange(tmp_path / "swarm", "carl").publish(shared, "1")
    bob = node("bob")
    assert len(bob(environments, make_team(), STARTS, 2, seed=1)) == 4
    assert bob.metrics["level_groups"] == 1.0 and bob.metrics["foreign_groups"] == 0.0


def test_contrast_is_judged_by_local_rewards(node, environments, make_team):
    node("ann")(environments, make_team(1), STARTS, 2, seed=2)
    for environment in environments:
        # Nobody is right, so without a price all earn the same.
        environment.reward = Reward(price=0.0)
    bob = node("bob")
    bob(environments, make_team(2), STARTS, 2, seed=2)
    assert bob.metrics["level_groups"] == 4.0 and bob.metrics["published_groups"] == 0.0


def test_damaged_and_unfit_files_are_counted_and_passed_over(node, environments, make_team):
    ann, bob = node("ann"), node("bob")
    ann(environments, make_team(1), STARTS, 2, seed=1)
    folder = ann._exchange.folder / "ann"
    first, second, *_ = sorted(folder.glob("*.json"))
    whole = first.read_text()
    first.write_text(whole[:-20])
    second.write_text(second.read_text().replace("helper_0", "critic_0"))
    assert len(bob(environments, make_team(2), STARTS, 2, seed=1)) == 4
    bob(environments, make_team(2), STARTS, 2, seed=2)
    # Over both steps all files are looked at, the damaged one until it is whole.
    assert bob.metrics["damaged_files"] == 1.0
    first.write_text(whole)
    bob(environments, make_team(2), STARTS, 2, seed=3)
    assert bob.metrics["damaged_files"] == 0.0 and bob.metrics["foreign_groups"] == 1.0
    assert len(bob.state_dict()["seen"]) == 4


def test_a_team_of_another_shape_takes_nothing(node, environments, make_env, make_team):
    node("ann")(environments, make_team(1), STARTS, 2, seed=1)
    alone = [make_env(team={"solver": 1}, rounds=1, reward=Reward(price=0.5)) for _ in range(4)]
    bob = node("bob")
    groups = bob(alone, make_team(2), STARTS, 2, seed=1)
    assert bob.metrics["unfit_groups"] == 4.0
    assert groups == collect(alone, make_team(2), STARTS, 2, seed=1)


def test_a_repeated_step_replaces_its_own_files(node, environments, make_team):
    ann = node("ann")
    for _ in range(2):
        ann(environments, make_team(), STARTS, 2, seed=5)
    assert files(ann) == ["5-0.json", "5-1.json", "5-2.json", "5-3.json"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"own": 0}, r"learner\.collect\.own must be a whole number of at least 1; got 0"),
        ({"foreign": -1}, r"learner\.collect\.foreign .* at least 0; got -1"),
        ({"newest": 0}, r"learner\.collect\.newest"),
        ({"microbatch_tokens": 0}, r"learner\.collect\.microbatch_tokens"),
        ({"credit": "silence"}, "choose learner.credit=own, team or outcome, got 'silence'"),
        ({"credit": "luck"}, "unknown learner.credit 'luck'"),
        ({"name": "a/b"}, r"collect\.name"),
    ],
)
def test_settings_out_of_range_are_refused(node, settings, message):
    with pytest.raises(ValueError, match=message):
        node(**settings)


def test_incompatible_settings_are_refused_with_advice(node, environments, make_team):
    with pytest.raises(SettingError, match="works with learner.credit=own"):
        GroupLearner(make_team(), SGD, collect=node(), credit="team")
    policies = make_team()
    policies["solver_0"].recompute_logprobs = True
    with pytest.raises(SettingError, match=r"learner\.collect\.correct=true needs"):
        node(correct=True)(environments, policies, STARTS, 2, seed=1)
    with pytest.raises(SettingError, match="object has no such mapping"):
        node()([object()], {}, [replace(STARTS[0], task=None)], 2, seed=1)


def test_the_contrast_of_a_group_pays_for_its_words():
    # Both fail, so X is -.1 and -.2, and where words are free 0 and 0.
    def failed(cost: float) -> Episode:
        return Episode(
            "t",
            (Turn("x_0", 0, "hm", (5,), (6, 7), (-0.5, -0.5)),),
            {"x_0": (-cost,)},
            solved=False,
            task_rewards={"x_0": (0.0,)},
            bills={"x_0": (cost,)},
            common=True,
        )

    assert has_contrast(Group("t", (failed(0.1), failed(0.2))), own)
    assert not has_contrast(Group("t", (failed(0.0), failed(0.0))), own)
