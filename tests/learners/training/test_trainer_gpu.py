"""An update on a GPU: the ratio begins at 1, weights stay in float32, gradients are the CPU's."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from updates import SGD, played

from laconic.learners.agents.hf import HFTeam, SamplingSettings
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.episode import Group
from laconic.learners.training import logprobs
from laconic.learners.training.trainer import Trainer

SAMPLING = SamplingSettings(max_reply_tokens=12)


@pytest.fixture
def make(saved, make_env):
    """Policies of a team by agent."""

    def of(device: str, **settings):
        return HFTeam(str(saved), sampling=SAMPLING, device=device, **settings).policies(make_env())

    return of


def gradients(policies, groups: list[Group]) -> dict[str, torch.Tensor]:
    """Return the gradients of the last minibatch of an update, by name."""
    GroupLearner(policies, SGD, minibatches=1).update(groups)
    model = policies["solver_0"].model
    return {name: parameter.grad.cpu() for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("precision", ["float32", "bfloat16_autocast", "bfloat16"])
def test_the_first_ratio_is_one_in_every_precision(make, make_env, device, precision):
    policies = make(device, precision=precision)
    learner = GroupLearner(policies, SGD, minibatches=1)
    assert learner.update([played(policies, make_env)])["approx_kl"] < 1e-8


def test_under_autocast_passes_are_in_bfloat16_and_small_steps_are_not_lost(make, make_env, device):
    policies = make(device, precision="bfloat16_autocast")
    policy = policies["solver_0"]
    records = set()
    layer = policy.model.get_decoder().layers[0].mlp.up_proj
    layer.register_forward_hook(lambda *call: records.add(call[-1].dtype))
    group = played(policies, make_env)
    trainer = Trainer(policy, policies, lambda those: torch.optim.AdamW(those, lr=1e-6))
    sequences = GroupLearner(policies, SGD).sequences(group)
    rows = trainer.update([replace(sequence, advantage=1.0) for sequence in sequences], 0)
    assert records == {torch.bfloat16}
    assert {parameter.dtype for parameter in policy.model.parameters()} == {torch.float32}
    # All that have a gradient; embeddings of tokens that nobody wrote have none.
    assert rows[-1]["changed_weights"] > 0.5


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("chunk", [logprobs.CHUNK, 3000])
def test_gradients_are_those_of_the_cpu(make, make_env, device, attention, chunk, monkeypatch):
    groups = [played(make("cpu"), make_env)]
    expected = gradients(make("cpu"), groups)
    monkeypatch.setattr(logprobs, "CHUNK", chunk)
    grads = gradients(make(device, attn_implementation=attention), groups)
    size = sum(value.square().sum() for value in expected.values()) ** 0.5
    assert size > 0 and grads.keys() == expected.keys()
    off = sum((grads[name] - gradient).square().sum() for name, gradient in expected.items()) ** 0.5
    assert off < 1e-4 * size
