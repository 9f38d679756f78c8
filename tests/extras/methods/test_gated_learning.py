"""A gate that learns: its tokens are decisions, its speaker says the messages."""

from __future__ import annotations

import math

import pytest
import torch
from small_models import TASKS, Writer
from updates import equal, learner, played, reply_logprobs, weights

from laconic.envs import Reward
from laconic.envs.errors import SettingError
from laconic.extras.methods.gate import gate_call
from laconic.extras.methods.gated import GatePolicy, cut_to_decisions, speaks
from laconic.learners.interfaces import Reply
from laconic.learners.rollout.collectors.counterfactual import silence
from laconic.learners.rollout.play import Start, play


@pytest.fixture
def gate_policy(make_policy):
    """Make a gate of weights with a speaker behind it, which has other weights."""

    def make(**settings) -> GatePolicy:
        policy = make_policy(model={"seed": 1, "scale": 2.0}, **settings)
        own = GatePolicy(policy.model, policy.tokenizer, policy.sampling)
        own.speaker = make_policy(**settings)
        cut_to_decisions(own)
        # Silent about every second time, where a random model would hardly ever be.
        bias = torch.zeros(own.model.config.vocab_size)
        bias[own.write("")[0]] = math.log(len(bias))
        head = own.model.get_output_embeddings()
        head.register_forward_hook(lambda module, states, logits: logits + bias)
        return own

    return make


def test_tokens_of_a_learning_gate_are_its_decisions_and_messages_its_speakers(
    gate_policy, make_env
):
    policy = gate_policy()
    environments = [make_env(rounds=2) for _ in range(12)]
    policies = dict.fromkeys(environments[0].possible_agents, policy)
    starts = [Start(seed, TASKS[seed % 2].key) for seed in range(12)]
    episodes = play(environments, policies, starts, seed=0)
    turns = [turn for episode in episodes for turn in episode.turns]
    passed = [turn for turn in turns if gate_call(turn).speaks]
    held = [turn for turn in turns if not gate_call(turn).speaks]
    assert passed and held
    assert all(len(turn.reply_ids) == 1 for turn in turns)
    silence_ids = policy.write("")
    # An end token at once is an empty reply.
    ends = {silence_ids, *((token,) for token in policy.end_ids)}
    assert all(turn.reply_ids in ends and not turn.message for turn in held)
    assert all(turn.reply_ids not in ends for turn in passed)
    assert all(
        gate_call(turn).tokens > gate_call(turn).gate_tokens for turn in passed if turn.round == 0
    )
    for turn in turns:
        if turn.round == 0:
            # The first ratio of an update is 1.
            expected = reply_logprobs(policy, turn)
            assert torch.allclose(torch.tensor(turn.behavior_logprobs), expected, atol=1e-4)


def test_a_learning_gate_moves_and_its_speaker_stays(gate_policy, make_env):
    policy = gate_policy()
    policies = dict.fromkeys(make_env().possible_agents, policy)
    group = played(policies, make_env)
    gate, speaker = weights(policy), weights(policy.speaker)
    assert learner(policies).update([group])["steps"] == 1
    assert not equal(gate, policy.model.state_dict())
    assert equal(speaker, policy.speaker.model.state_dict())


def test_silence_credit_pays_a_learning_gate_for_the_worth_of_its_message(gate_policy, make_env):
    policy = gate_policy()
    # The last number said is the answer; one round, so no other draw depends on a message.
    policy.speaker.sample_with(Writer(policy.speaker, "7"))
    env = {"rounds": 1, "answer": "majority", "reward": Reward(price=1.0, normalizer=10)}
    environments = [make_env(**env) for _ in range(16)]
    policies = dict.fromkeys(environments[0].possible_agents, policy)
    (group,) = silence()(environments, policies, [Start(0, "fruit")], 16, seed=0)
    credits = set()
    for episode in group.episodes:
        spoken = [turn for turn in episode.turns if turn.message]
        for turn in episode.turns:
            # Where one agent speaks, the task is lost without it. Where several say the same, none
            # is missed. Each says one token, which costs a tenth.
            worth = 1.0 if len(spoken) == 1 else 0.0
            expected = (worth, 0.1) if turn.message else (0.0, 0.0)
            assert turn.credit == pytest.approx(expected)
            credits.add(expected)
    assert len(credits) == 3


def test_in_greedy_play_the_likelier_decision_counts():
    def silent(probability):
        return Reply("", (1,), (2,), (math.log(probability),))

    # Silence is the likeliest reply of probability 0.4, and 0.6 are for others.
    assert speaks(silent(0.4), greedy=True) and not speaks(silent(0.6), greedy=True)
    assert not speaks(silent(0.4), greedy=False)
    assert speaks(Reply("Hello", (1,), (2,), (-5.0,)), greedy=True)
    # A beginning without a visible character yet is no silence.
    assert speaks(Reply("", (1,), (2,), (-0.1,), truncated=True), greedy=True)


class Single:
    """Samples single prompts."""

    def submit(self, work):
        raise AssertionError("not needed here")


def test_a_learning_gate_refuses_an_engine_of_single_requests(gate_policy):
    policy = gate_policy()
    with pytest.raises(SettingError, match="set engine=own"):
        policy.sample_with(Single())
