"""Where many tokens were generated a model's logits come in chunks, and nothing else changes."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from laconic.learners.agents.load import recompute_activations
from laconic.learners.training import logprobs
from laconic.learners.training.logprobs import current_logprobs
from laconic.learners.training.sequences import Batch, TokenSequence, collate

VOCABULARY = 24


def sequence(token_ids: tuple[int, ...], generated: tuple[int, ...]) -> TokenSequence:
    marks = tuple(place in generated for place in range(len(token_ids)))
    return TokenSequence("t", "a", 0, None, token_ids, marks, (0.0,) * len(token_ids), 0.0)


@pytest.fixture
def batch() -> Batch:
    """Eight generated tokens; the second sequence is the beginning of the first."""
    ids = (5, 6, 7, 8, 9, 10, 11, 12, 3)
    return collate(
        [sequence(ids, (6, 7, 8)), sequence(ids[:4], (2, 3)), sequence((3, 4, 0, 1), (1, 2, 3))], 0
    )


@pytest.fixture
def chunks(monkeypatch):
    """Sets how many tokens a chunk has; None takes all at once."""

    def of(tokens: int | None) -> None:
        monkeypatch.setattr(logprobs, "CHUNK", VOCABULARY * tokens if tokens else 10**9)

    return of


def passed(model, batch: Batch, temperature: float = 1.0) -> dict[str, torch.Tensor]:
    """Log-probabilities, and the gradients of their weighted sum by name."""
    model.zero_grad(set_to_none=True)
    logprobs = current_logprobs(model, batch, temperature)
    weights = torch.linspace(-1.0, 2.0, logprobs.numel()).reshape(logprobs.shape)
    (logprobs * weights).sum().backward()
    gradients = {
        name: parameter.grad
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }
    return {"logprobs": logprobs.detach(), **gradients}


def alike(gradients: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert gradients.keys() == other.keys() and len(gradients) > 1
    for name in gradients:
        torch.testing.assert_close(gradients[name], other[name], rtol=1e-5, atol=1e-5, msg=name)


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_chunks_have_the_value_and_gradient_of_all_at_once(
    make_model, architecture, batch, chunks, temperature
):
    model = make_model(architecture, VOCABULARY)
    chunks(None)
    expected = passed(model, batch, temperature)
    for tokens in (1, 3):
        chunks(tokens)
        alike(passed(model, batch, temperature), expected)
    # nothing of it stays with the model
    for module in (model, model.base_model, model.get_output_embeddings()):
        assert "forward" not in vars(module)


@pytest.mark.parametrize("tied", [False, True])
def test_tied_and_untied_heads_get_all_of_their_gradient(make_model, batch, chunks, tied):
    model = make_model("qwen3", VOCABULARY, tie_word_embeddings=tied)
    chunks(None)
    expected = passed(model, batch)
    chunks(3)
    alike(passed(model, batch), expected)


def test_the_head_makes_logits_of_a_chunk_at_a_time(make_model, batch, chunks):
    model, sizes = make_model(vocabulary=VOCABULARY), []
    head = model.lm_head
    forward = head.forward
    head.forward = lambda states: sizes.append(states.shape[1]) or forward(states)
    chunks(3)
    passed(model, batch)
    assert sizes == [3, 3, 2, 3, 3, 2]  # forward, then backward
    assert head.forward is not forward and "forward" in vars(head)


def test_a_cap_on_the_logits_is_the_models_own(make_model, batch, chunks):
    """Also where logits grow into it, which small ones do not show."""
    model = make_model("gemma2", VOCABULARY, scale=1.0, final_logit_softcapping=30.0)
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(5000.0)
    results = []
    for tokens in (None, 3):
        chunks(tokens)
        results.append(current_logprobs(model, batch).detach())
    assert results[0].min() < -10
    torch.testing.assert_close(results[1], results[0], rtol=1e-5, atol=1e-5)


def test_forgotten_activations_are_no_hindrance(make_model, batch, chunks):
    model = make_model(vocabulary=VOCABULARY)
    chunks(None)
    expected = passed(model, batch)
    recompute_activations(model)
    chunks(3)
    alike(passed(model, batch), expected)


@pytest.mark.parametrize("head", [None, nn.Linear(1, 1)])
def test_a_model_that_does_not_call_its_head_as_a_module_gives_all_logits(
    make_model, batch, chunks, monkeypatch, head
):
    model = make_model(vocabulary=VOCABULARY)
    chunks(None)
    expected = passed(model, batch)
    monkeypatch.setattr(type(model), "get_output_embeddings", lambda self: head)
    chunks(3)
    alike(passed(model, batch), expected)


def test_an_adapter_on_the_head_is_trained(make_model, batch, chunks):
    peft = pytest.importorskip("peft")
    config = peft.LoraConfig(r=2, target_modules=["lm_head", "q_proj"], task_type="CAUSAL_LM")
    model = peft.get_peft_model(make_model(vocabulary=VOCABULARY), config).get_base_model()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_()
    chunks(None)
    expected = passed(model, batch)
    assert any("lm_head" in name for name in expected)
    chunks(3)
    alike(passed(model, batch), expected)


def test_half_precision_gives_float32_of_its_own_logits(make_model, batch, chunks):
    model = make_model(vocabulary=VOCABULARY, scale=2.0).to(torch.bfloat16)
    results = []
    for tokens in (None, 3):
        chunks(tokens)
        results.append(passed(model, batch))
    assert results[1]["logprobs"].dtype == torch.float32
    for name, gradient in results[1].items():
        torch.testing.assert_close(gradient, results[0][name], rtol=0.05, atol=0.05)
