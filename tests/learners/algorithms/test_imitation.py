"""Imitation: demonstrations have the form of a rollout, and their likelihood is what is raised."""

from __future__ import annotations

import pytest
import torch

from laconic.envs.dialogue.budget import Budget
from laconic.learners.agents.base import Policy, Reply, Request
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.algorithms.imitation import Demonstrator, demonstrations, imitation_loss
from laconic.learners.episode import Episode
from laconic.learners.rollout.play import Start, play
from laconic.learners.training.sequences import TokenSequence


@pytest.fixture
def policy(make_policy) -> HFPolicy:
    return make_policy()


@pytest.fixture
def episodes(policy, make_env) -> list[Episode]:
    """An oracle team solves two tasks, written down in the policy's tokens."""
    env = make_env(information="split")
    speaker = ScriptedTeam("oracle").policies(env)["solver_0"]
    team = dict.fromkeys(env.possible_agents, Demonstrator(speaker, policy))
    return play([env], team, [Start(0, "fruit"), Start(1, "birds")], seed=0)


def test_a_demonstrator_is_a_policy_that_says_what_its_speaker_says(policy):
    class Speaker:
        def reply(self, requests, *, seed, greedy):
            return [Reply(f"{request.text} {seed} {greedy}") for request in requests]

    demonstrator = Demonstrator(Speaker(), policy)
    assert isinstance(demonstrator, Policy)
    request = Request("a_0", "Hello")
    (reply,) = demonstrator.reply([request], seed=3, greedy=True)
    assert reply.message == "Hello 3 True"
    assert reply.prompt_ids == policy.read(request)
    assert reply.reply_ids == policy.write("Hello 3 True")
    assert reply.behaviour_logprobs == (0.0,) * len(reply.reply_ids)


def test_what_is_demonstrated_reads_back_as_what_was_said(policy, episodes):
    for episode in episodes:
        assert episode.solved
        for turn in episode.turns:
            assert policy.message(turn.reply_ids) == turn.message


def test_demonstrations_have_the_very_form_of_a_rollout(policy, make_env, episodes):
    """The policy itself, made to say the same, reads the same tokens and is given the same."""
    env = make_env(information="split")
    said = {(turn.agent, turn.round): turn.message for turn in episodes[0].turns}

    class Parrot(HFPolicy):
        def reply(self, requests, *, seed, greedy):
            replies = []
            for request in requests:
                message = said[request.agent, len(request.history)]
                ids = self.write(message)
                replies.append(Reply(message, self.read(request), ids, (0.0,) * len(ids)))
            return replies

    parrot = Parrot(policy.model, policy.tokenizer, policy.speech)
    team = dict.fromkeys(env.possible_agents, parrot)
    (played,) = play([env], team, [Start(0, "fruit")], seed=9)
    assert demonstrations([played]) == demonstrations(episodes[:1])


def test_every_conversation_is_demonstrated_with_advantage_one(episodes):
    sequences = demonstrations(episodes)
    assert len(sequences) == 8  # two episodes of four agents
    assert {sequence.advantage for sequence in sequences} == {1.0}
    assert [sequence.episode for sequence in sequences] == [0] * 4 + [1] * 4
    assert all(sequence.round is None for sequence in sequences)
    assert demonstrations([]) == []


def test_silence_is_demonstrated_with_the_silence_word(policy, episodes):
    silence = policy.write("")
    silent = [turn for episode in episodes for turn in episode.turns if not turn.message]
    assert silent
    assert all(turn.reply_ids == silence for turn in silent)


def by_hand(policy: HFPolicy, sequences: list[TokenSequence]) -> torch.Tensor:
    """Cross entropy of the generated tokens, one conversation at a time."""
    losses = []
    for sequence in sequences:
        logits = policy.model(input_ids=torch.tensor([sequence.token_ids])).logits[0, :-1]
        targets = torch.tensor(sequence.token_ids[1:])
        kept = torch.tensor(sequence.generated[1:])
        losses.append(
            torch.nn.functional.cross_entropy(logits[kept], targets[kept], reduction="none")
        )
    return torch.cat(losses).mean()


def test_the_loss_is_the_cross_entropy_per_token(policy, episodes):
    sequences = demonstrations(episodes)
    loss, expected = imitation_loss(policy, sequences), by_hand(policy, sequences)
    torch.testing.assert_close(loss, expected, rtol=1e-5, atol=1e-6)
    parameters = list(policy.model.parameters())
    mine = torch.autograd.grad(loss, parameters)
    its = torch.autograd.grad(expected, parameters)
    for one, other in zip(mine, its, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_the_sampling_temperature_has_no_part_in_it(make_policy, episodes):
    sequences = demonstrations(episodes)
    losses = {
        float(imitation_loss(make_policy(temperature=temperature), sequences).detach())
        for temperature in (0.3, 1.0)
    }
    assert len(losses) == 1


def test_a_tiny_model_learns_one_demonstration_by_heart(make_policy, make_env):
    policy = make_policy(model={"scale": 4.0, "hidden_size": 32}, max_reply_tokens=80)
    env = make_env(information="split", team={"solver": 1, "helper": 1})
    speaker = ScriptedTeam("verbose").policies(env)["solver_0"]
    team = dict.fromkeys(env.possible_agents, Demonstrator(speaker, policy))
    shown = play([env], team, [Start(0, "birds")], seed=0)
    sequences = demonstrations(shown)
    optimizer = torch.optim.AdamW(policy.model.parameters(), lr=0.01)
    first = None
    for _ in range(100):
        optimizer.zero_grad()
        loss = imitation_loss(policy, sequences)
        loss.backward()
        optimizer.step()
        first = first or loss.item()
    assert first > 4 and loss.item() < 0.05
    env_again = dict.fromkeys(env.possible_agents, policy)
    (played,) = play([env], env_again, [Start(0, "birds")], seed=0, greedy=True)
    assert [turn.message for turn in played.turns] == [turn.message for turn in shown[0].turns]
    assert played.solved


def test_a_message_over_budget_is_demonstrated_as_it_was_meant(policy, make_env):
    env = make_env(information="split", budget=Budget(message=2))
    speaker = ScriptedTeam("verbose").policies(env)["solver_0"]
    team = dict.fromkeys(env.possible_agents, Demonstrator(speaker, policy))
    (episode,) = play([env], team, [Start(0, "fruit")], seed=0)
    cut = [turn for turn in episode.turns if turn.cut]
    assert cut
    assert all(policy.message(turn.reply_ids).startswith(turn.message) for turn in cut)
    assert all(policy.message(turn.reply_ids) != turn.message for turn in cut)
