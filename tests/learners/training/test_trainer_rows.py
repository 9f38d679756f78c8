"""No token goes through the model twice, with the loss and the gradient of going one by one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import pytest
import torch
from updates import SGD, played

from laconic.learners.algorithms.actor_critic import ActorCriticLearner
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.training import logprobs
from laconic.learners.training.logprobs import current_logprobs
from laconic.learners.training.objective import LossInputs, Objective
from laconic.learners.training.sequences import collate
from laconic.learners.training.trainer import UpdateSettings

AGENTS = ("solver_0", "helper_0")


def conversation(draw: Random, agent: str, rounds: int) -> list[Turn]:
    """Return a long prompt, then short ones, with replies of 1 to 6 tokens."""

    def some(least: int, most: int) -> tuple[int, ...]:
        return tuple(draw.randrange(300) for _ in range(draw.randint(least, most)))

    turns = []
    for round in range(rounds):
        reply = some(1, 6)
        logprobs = tuple(-draw.random() - 3.0 for _ in reply)
        prompt = some(20, 40) if round == 0 else some(2, 8)
        turns.append(Turn(agent, round, "", prompt, reply, logprobs))
    return turns


def groups_of(rounds: int, groups: int = 2, members: int = 4) -> list[Group]:
    """Return a group of two agents with random rewards."""
    draw = Random(rounds)
    return [
        Group(
            f"t{index}",
            tuple(
                Episode(
                    f"t{index}",
                    tuple(turn for agent in AGENTS for turn in conversation(draw, agent, rounds)),
                    {agent: tuple(draw.random() for _ in range(rounds)) for agent in AGENTS},
                )
                for _ in range(members)
            ),
        )
        for index in range(groups)
    ]


def tokens_of(groups: list[Group]) -> int:
    """Tokens of all conversations."""
    return sum(
        len(turn.prompt_ids) + len(turn.reply_ids)
        for group in groups
        for episode in group.episodes
        for turn in episode.turns
    )


@contextmanager
def counting(module: torch.nn.Module) -> Iterator[list[tuple[int, int]]]:
    """Yield a list that gets the tokens and the padding of each pass."""
    records: list[tuple[int, int]] = []

    def count(_: object, arguments: object, keywords: dict[str, torch.Tensor]) -> None:
        mask = keywords["attention_mask"]
        records.append((int(mask.sum()), int((mask == 0).sum())))

    handle = module.register_forward_pre_hook(count, with_kwargs=True)
    try:
        yield records
    finally:
        handle.remove()


@pytest.mark.parametrize("rounds", [2, 4, 8, 16])
@pytest.mark.parametrize("unit", ["episode", "reply"])
def test_every_token_goes_through_the_model_once(make_policy, unit, rounds):
    policy, groups = make_policy(), groups_of(rounds)
    for again in (False, True):
        policy.recompute_logprobs = again
        learner = GroupLearner(dict.fromkeys(AGENTS, policy), SGD, unit=unit, microbatch_tokens=900)
        with counting(policy.model) as counter:
            metrics = learner.update(groups)
        assert metrics["steps"] == 4.0
        assert sum(tokens for tokens, _ in counter) == (1 + again) * tokens_of(groups)
        # Rows of like length share a pass.
        assert sum(padding for _, padding in counter) < 0.25 * tokens_of(groups)


def test_the_reference_reads_every_token_once(make_policy):
    policy, groups = make_policy(), groups_of(4)
    learner = GroupLearner(
        dict.fromkeys(AGENTS, policy), SGD, unit="reply", objective=Objective(beta=0.1)
    )
    (trainer,) = learner._trainers
    with counting(trainer._reference) as counter:
        learner.update(groups)
    assert sum(tokens for tokens, _ in counter) == tokens_of(groups)


@pytest.mark.parametrize("rounds", [2, 16])
def test_a_critic_reads_every_token_once_and_so_does_its_policy(make_policy, rounds):
    policy, groups = make_policy(), groups_of(rounds)
    learner = ActorCriticLearner(dict.fromkeys(AGENTS, policy), SGD)
    with counting(policy.model) as counter, counting(policy.model.base_model) as both:
        learner.update(groups)
    assert sum(tokens for tokens, _ in counter) == tokens_of(groups)
    assert sum(tokens for tokens, _ in both) == 2 * tokens_of(groups)


@pytest.mark.parametrize("objective", [Objective(), Objective("token", average="token")])
def test_loss_and_gradient_are_those_of_replies_one_by_one(make_policy, objective):
    policy, groups = make_policy(), groups_of(4, groups=1)
    learner = GroupLearner(dict.fromkeys(AGENTS, policy), SGD, unit="reply", objective=objective)
    sequences = learner.sequences(groups[0])
    counts = len(sequences), sum(sum(sequence.generated) for sequence in sequences)
    results = []
    for parts in ([sequences], [[sequence] for sequence in sequences]):
        policy.model.zero_grad()
        total = torch.zeros(())
        for part in parts:
            batch = collate(part, policy.pad_id)
            logprobs = current_logprobs(policy.model, batch)
            loss_inputs = LossInputs(
                logprobs,
                batch.behavior_logprobs,
                batch.generated_mask,
                batch.advantages,
                sequences=counts[0],
                tokens=counts[1],
            )
            total = total + objective(loss_inputs).loss
        total.backward()
        results.append([total, *(parameter.grad for parameter in policy.model.parameters())])
    for shared, alone in zip(*results, strict=True):
        torch.testing.assert_close(shared, alone, rtol=1e-5, atol=1e-6)


def test_minibatches_hold_whole_conversations_and_about_as_many_replies_each(make_policy):
    learner = GroupLearner(dict.fromkeys(AGENTS, make_policy()), SGD, unit="reply")
    sequences = [
        sequence for group in groups_of(3, groups=5) for sequence in learner.sequences(group)
    ]
    parts = UpdateSettings(minibatches=4).split(sequences, 0)
    whose = [{(each.task, each.agent, each.episode) for each in part} for part in parts]
    assert sum(map(len, whose)) == len(set.union(*whose)) == 40
    # 120 replies; three of a conversation are not torn apart
    assert [len(part) for part in parts] == [30, 30, 30, 30]
    parts = UpdateSettings(minibatches=7).split(sequences, 0)
    assert sum(map(len, parts)) == 120 and {len(part) for part in parts} <= {15, 18, 21}


def test_a_conversation_longer_than_a_minibatch_leaves_none_empty(make_policy):
    learner = GroupLearner({"solver_0": make_policy()}, SGD, unit="reply")
    sequences = learner.sequences(groups_of(8, groups=1, members=3)[0], ["solver_0"])
    assert [len(part) for part in UpdateSettings(minibatches=4).split(sequences, 0)] == [8, 8, 8]


@pytest.mark.parametrize("unit", ["episode", "reply"])
@pytest.mark.parametrize("chunk", [10**9, 900])
def test_the_first_ratio_is_one(make_policy, make_env, monkeypatch, unit, chunk):
    """From shared rows and from chunks of three tokens too."""
    monkeypatch.setattr(logprobs, "CHUNK", chunk)
    policy = make_policy(max_reply_tokens=6)
    policies = dict.fromkeys(make_env().possible_agents, policy)
    learner = GroupLearner(policies, SGD, unit=unit, minibatches=1)
    metrics = learner.update([played(policies, make_env)])
    assert metrics["approx_kl"] < 1e-8
    assert metrics["ratio_min"] == pytest.approx(1, abs=1e-5) == metrics["ratio_max"]
