"""Imitation is the cross entropy of demonstrations, with the parts of any other learner."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from laconic.learners.advantages.group import Key
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.agents.scripted import ScriptedTeam, Teacher
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.algorithms.imitation import Imitated
from laconic.learners.rollout.collectors.demonstrations import TeacherDemos
from laconic.learners.rollout.play import Start, play
from laconic.learners.training.objective import Objective
from laconic.learners.training.sequences import TokenSequence

WORDY = Teacher(terse=0.0, silent_informed=0.0, silent_uninformed=1.0, frames=1)


@pytest.fixture
def make_learner():
    """Makes a learner that imitates a wordy teacher."""

    def make(policies, rate=0.01, **settings) -> GroupLearner:
        return GroupLearner(
            policies,
            partial(torch.optim.SGD, lr=rate),
            advantages=Imitated(),
            objective=Objective("none", average="token"),
            minibatches=1,
            collect=TeacherDemos(WORDY, others=1.0),
            **settings,
        )

    return make


def by_hand(policy: HFPolicy, sequences: list[TokenSequence]) -> torch.Tensor:
    """Cross entropy of the generated tokens, one conversation at a time."""
    losses = []
    for sequence in sequences:
        logits = policy.model(input_ids=torch.tensor([sequence.token_ids])).logits[0, :-1]
        targets = torch.tensor(sequence.token_ids[1:])
        mask = torch.tensor(sequence.generated[1:])
        losses.append(
            torch.nn.functional.cross_entropy(logits[mask], targets[mask], reduction="none")
        )
    return torch.cat(losses).mean()


def test_every_return_has_the_advantage_one():
    keys = [Key("t", "a_0"), Key("t", "b_0")]
    assert Imitated()([3.0, -1.0], keys) == (1.0, 1.0)
    assert Imitated()([], []) == ()


def test_the_loss_and_the_step_are_those_of_the_cross_entropy_per_token(
    make_policy, make_env, make_learner
):
    policy, env = make_policy(), make_env(information="split")
    learner = make_learner(dict.fromkeys(env.possible_agents, policy), max_grad_norm=1e9)
    starts = [Start(0, "fruit"), Start(1, "birds")]
    groups = learner.collector([env], dict.fromkeys(env.possible_agents, policy), starts, 2, seed=0)
    sequences = [sequence for group in groups for sequence in learner.sequences(group)]
    assert len(sequences) == 16  # two tasks, played twice by four agents
    expected = by_hand(policy, sequences)
    gradients = torch.autograd.grad(expected, list(policy.model.parameters()))
    target = [
        parameter.detach() - 0.01 * its
        for parameter, its in zip(policy.model.parameters(), gradients, strict=True)
    ]
    metrics = learner.update(groups)
    assert metrics["loss"] == pytest.approx(expected.item(), rel=1e-5)
    for parameter, other in zip(policy.model.parameters(), target, strict=True):
        torch.testing.assert_close(parameter.detach(), other, rtol=1e-4, atol=1e-6)


def test_a_task_that_is_played_once_is_imitated_as_well(make_policy, make_env, make_learner):
    policy, env = make_policy(), make_env(information="split")
    team = dict.fromkeys(env.possible_agents, policy)
    learner = make_learner(team)
    learner.check(1)
    (group,) = learner.collector([env], team, [Start(0, "fruit")], 1, seed=0)
    sequences = learner.sequences(group)
    assert len(group.episodes) == 1 and len(sequences) == 4
    expected = by_hand(policy, list(sequences)).item()
    assert learner.update([group])["loss"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
def test_a_tiny_model_learns_one_demonstration_by_heart(make_policy, make_env):
    policy = make_policy(model={"scale": 4.0, "hidden_size": 32}, max_reply_tokens=80)
    env = make_env(information="split", team={"solver": 1, "helper": 1})
    team = dict.fromkeys(env.possible_agents, policy)
    learner = GroupLearner(
        team,
        partial(torch.optim.AdamW, lr=0.01),
        advantages=Imitated(),
        objective=Objective("none", average="token"),
        minibatches=1,
        collect=TeacherDemos(ScriptedTeacher(), others=1.0),
    )
    groups = learner.collector([env], team, [Start(0, "birds")], 2, seed=0)
    losses = [learner.update(groups)["loss"] for _ in range(100)]
    assert losses[0] > 4 and losses[-1] < 0.05
    (played,) = play([env], team, [Start(0, "birds")], seed=0, greedy=True)
    demonstration = groups[0].episodes[0]
    assert [turn.message for turn in played.turns] == [turn.message for turn in demonstration.turns]
    assert played.solved


class ScriptedTeacher:
    """Says the same whenever it is asked: all it knows, in the first of the wordings."""

    def __call__(self, task, request, generator):
        return Teacher(terse=0.0, silent_informed=0.0, silent_uninformed=0.0, frames=1)(
            task, request, FirstOfAll()
        )


class FirstOfAll:
    """Draws the first option, and numbers just above every fraction."""

    def choice(self, options):
        return options[0]

    def random(self):
        return 0.999


def test_the_team_of_scripts_is_not_what_is_trained(make_policy, make_env, make_learner):
    env = make_env(information="split", team={"solver": 1, "helper": 1})
    script = ScriptedTeam("oracle").policies(env)["helper_0"]
    policies = {"solver_0": make_policy(), "helper_0": script}
    learner = make_learner(policies)
    (group,) = learner.collector([env], policies, [Start(0, "fruit")], 2, seed=0)
    assert {sequence.agent for sequence in learner.sequences(group)} == {"solver_0"}
    # Scripts speak for themselves; the teacher for whoever learns.
    messages = {turn.agent: turn.message for turn in group.episodes[0].turns}
    assert "Hello team" not in messages["helper_0"]
