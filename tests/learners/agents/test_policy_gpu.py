"""Policies on a GPU reply as elsewhere: seeds, held keys, smaller calls, adapters."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from updates import ADAMW, played

from laconic.learners.agents.hf import HFTeam, SamplingSettings
from laconic.learners.agents.lora import Lora
from laconic.learners.agents.policy import HFPolicy
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.interfaces import Reply, Request

NEWS = ("Anna has 12 apples and 7 pears.", "There are 3 birds in the tree.", "In all 15 of them.")


@pytest.fixture
def make(saved, make_env, device):
    """Policies of a team by agent, on the device."""

    def of(tokens: int | None = None, **settings) -> dict[str, HFPolicy]:
        sampling = SamplingSettings(max_reply_tokens=12, generate_tokens=tokens)
        return HFTeam(str(saved), sampling=sampling, device=device, **settings).policies(make_env())

    return of


def converse(policy: HFPolicy, keep: bool, rows: int = 6) -> list[tuple[Reply, ...]]:
    """Three rounds, all greedy; every two rows begin alike."""
    talks: list[tuple[Reply, ...]] = [()] * rows
    with policy.remembering() if keep else nullcontext():
        for number in range(3):
            requests = [
                Request("solver_0", NEWS[(row // 2 + number) % 3], talk, max_tokens=9 + row)
                for row, talk in enumerate(talks)
            ]
            replies = policy.reply(requests, seed=number, greedy=True)
            talks = [(*talk, reply) for talk, reply in zip(talks, replies, strict=True)]
    return talks


def assert_alike(talks: list[tuple[Reply, ...]], others: list[tuple[Reply, ...]]) -> None:
    for talk, its in zip(talks, others, strict=True):
        for reply, its_reply in zip(talk, its, strict=True):
            assert reply.reply_ids == its_reply.reply_ids
            expected = pytest.approx(its_reply.behavior_logprobs, abs=1e-4)
            assert reply.behavior_logprobs == expected


def test_a_seed_decides_what_is_drawn(make, device):
    policy = make()["solver_0"]
    requests = [Request("solver_0", text, max_tokens=12) for text in NEWS]
    once = policy.reply(requests, seed=3, greedy=False)
    torch.rand(5, device=device)
    assert policy.device.type == device
    assert policy.reply(requests, seed=3, greedy=False) == once
    assert policy.reply(requests, seed=4, greedy=False) != once


def test_greedy_replies_are_those_of_a_policy_that_keeps_nothing(make):
    policy = make()["solver_0"]
    assert_alike(converse(policy, keep=True), converse(policy, keep=False))


def test_greedy_replies_are_those_of_calls_that_hold_little(make):
    whole = converse(make()["solver_0"], keep=True)
    assert_alike(converse(make(tokens=200)["solver_0"], keep=True), whole)


def test_adapters_of_agents_learn_on_a_base_that_stays(make, make_env, device):
    pytest.importorskip("peft")
    policies = make(sharing="lora", lora=Lora(rank=2, alpha=4.0), precision="bfloat16_autocast")
    models = [policy.model for policy in policies.values()]
    base = models[0].get_input_embeddings().weight
    before = base.clone()
    adapters = [
        {name: parameter.clone() for name, parameter in each.weights().items()}
        for each in policies.values()
    ]
    GroupLearner(policies, ADAMW, minibatches=1).update([played(policies, make_env)])
    assert base.dtype == torch.bfloat16 and base.device.type == device
    assert {model.get_input_embeddings().weight.data_ptr() for model in models} == {base.data_ptr()}
    assert torch.equal(base, before)
    for policy, old in zip(policies.values(), adapters, strict=True):
        assert {value.dtype for value in old.values()} == {torch.float32}
        assert any(
            not torch.equal(parameter, old[name]) for name, parameter in policy.weights().items()
        )


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["4bit", "8bit"])
def test_adapters_learn_on_a_packed_base(make_policy, make_env, tmp_path, kind):
    pytest.importorskip("bitsandbytes")
    wide = {"hidden_size": 64, "intermediate_size": 128}
    make_policy(model=wide).save(tmp_path)
    team = HFTeam(str(tmp_path), sharing="lora", quantization=kind, device="cuda")
    policies = team.policies(make_env())
    metrics = GroupLearner(policies, ADAMW, minibatches=1).update([played(policies, make_env)])
    base = policies["solver_0"].model.get_decoder().layers[0].mlp.up_proj.base_layer.weight
    assert base.dtype == (torch.uint8 if kind == "4bit" else torch.int8)
    assert metrics["steps"] == 4 and metrics["grad_norm"] > 0
