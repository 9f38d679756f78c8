"""Log-probabilities in chunks are those of whole logits, and take the memory of one chunk."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

from laconic.learners.training.chunks import chosen_logprobs

TOKENS, WIDTH, VOCABULARY = 13, 5, 11


def whole(logits: Tensor, targets: Tensor, temperature: float) -> Tensor:
    logprobs = torch.log_softmax(logits.float() / temperature, dim=-1)
    return logprobs.gather(-1, targets[:, None]).squeeze(-1)


def values_and_gradients(
    head: nn.Linear, states: Tensor, compute: Callable[[Tensor], Tensor]
) -> list[Tensor]:
    """Return values, and gradients of states, weight and bias; a token's slope may be 0."""
    own = states.clone().requires_grad_()
    result = compute(own)
    slopes = torch.linspace(-1, 1, len(result))
    return [result.detach(), *torch.autograd.grad(result, [own, *head.parameters()], slopes)]


@pytest.fixture
def head() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(WIDTH, VOCABULARY)


@pytest.mark.parametrize("rows", [1, 3, 13, 100])
@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_value_and_gradient_are_those_of_whole_logits(head, rows, temperature):
    states, targets = 4 * torch.randn(TOKENS, WIDTH), torch.arange(TOKENS) % VOCABULARY

    def in_chunks(own: Tensor) -> Tensor:
        return chosen_logprobs(head, list(head.parameters()), own, targets, temperature, rows)

    grads = values_and_gradients(head, states, in_chunks)
    expected = values_and_gradients(
        head, states, lambda own: whole(head(own), targets, temperature)
    )
    for gradient, other in zip(grads, expected, strict=True):
        torch.testing.assert_close(gradient, other, rtol=1e-5, atol=1e-6)


def test_under_autocast_it_is_computed_as_it_was_in_the_forward_pass(head):
    states, targets = torch.randn(TOKENS, WIDTH), torch.arange(TOKENS) % VOCABULARY
    records = []

    def logits_of(own: Tensor) -> Tensor:
        records.append(head(own))
        return records[-1]

    own, other = states.clone().requires_grad_(), states.clone().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        logprobs = chosen_logprobs(logits_of, list(head.parameters()), own, targets, 1.0, 4)
        expected = whole(head(other), targets, 1.0)
    logprobs.sum().backward()
    gradient, head.weight.grad = head.weight.grad, None
    expected.sum().backward()
    assert {tensor.dtype for tensor in records} == {torch.bfloat16} and len(records) == 2 * 4
    torch.testing.assert_close(logprobs, expected, rtol=1e-6, atol=1e-6)
    # 8 bits of mantissa, rounded once for all tokens there and once a chunk here
    torch.testing.assert_close(gradient, head.weight.grad, rtol=0.02, atol=0.02)
    torch.testing.assert_close(own.grad, other.grad, rtol=0.02, atol=0.02)


def test_a_frozen_head_has_no_gradient_and_its_states_have(head):
    head.requires_grad_(False)
    states = torch.randn(TOKENS, WIDTH, requires_grad=True)
    targets = torch.arange(TOKENS) % VOCABULARY
    chosen_logprobs(head, [], states, targets, 1.0, 4).sum().backward()
    (expected,) = torch.autograd.grad(whole(head(states), targets, 1.0).sum(), states)
    torch.testing.assert_close(states.grad, expected, rtol=1e-5, atol=1e-6)
    assert head.weight.grad is None


def test_logits_that_are_needed_again_are_not_overwritten_in_silence():
    """A head whose gradient is made of its output would get a wrong one."""
    head = nn.Sequential(nn.Linear(WIDTH, VOCABULARY), nn.Sigmoid())
    states, targets = torch.randn(TOKENS, WIDTH), torch.zeros(TOKENS, dtype=torch.long)
    logprobs = chosen_logprobs(head, list(head.parameters()), states, targets, 1.0, 4)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        logprobs.sum().backward()


def peak(compute: Callable[[], Tensor]) -> int:
    """Return the peak memory of a forward and a backward pass, bytes."""
    gc.collect()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as counter:
        compute().sum().backward()
    held = highest = 0
    for event in counter.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            highest = max(highest, held)
    return highest


@pytest.mark.parametrize(("autocast", "limit"), [(False, 1.3), (True, 0.8)])
def test_the_peak_is_a_chunk_where_whole_logits_are_three_matrices(autocast, limit):
    tokens, width, vocabulary, rows = 1000, 4, 5003, 200
    head = nn.Linear(width, vocabulary, bias=False)
    states = torch.randn(tokens, width, requires_grad=True)
    targets = torch.arange(tokens)

    def in_chunks() -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, autocast):
            return chosen_logprobs(head, [head.weight], states, targets, 1.0, rows)

    def at_once() -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, autocast):
            return whole(head(states), targets, 1.0)

    # float32
    assert peak(at_once) > 2.9 * tokens * vocabulary * 4
    assert peak(in_chunks) < limit * rows * vocabulary * 4
