"""What conversations share is read once: fewer tokens, equal values and gradients."""

from __future__ import annotations

import random

import pytest
import torch

from laconic.learners.training import logprobs
from laconic.learners.training.logprobs import can_share, current_logprobs
from laconic.learners.training.sequences import Batch, TokenSequence, collate

PAD = 0
RULES = tuple(range(3, 19)) * 3


def batch_of(*conversations: tuple[tuple[int, ...], int]) -> Batch:
    """Conversations (tokens, how many of them are a prompt); every third one after it is read."""
    return collate(
        [
            TokenSequence(
                task="t",
                agent="a_0",
                episode=index,
                round=None,
                token_ids=ids,
                generated=tuple(
                    place >= prompt and (place - prompt) % 3 != 2 for place in range(len(ids))
                ),
                behavior_logprobs=(0.0,) * len(ids),
                return_to_go=0.0,
            )
            for index, (ids, prompt) in enumerate(conversations)
        ],
        PAD,
    )


def group(prompts: int, episodes: int, seed: int = 0) -> Batch:
    """Prompts of unequal lengths that begin alike, with episodes of unequal lengths each."""
    drawn = random.Random(seed)
    made = []
    for one in range(prompts):
        prompt = (*RULES, 19 + one, *drawn.choices(RULES, k=2 + one % 3))
        for _ in range(episodes):
            reply = tuple(drawn.choices(RULES, k=drawn.randint(1, 5)))
            made.append(((*prompt, *reply), len(prompt)))
    return batch_of(*made)


def learned(model, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Log-probabilities, and gradients of a loss in which every token has its own weight."""
    model.zero_grad(set_to_none=True)
    found = current_logprobs(model, batch)
    weights = torch.linspace(-1, 1, found.numel()).view_as(found)
    (found * weights).sum().backward()
    return found.detach(), {
        name: one.grad.clone() for name, one in model.named_parameters() if one.grad is not None
    }


def tokens_read(model, batch: Batch) -> int:
    """Tokens, padding included, that go through the first layer."""
    counted = []
    handle = model.get_input_embeddings().register_forward_hook(
        lambda _, inputs, __: counted.append(inputs[0].numel())
    )
    try:
        current_logprobs(model, batch)
    finally:
        handle.remove()
    return sum(counted)


@pytest.mark.parametrize("shape", [(1, 6), (4, 1), (4, 3)])
def test_values_and_gradients_are_those_of_whole_rows(make_model, architecture, shape, monkeypatch):
    model, batch = make_model(architecture, 24), group(*shape)
    shared, slopes = learned(model, batch)
    read = tokens_read(model, batch)
    monkeypatch.setattr(logprobs, "WORTH", 0.0)
    whole, expected = learned(model, batch)
    assert tokens_read(model, batch) == batch.token_ids.numel()
    assert (read <= 0.6 * batch.token_ids.numel()) == can_share(model)
    torch.testing.assert_close(shared, whole, atol=1e-5, rtol=1e-5)
    assert slopes.keys() == expected.keys()
    for name, slope in slopes.items():
        torch.testing.assert_close(slope, expected[name], atol=1e-5, rtol=1e-4, msg=name)
