"""Advantages of single tokens in batches and in the loss, against hand-worked numbers."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
import torch
from losses import AVERAGES, LN2, RATIOS, gradient, inputs

from laconic.envs.errors import SettingError
from laconic.learners.training.objective import LossInputs, Objective, mean_over_steps
from laconic.learners.training.sequences import TokenSequence, collate

ROOT22 = math.sqrt(2.2)
CLIPS = {"epsilon": 0.2, "epsilon_high": 0.28}


def with_advantages(loss_inputs: LossInputs, advantages: list[list[float]]) -> LossInputs:
    dtype = loss_inputs.current_logprobs.dtype
    return replace(loss_inputs, advantages=torch.tensor(advantages, dtype=dtype))


# One context token, tokens of ratio 2 and 1.1 with the advantages 1 and -3, and padding. Clipped to
# 1.28 the first has no gradient; a negative advantage has no upper clip.
HAND = [
    # -(1.28 - 3 * 1.1) / 2; the gradient of -(-3 r) / 2 in log r is 3 r / 2.
    ("token", 1.01, [0.0, 0.0, 1.65, 0.0]),
    # s = sqrt(2 * 1.1) on both: -(1.28 - 3 s) / 2, with the gradient of the token alone.
    ("sequence_token", (3 * ROOT22 - 1.28) / 2, [0.0, 0.0, 1.5 * ROOT22, 0.0]),
    # The same value; each token moves s by half.
    ("sequence", (3 * ROOT22 - 1.28) / 2, [0.0, 0.75 * ROOT22, 0.75 * ROOT22, 0.0]),
    # -(1 * (ln 2 - 1) - 3 * (ln 1.1 - 1)) / 2
    ("none", -((LN2 - 1) - 3 * (math.log(1.1) - 1)) / 2, [0.0, -0.5, 1.5, 0.0]),
]


@pytest.mark.parametrize(("ratio", "loss", "expected"), HAND)
def test_each_token_has_its_own_advantage(ratio: str, loss: float, expected: list[float]) -> None:
    loss_inputs = inputs(
        [[0.0, LN2, math.log(1.1), 0.0]], [[0, 1, 1, 0]], [0.0], dtype=torch.float64
    )
    outputs, grad = gradient(
        Objective(ratio, **CLIPS), with_advantages(loss_inputs, [[9.0, 1.0, -3.0, 9.0]])
    )
    assert outputs.loss.item() == pytest.approx(loss, abs=1e-6)
    assert grad[0].tolist() == pytest.approx(expected, abs=1e-6)
    if ratio != "none":
        # The clip removes the gradient of one of two tokens.
        assert outputs.metrics["clip_fraction"] == 0.5


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("average", AVERAGES)
def test_equal_tokens_have_the_loss_of_one_number(ratio: str, average: str) -> None:
    objective = Objective(ratio, average=average, **CLIPS)
    rows, mask = [[0.0, 0.3, -0.4], [0.1, 0.0, 0.0]], [[0, 1, 1], [1, 0, 0]]
    of_sequences = inputs(rows, mask, [1.5, -0.5])
    of_tokens = inputs(rows, mask, [0.0, 0.0])
    of_tokens = with_advantages(of_tokens, [[1.5] * 3, [-0.5] * 3])
    expected, expected_grad = gradient(objective, of_sequences)
    outputs, grad = gradient(objective, of_tokens)
    assert outputs.metrics == expected.metrics
    assert torch.equal(grad, expected_grad)


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_advantages_of_context_and_padding_have_no_say(ratio: str, bad: float) -> None:
    objective, mask = Objective(ratio, **CLIPS), [[0, 1, 1, 0]]
    clean = with_advantages(inputs([[0.0, 0.1, 0.2, 0.0]], mask, [0.0]), [[0.0, 1.0, -2.0, 0.0]])
    dirty = with_advantages(inputs([[0.0, 0.1, 0.2, 0.0]], mask, [0.0]), [[bad, 1.0, -2.0, bad]])
    expected, expected_grad = gradient(objective, clean)
    outputs, grad = gradient(objective, dirty)
    assert outputs.metrics == expected.metrics
    assert torch.equal(grad, expected_grad) and grad.isfinite().all()


def independent(
    current: torch.Tensor,
    behavior: torch.Tensor,
    mask: torch.Tensor,
    advantages: torch.Tensor,
    ratio: str,
    average: str,
) -> torch.Tensor:
    """Compute the loss token by token, in plain loops."""
    losses, tokens = [], 0
    for row in range(len(mask)):
        places = [place for place in range(mask.shape[1]) if mask[row, place]]
        tokens += len(places)
        terms = []
        logs = [current[row, place] - behavior[row, place] for place in places]
        for place, log in zip(places, logs, strict=True):
            advantage = advantages[row, place]
            if ratio == "none":
                terms.append(-advantage * current[row, place])
                continue
            whole = torch.exp(torch.stack(logs).mean())
            q = {
                "token": torch.exp(log),
                "sequence": whole,
                "sequence_token": whole.detach() * torch.exp(log - log.detach()),
            }[ratio]
            clipped = torch.clamp(q, 1 - 0.2, 1 + 0.28)
            terms.append(-torch.minimum(q * advantage, clipped * advantage))
        total = torch.stack(terms).sum() if terms else torch.zeros((), dtype=torch.float64)
        losses.append(total / max(len(places), 1) if average == "sequence" else total)
    divisor = tokens if average == "token" else len(mask)
    return torch.stack(losses).sum() / divisor


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("average", AVERAGES)
def test_the_loss_equals_an_independent_one(ratio: str, average: str) -> None:
    generator = random.Random(ratio + average)
    for _ in range(5):
        shape = (generator.randint(1, 4), generator.randint(2, 6))

        def matrix(shape: tuple[int, int] = shape) -> list[list[float]]:
            return [[generator.gauss(0, 0.4) for _ in range(shape[1])] for _ in range(shape[0])]

        rows, advantages = matrix(), matrix()
        mask = [[int(generator.random() < 0.6) for _ in range(shape[1])] for _ in range(shape[0])]
        mask[0][-1] = 1
        loss_inputs = inputs(rows, mask, [0.0] * shape[0], dtype=torch.float64)
        loss_inputs = with_advantages(loss_inputs, advantages)
        outputs, grad = gradient(Objective(ratio, average=average, **CLIPS), loss_inputs)
        current = loss_inputs.current_logprobs
        expected = independent(
            current,
            loss_inputs.behavior_logprobs,
            loss_inputs.generated_mask,
            loss_inputs.advantages,
            ratio,
            average,
        )
        (expected_grad,) = torch.autograd.grad(expected, current)
        torch.testing.assert_close(outputs.loss, expected, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(grad, expected_grad, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(2,), (1, 2), (1, 3, 1), (3, 1)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    loss_inputs = inputs([[0.0] * 3], [[0, 1, 1]], [0.0])
    with pytest.raises(SettingError, match=r"advantages must have shape \(1,\) or \(1, 3\)"):
        replace(loss_inputs, advantages=torch.zeros(shape))


# Batches


def sequence(length: int, replied: int, advantage: float, *tokens: float) -> TokenSequence:
    context = length - replied
    return TokenSequence(
        "t",
        "solver_0",
        0,
        0,
        tuple(range(length)),
        (False,) * context + (True,) * replied,
        (0.0,) * length,
        0.0,
        advantage=advantage,
        token_advantages=tokens,
    )


def test_a_batch_adds_the_advantages_of_tokens_to_that_of_their_sequence() -> None:
    batch = collate([sequence(4, 2, 0.5, 0.0, 0.0, 1.0, -2.0), sequence(2, 1, -1.0)], pad_id=0)
    # The second one has no advantages of tokens, and two tokens of padding.
    assert batch.advantages.tolist() == [[0.5, 0.5, 1.5, -1.5], [-1.0] * 4]
    # The last token of the first reply is generated, and its advantage is in its place.
    assert batch.generated_mask[0].tolist() == [False, False, True, True]


def test_a_batch_without_advantages_of_tokens_has_one_number_per_sequence() -> None:
    assert collate([sequence(3, 1, 0.5)], pad_id=0).advantages.tolist() == [0.5]


def test_advantages_of_tokens_have_the_length_of_their_sequence() -> None:
    with pytest.raises(SettingError, match="one number for each of 3 tokens; got 2"):
        sequence(3, 1, 0.0, 1.0, 2.0)


def test_the_extremes_of_an_update_are_those_of_its_steps() -> None:
    rows = [{"mismatch_max": 0.1, "ratio_max": 1.2, "ratio_min": 0.9, "loss": 1.0}]
    rows.append({"mismatch_max": 0.5, "ratio_max": 1.1, "ratio_min": 0.7, "loss": 2.0})
    reduced = mean_over_steps(rows)
    assert (reduced["mismatch_max"], reduced["ratio_max"], reduced["ratio_min"]) == (0.5, 1.2, 0.7)
    assert reduced["loss"] == 1.5
