"""Minibatches in parts and put together again; a whole update is in test_update.py."""

from __future__ import annotations

import pytest
import torch

from laconic.learners.training.microbatches import joined, microbatches, over_steps
from laconic.learners.training.objective import LossInputs, Objective
from laconic.learners.training.sequences import TokenSequence


def sequence_of(length: int) -> TokenSequence:
    return TokenSequence(
        "t", "a_0", 0, None, (1,) * length, (False,) * length, (0.0,) * length, pay=0.0
    )


def test_forward_passes_hold_what_fits_and_is_of_like_length():
    parts = microbatches([sequence_of(n) for n in (9, 2, 3, 20, 8, 2, 8, 40)], 24)
    # 3 is 1.5 times 2; 8, 8 and 9 make 27 tokens and so two passes; 40 is more than fits
    assert [[len(one.token_ids) for one in split] for split in parts] == [
        [2, 2, 3],
        [8, 8],
        [9],
        [20],
        [40],
    ]
    assert microbatches([], 24) == []


def test_rows_of_steps_add_up_to_one():
    rows = [
        {"loss": 1.0, "ratio_min": 0.9, "ratio_max": 1.1, "sequences": 2.0, "steps": 1.0},
        {"skipped_steps": 1.0},
        {"loss": 3.0, "ratio_min": 0.8, "ratio_max": 1.0, "sequences": 2.0, "steps": 1.0},
    ]
    assert over_steps(rows) == {
        "steps": 2.0,
        "skipped_steps": 1.0,
        "loss": 2.0,
        "ratio_min": 0.8,
        "ratio_max": 1.1,
        "sequences": 4.0,
    }
    assert over_steps([]) == {"steps": 0.0, "skipped_steps": 0.0}


def split_of(rows: int, tokens: int, reference: bool) -> LossInputs:
    """Random log-probabilities of rows of one to all generated tokens."""
    generator = torch.Generator().manual_seed(rows)
    logprobs = -torch.rand(3, rows, tokens, generator=generator)
    lengths = 1 + torch.arange(rows)[:, None] % tokens
    return LossInputs(
        current_logprobs=logprobs[0].requires_grad_(),
        behaviour_logprobs=logprobs[1],
        generated_mask=torch.arange(tokens)[None] < lengths,
        advantages=torch.randn(rows, generator=generator),
        reference_logprobs=logprobs[2] if reference else None,
        divisor=8.0,
    )


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize("average", ["sequence", "token"])
def test_the_losses_of_parts_add_up_to_that_of_the_whole(reference, average):
    parts = [split_of(rows, tokens, reference) for rows, tokens in ((1, 2), (5, 9), (2, 4))]
    objective = Objective(average=average, kl=0.1 if reference else 0.0)
    whole = joined(parts)
    assert whole.generated_mask.shape == (8, 9)
    assert not whole.current_logprobs.requires_grad
    assert int(whole.generated_mask.sum()) == sum(int(one.generated_mask.sum()) for one in parts)
    total = sum(objective(one).loss.item() for one in parts)
    assert objective(whole).loss.item() == pytest.approx(total, rel=1e-5)


def test_one_part_is_the_whole():
    split = split_of(3, 4, reference=False)
    assert Objective()(joined([split])).metrics == Objective()(split).metrics
