"""Shared prefixes are read once: fewer tokens, equal values and gradients."""

from __future__ import annotations

import random

import pytest
import torch

from laconic.learners.training import logprobs
from laconic.learners.training.logprobs import can_share, current_logprobs, plan_prefix_sharing
from laconic.learners.training.sequences import Batch, TokenSequence, collate

PAD = 0
RULES = tuple(range(3, 19)) * 3


def batch_of(*conversations: tuple[tuple[int, ...], int]) -> Batch:
    """Make conversations (tokens, prompt length); every third token after the prompt is read."""
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
    """Make prompts of unequal lengths that begin alike, with episodes of unequal lengths each."""
    generator = random.Random(seed)
    conversations = []
    for number in range(prompts):
        prompt = (*RULES, 19 + number, *generator.choices(RULES, k=2 + number % 3))
        for _ in range(episodes):
            reply = tuple(generator.choices(RULES, k=generator.randint(1, 5)))
            conversations.append(((*prompt, *reply), len(prompt)))
    return batch_of(*conversations)


def values_and_gradients(model, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Compute log-probabilities, and gradients of a loss in which each token has its own weight."""
    model.zero_grad(set_to_none=True)
    values = current_logprobs(model, batch)
    weights = torch.linspace(-1, 1, values.numel()).view_as(values)
    (values * weights).sum().backward()
    return values.detach(), {
        name: parameter.grad.clone()
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }


def tokens_read(model, batch: Batch) -> int:
    """Count the tokens, padding included, that go through the first layer."""
    counts = []
    handle = model.get_input_embeddings().register_forward_hook(
        lambda _, inputs, __: counts.append(inputs[0].numel())
    )
    try:
        current_logprobs(model, batch)
    finally:
        handle.remove()
    return sum(counts)


@pytest.mark.parametrize("shape", [(1, 6), (4, 1), (4, 3)])
def test_values_and_gradients_are_those_of_whole_rows(make_model, architecture, shape, monkeypatch):
    model, batch = make_model(architecture, 24), group(*shape)
    shared, gradients = values_and_gradients(model, batch)
    read = tokens_read(model, batch)
    monkeypatch.setattr(logprobs, "WORTH", 0.0)
    whole, expected = values_and_gradients(model, batch)
    assert tokens_read(model, batch) == batch.token_ids.numel()
    assert (read <= 0.6 * batch.token_ids.numel()) == can_share(model)
    torch.testing.assert_close(shared, whole, atol=1e-5, rtol=1e-5)
    assert gradients.keys() == expected.keys()
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, expected[name], atol=1e-5, rtol=1e-4, msg=name)


def test_a_plan_has_the_opening_the_prompts_and_the_replies():
    # Two prompts of 6 tokens share 4; the first one has two replies. Whole rows: 3 x 8 = 24 tokens.
    rows = [[1, 2, 3, 4, 5, 5, 7, 7], [1, 2, 3, 4, 5, 5, 8, 0], [1, 2, 3, 4, 6, 6, 7, 9]]
    plan = plan_prefix_sharing(torch.tensor(rows), [8, 7, 8], [6, 6, 6])
    # 1 x 4 + 2 x 2 + 3 x 2 = 14 tokens; with two stages it would be 1 x 4 + 3 x 4 = 16.
    assert [(stage.rows, stage.parents, stage.spans) for stage in plan] == [
        ((0,), (0,), ((0, 4),)),
        ((0, 2), (0, 0), ((4, 6), (4, 6))),
        ((0, 1, 2), (0, 0, 1), ((6, 8), (6, 7), (6, 8))),
    ]


@pytest.mark.parametrize(
    "rows",
    [
        # One shared token of four saves 2 of 12.
        [[1, 2, 3, 4], [1, 3, 4, 5], [1, 4, 5, 6]],
        # Nothing is shared.
        [[1, 2], [2, 3]],
    ],
)
def test_whole_rows_are_read_where_sharing_saves_little(rows):
    firsts = [len(row) - 1 for row in rows]
    assert plan_prefix_sharing(torch.tensor(rows), [len(row) for row in rows], firsts) == []
