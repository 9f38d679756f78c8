"""The loss against a loop that derives its own gradient, and its parts against the whole."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch
from losses import AVERAGES, RATIOS, WIDE, gradient
from torch import Tensor
from torch.nn.functional import pad

from laconic.learners.training.objective import (
    LossInputs,
    Objective,
    metrics_of,
)

# A loop that derives its own gradient


def slow(objective: Objective, inputs: LossInputs) -> tuple[float, list[list[float]]]:
    """Loss and gradient in plain floats, with derivatives written out by hand."""
    sequences, tokens = inputs.current_logprobs.shape
    current = inputs.current_logprobs.detach().double().tolist()
    behavior = inputs.behavior_logprobs.double().tolist()
    counts = [int(row.sum()) for row in inputs.generated_mask]
    loss, grad = 0.0, [[0.0] * tokens for _ in range(sequences)]
    for s in range(sequences):
        if counts[s] == 0:
            continue
        places = [t for t in range(tokens) if inputs.generated_mask[s, t]]
        advantage = float(inputs.advantages[s])
        share = {
            "sequence": 1 / sequences,
            "token": counts[s] / sum(counts),
            "sum": counts[s] / objective.normalizer / sequences,
        }[objective.average]
        length = max(counts[s], objective.shortest)
        mean = sum(current[s][t] - behavior[s][t] for t in places) / length
        for t in places:
            weight = share / counts[s]
            if objective.importance_sampling_level == "none":
                loss -= weight * advantage * current[s][t]
                grad[s][t] -= weight * advantage
            else:
                by_token = objective.importance_sampling_level == "token"
                slope = 1.0 if by_token else counts[s] / length
                r = math.exp(current[s][t] - behavior[s][t] if by_token else mean)
                if advantage > 0 and r > 1 + objective.epsilon_high:
                    loss -= weight * advantage * (1 + objective.epsilon_high)
                elif advantage < 0 and r < 1 - objective.epsilon:
                    loss -= weight * advantage * (1 - objective.epsilon)
                else:
                    loss -= weight * advantage * r
                    grad[s][t] -= weight * advantage * r * slope
            if objective.beta:
                d = float(inputs.reference_logprobs[s, t]) - current[s][t]
                loss += objective.beta * weight * (math.exp(d) - d - 1)
                grad[s][t] += objective.beta * weight * (1 - math.exp(d))
    return loss, grad


def random_inputs(seed: int, drift: float, dtype: torch.dtype) -> LossInputs:
    """Draw seven sequences of up to twelve tokens, the third one without any generated token."""
    draw = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    behavior = -normal(7, 12).abs()
    mask = torch.rand(7, 12, generator=draw) < torch.rand(7, 1, generator=draw)
    mask[2] = False
    mask[3] = True
    return LossInputs(
        current_logprobs=(behavior + drift * normal(7, 12)).to(dtype).requires_grad_(),
        behavior_logprobs=behavior.to(dtype),
        generated_mask=mask,
        advantages=normal(7).to(dtype),
        reference_logprobs=(behavior + 0.5 * normal(7, 12)).to(dtype),
    )


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("ratio", RATIOS)
def test_value_and_gradient_equal_a_slow_loop(ratio: str, average: str) -> None:
    bounds = ((0.001, 3e-4, 4e-4), (0.5, 0.2, 0.28))
    dtypes = (torch.float32, torch.float64)
    for kl, seed, dtype, (drift, low, high) in product((0.0, 0.3), range(4), dtypes, bounds):
        settings = {"epsilon": low, "epsilon_high": high, "beta": kl, "normalizer": 8.0}
        objective = Objective(ratio, average=average, **settings)
        loss_inputs = random_inputs(seed, drift, dtype)
        outputs, grad = gradient(objective, loss_inputs)
        loss, expected = slow(objective, loss_inputs)
        target = torch.tensor(expected, dtype=dtype)
        # A loss is a sum of terms of both signs near 1, hence the absolute part.
        assert outputs.loss.item() == pytest.approx(loss, rel=1e-6, abs=2e-7)
        torch.testing.assert_close(grad, target, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("shortest", [1, 3, 8, 20])
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("ratio", ["sequence", "sequence_token"])
def test_value_and_gradient_with_a_length_floor_equal_a_slow_loop(
    ratio: str, average: str, shortest: int
) -> None:
    for seed, (drift, low, high) in enumerate([(0.001, 3e-4, 4e-4), (0.1, 3e-3, 4e-3)] * 2):
        settings = {"epsilon": low, "epsilon_high": high, "beta": 0.1, "normalizer": 8.0}
        objective = Objective(ratio, average=average, shortest=shortest, **settings)
        loss_inputs = random_inputs(seed, drift, torch.float64)
        outputs, grad = gradient(objective, loss_inputs)
        loss, expected = slow(objective, loss_inputs)
        assert outputs.loss.item() == pytest.approx(loss, rel=1e-6, abs=2e-7)
        torch.testing.assert_close(grad, torch.tensor(expected).double(), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("drift", [0.001, 0.5])
def test_the_token_form_equals_the_sequence_form_in_value_and_gradient(
    seed: int, drift: float
) -> None:
    loss_inputs = random_inputs(seed, drift, torch.float32)
    outputs, grad = gradient(Objective(beta=0.1), loss_inputs)
    by_token, by_token_grad = gradient(Objective("sequence_token", beta=0.1), loss_inputs)
    torch.testing.assert_close(by_token.loss, outputs.loss, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(by_token_grad, grad, rtol=1e-6, atol=1e-8)
    assert by_token.metrics["clip_fraction"] == pytest.approx(outputs.metrics["clip_fraction"])


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("average", AVERAGES)
def test_the_losses_of_parts_add_up_to_that_of_the_whole(ratio: str, average: str) -> None:
    objective = Objective(ratio, average=average, beta=0.1)
    whole = random_inputs(0, 0.1, torch.float64)
    parts = [
        LossInputs(
            whole.current_logprobs[rows],
            whole.behavior_logprobs[rows],
            whole.generated_mask[rows],
            whole.advantages[rows],
            whole.reference_logprobs[rows],
            sequences=7,
            tokens=int(whole.generated_mask.sum()),
        )
        for rows in (slice(0, 3), slice(3, 7))
    ]
    together = sum(objective(part).loss for part in parts)
    torch.testing.assert_close(together, objective(whole).loss, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("ratio", RATIOS)
def test_half_precision_inputs_are_computed_in_single_precision(ratio: str) -> None:
    half = random_inputs(1, 0.5, torch.bfloat16)
    single = LossInputs(
        half.current_logprobs.detach().float().requires_grad_(),
        half.behavior_logprobs.float(),
        half.generated_mask,
        half.advantages.float(),
        half.reference_logprobs.float(),
    )
    outputs, grad = gradient(Objective(ratio, beta=0.1, **WIDE), half)
    expected, wanted_grad = gradient(Objective(ratio, beta=0.1, **WIDE), single)
    assert outputs.loss.dtype == torch.float32
    assert outputs.loss.item() == expected.loss.item()
    # Only on its way back into the inputs is the gradient rounded to bfloat16.
    assert torch.equal(grad, wanted_grad.bfloat16())


def test_silence_and_end_tokens_are_trained_and_what_was_read_is_not() -> None:
    # A conversation of two read tokens, the silence token and the end token, through a table of
    # logits. At ratio 1 with A = 2: -2 / 2 on each sampled token's log-probability, and through
    # log-softmax -1 * (1 - p) = -0.75 on its logit with four tokens of p = 1 / 4.
    token_ids = torch.tensor([[0, 1, 2, 3]])
    logits = torch.zeros(1, 4, 4, requires_grad=True)
    current = logits.log_softmax(-1).gather(-1, token_ids[..., None])[..., 0]
    loss_inputs = LossInputs(
        current_logprobs=current,
        behavior_logprobs=current.detach(),
        generated_mask=torch.tensor([[False, False, True, True]]),
        advantages=torch.tensor([2.0]),
    )
    Objective()(loss_inputs).loss.backward()
    assert logits.grad[0, :2].tolist() == [[0.0] * 4] * 2
    assert logits.grad[0, 2].tolist() == pytest.approx([0.25, 0.25, -0.75, 0.25], rel=1e-6)
    assert logits.grad[0, 3].tolist() == pytest.approx([0.25, 0.25, 0.25, -0.75], rel=1e-6)


def test_no_gradient_reaches_the_policy_that_sampled() -> None:
    loss_inputs = random_inputs(0, 0.1, torch.float32)
    loss_inputs.behavior_logprobs.requires_grad_()
    loss_inputs.reference_logprobs.requires_grad_()
    Objective(beta=0.1)(loss_inputs).loss.backward()
    assert loss_inputs.behavior_logprobs.grad is None
    assert loss_inputs.reference_logprobs.grad is None


# Parts of unlike width


def part_of(rows: int, tokens: int, reference: bool) -> LossInputs:
    """Random log-probabilities of rows of one to all generated tokens."""
    generator = torch.Generator().manual_seed(rows)
    logprobs = -torch.rand(3, rows, tokens, generator=generator)
    lengths = 1 + torch.arange(rows)[:, None] % tokens
    return LossInputs(
        current_logprobs=logprobs[0].requires_grad_(),
        behavior_logprobs=logprobs[1],
        generated_mask=torch.arange(tokens)[None] < lengths,
        advantages=torch.randn(rows, generator=generator),
        reference_logprobs=logprobs[2] if reference else None,
        sequences=8,
        tokens=8,
    )


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize("average", ["sequence", "token"])
def test_losses_and_metrics_of_parts_of_unlike_width_add_up_to_that_of_the_whole(
    reference, average
):
    parts = [part_of(rows, tokens, reference) for rows, tokens in ((1, 2), (5, 9), (2, 4))]
    objective = Objective(average=average, beta=0.1 if reference else 0.0)
    whole = objective(joined(parts))
    outputs = [objective(part) for part in parts]
    total = sum(output.loss.item() for output in outputs)
    assert whole.loss.item() == pytest.approx(total, rel=1e-5)
    metrics = metrics_of([output.rows for output in outputs], 8.0)
    assert metrics == pytest.approx(whole.metrics, rel=1e-5)


def joined(parts: list[LossInputs]) -> LossInputs:
    """Return the parts as one batch, padded on the right to the longest sequence."""

    def stacked(name: str) -> torch.Tensor | None:
        results = [getattr(part, name) for part in parts]
        if results[0] is None:
            return None
        width = max(result.shape[-1] for result in results)
        return torch.cat([pad(result.detach(), (0, width - result.shape[1])) for result in results])

    return LossInputs(
        stacked("current_logprobs"),
        stacked("behavior_logprobs"),
        stacked("generated_mask"),
        torch.cat([part.advantages for part in parts]),
        stacked("reference_logprobs"),
        sequences=8,
        tokens=8,
    )
