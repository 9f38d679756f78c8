"""Conversations that fill the model, split generate calls, and state that a policy may lose."""

from __future__ import annotations

import logging

import pytest
import torch
from transformers import AutoModelForCausalLM, MambaConfig, OPTConfig

from laconic.envs.errors import SettingError
from laconic.learners.agents import policy as module
from laconic.learners.agents.hf import SamplingSettings
from laconic.learners.agents.load import recompute_activations
from laconic.learners.interfaces import Request
from laconic.learners.training.logprobs import current_logprobs
from laconic.learners.training.sequences import Batch


def request(words: int) -> Request:
    return Request("solver_0", " ".join(["w1"] * words))


@pytest.fixture
def counted(monkeypatch):
    """Rows of every generate call."""
    rows = []

    def call(model, prompts, *settings):
        rows.append(len(prompts))
        return plain(model, prompts, *settings)

    plain = module.generate
    monkeypatch.setattr(module, "generate", call)
    return rows


# Positions


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_reply_ends_where_the_positions_do(make_policy, word_tokenizer, kind):
    # "User : " and "\nAssistant:" are two words each, so n words make a prompt of n + 4 tokens.
    policy = make_policy(kind, word_tokenizer, max_reply_tokens=6)
    most = policy.model.config.max_position_embeddings
    sizes = [most - 4 - room for room in (9, 6, 5, 1, 0)] + [most, 3]
    requests = [request(size) for size in sizes]
    result = policy.reply(requests, seed=0, greedy=False)
    assert [len(reply.reply_ids) for reply in result] == [6, 6, 5, 1, 0, 0, 6]
    assert [reply.message for reply in result[4:6]] == ["", ""]
    assert len(result[4].prompt_ids) == most and result[4].behavior_logprobs == ()


def test_a_full_conversation_stays_silent_and_is_warned_of_once(
    make_policy, word_tokenizer, caplog
):
    policy = make_policy("gpt2", word_tokenizer, max_reply_tokens=6)
    first = request(600)
    with caplog.at_level(logging.WARNING):
        reply = policy.reply([first], seed=0, greedy=False)[0]
        later = Request("solver_0", "w1", history=(reply,), texts=(first.text,))
        assert policy.reply([later], seed=0, greedy=False)[0].reply_ids == ()
    (log_messages,) = caplog.messages
    assert "solver_0 has 604 tokens and fills the 512 positions" in log_messages


# Cut calls


def test_greedy_replies_do_not_depend_on_the_size_of_a_call(make_policy, counted):
    requests = [
        Request("solver_0", text) for text in ("Hello", "There are 3", "Hello", "12 pears", "7")
    ]
    whole = make_policy(max_reply_tokens=24).reply(requests, seed=0, greedy=True)
    assert counted == [5]
    # Prompts of 6 to 11 tokens and replies of up to 24: two of them take 70 tokens at most.
    policy = make_policy(max_reply_tokens=24, generate_tokens=70)
    parts = policy.reply(requests, seed=0, greedy=True)
    assert counted == [5, 2, 2, 1]
    assert [part.reply_ids for part in parts] == [reply.reply_ids for reply in whole]
    for part, other in zip(parts, whole, strict=True):
        assert part.behavior_logprobs == pytest.approx(other.behavior_logprobs, abs=1e-5)


def test_calls_that_are_large_enough_draw_the_same(make_policy):
    requests = [Request("solver_0", text) for text in ("Hello", "There are 3", "7")]
    whole = make_policy().reply(requests, seed=4, greedy=False)
    assert make_policy(generate_tokens=105).reply(requests, seed=4, greedy=False) == whole
    assert make_policy(generate_tokens=1).reply(requests, seed=4, greedy=False) != whole


@pytest.mark.parametrize("most", [0, True, 1.5])
def test_a_size_out_of_range_is_refused(most):
    with pytest.raises(SettingError, match=r"agent\.sampling\.generate_tokens"):
        SamplingSettings(generate_tokens=most)


# Activations


def a_batch() -> Batch:
    ids = torch.arange(3, 23).reshape(2, 10)
    generated = torch.zeros(2, 10, dtype=torch.bool)
    generated[:, 4:] = True
    return Batch(
        token_ids=ids,
        attention_mask=torch.ones_like(generated),
        generated_mask=generated,
        behavior_logprobs=torch.zeros(2, 10),
        advantages=torch.ones(2),
        rollout_logprobs=torch.zeros(2, 10),
        row_of=torch.arange(2),
    )


def passes(model, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor], int]:
    """Log-probabilities, gradients, and how often the first layer's norm ran."""
    runs = []
    inner = next(
        module for name, module in model.named_modules() if "norm" in name or "ln_1" in name
    )
    handle = inner.register_forward_hook(lambda *_: runs.append(1))
    model.zero_grad(set_to_none=True)
    logprobs = current_logprobs(model, batch)
    logprobs.sum().backward()
    handle.remove()
    gradients = {
        name: parameter.grad
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }
    return logprobs.detach(), gradients, len(runs)


def test_forgotten_activations_are_computed_again_and_nothing_else_changes(
    make_model, architecture
):
    cached, forgotten = make_model(architecture, 24), make_model(architecture, 24)
    recompute_activations(forgotten)
    logprobs, gradients, once = passes(cached, a_batch())
    again, regained, twice = passes(forgotten, a_batch())
    assert (once, twice) == (1, 2)
    assert torch.equal(logprobs, again)
    assert gradients.keys() == regained.keys()
    for name, gradient in gradients.items():
        assert torch.equal(gradient, regained[name]), name
    assert not any(module.training for module in forgotten.modules())
    with torch.no_grad():
        assert torch.equal(current_logprobs(forgotten, a_batch()), again)


def test_the_dropout_of_a_layer_stays_off():
    torch.manual_seed(0)
    config = OPTConfig(
        vocab_size=24, hidden_size=16, ffn_dim=32, num_hidden_layers=2, num_attention_heads=2,
        word_embed_proj_dim=16, max_position_embeddings=64, dropout=0.5, attention_dropout=0.5,
    )  # fmt: skip
    model = AutoModelForCausalLM.from_config(config).eval()
    expected = current_logprobs(model, a_batch()).detach()
    recompute_activations(model)
    assert torch.equal(passes(model, a_batch())[0], expected)


def test_a_policy_that_forgets_speaks_as_before(make_policy):
    requests = [Request("solver_0", "Hello")] * 3
    policy = make_policy()
    expected = policy.reply(requests, seed=1, greedy=False)
    recompute_activations(policy.model)
    assert policy.reply(requests, seed=1, greedy=False) == expected


def test_an_architecture_that_cannot_forget_is_refused(monkeypatch):
    config = MambaConfig(vocab_size=24, hidden_size=8, state_size=4, num_hidden_layers=1)
    model = AutoModelForCausalLM.from_config(config)
    monkeypatch.setattr(type(model), "supports_gradient_checkpointing", False)
    with pytest.raises(SettingError, match=r"agent\.gradient_checkpointing.*MambaForCausalLM"):
        recompute_activations(model)
