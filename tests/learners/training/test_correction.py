"""Weights between the engine that sampled and the trainer, worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.training.correction import Correction
from laconic.learners.training.objective import LossInputs, Objective

# log pi_old - log mu of two sequences of three tokens; the last of the second is no token.
# w = 4, 1/4, 1 and 8, 1/2: products 1 and 4, geometric means 1 and 2.
MU = torch.zeros(2, 3)
OLD = torch.log(torch.tensor([[4.0, 0.25, 1.0], [8.0, 0.5, math.nan]]))
MASK = torch.tensor([[True, True, True], [True, True, False]])


def weights(kind, ratio="token", low=None, high=None):
    return Correction(kind, low, high).weights(OLD, MU, MASK, ratio).tolist()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"kind": "none"}, [[1, 1, 1], [1, 1, 1]]),
        ({"kind": "token_truncate"}, [[2, 0.25, 1], [2, 0.5, 1]]),
        ({"kind": "token_truncate", "high": 5.0}, [[4, 0.25, 1], [5, 0.5, 1]]),
        # Inside of 0.5 to 5: 4 and 1, and 0.5 itself.
        ({"kind": "token_mask"}, [[4, 0, 1], [0, 0.5, 1]]),
        # Products 1 and 4 against 0.5 to 2.
        ({"kind": "sequence_mask"}, [[1, 1, 1], [0, 0, 1]]),
        # Geometric means 1 and 2: both inside, the second not of 0.5 to 1.9.
        ({"kind": "sequence_mask", "ratio": "sequence"}, [[1, 1, 1], [1, 1, 1]]),
        ({"kind": "sequence_mask", "ratio": "sequence", "high": 1.9}, [[1, 1, 1], [0, 0, 1]]),
        ({"kind": "auto", "ratio": "sequence", "high": 1.9}, [[1, 1, 1], [0, 0, 1]]),
        ({"kind": "auto"}, [[2, 0.25, 1], [2, 0.5, 1]]),
    ],
)
def test_each_kind_gives_the_weights_of_its_formula(given, expected):
    for row, wanted in zip(weights(**given), expected, strict=True):
        assert row == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("kind", ["token_truncate", "token_mask", "sequence_mask"])
@pytest.mark.parametrize("ratio", ["token", "sequence"])
def test_weights_agree_with_a_slow_loop_of_their_own(kind, ratio):
    if ratio == "sequence" and kind != "sequence_mask":
        return
    generator = torch.Generator().manual_seed(0)
    old, mu = torch.randn(2, 5, 7, generator=generator)
    mask = torch.rand(5, 7, generator=generator) > 0.3
    found = Correction(kind).weights(old, mu, mask, ratio)
    for row in range(5):
        logs = [float(old[row, t] - mu[row, t]) for t in range(7) if mask[row, t]]
        whole = math.exp(sum(logs) / (len(logs) if ratio == "sequence" else 1))
        for t in range(7):
            w = math.exp(float(old[row, t] - mu[row, t]))
            expected = {
                "token_truncate": min(w, 2.0),
                "token_mask": w if 0.5 <= w <= 5.0 else 0.0,
                "sequence_mask": float(0.5 <= whole <= 2.0),
            }[kind]
            assert float(found[row, t]) == pytest.approx(expected if mask[row, t] else 1, rel=1e-5)


def test_equal_log_probabilities_change_no_loss_and_no_gradient():
    current = torch.randn(2, 3, requires_grad=True)
    given = {
        "behaviour_logprobs": current.detach() - 0.1,
        "generated_mask": MASK,
        "advantages": torch.tensor([1.0, -1.0]),
    }
    objective, ones = Objective(), torch.ones(2, 3)
    plain = objective(LossInputs(current, **given))
    (first,) = torch.autograd.grad(plain.loss, current)
    rollout = given["behaviour_logprobs"]
    apart = objective(LossInputs(current, **given, rollout_logprobs=rollout, weights=ones))
    (second,) = torch.autograd.grad(apart.loss, current)
    assert torch.equal(plain.loss, apart.loss) and torch.equal(first, second)
    assert apart.metrics["mismatch_kl"] == apart.metrics["mismatch_max"] == 0.0
    assert "mismatch_kl" not in plain.metrics


def test_a_masked_sequence_has_no_gradient_and_is_counted_by_its_tokens():
    current = torch.zeros(2, 3, requires_grad=True)
    inputs = LossInputs(
        current,
        behaviour_logprobs=torch.nan_to_num(OLD),
        generated_mask=MASK,
        advantages=torch.ones(2),
        rollout_logprobs=MU,
        weights=Correction("sequence_mask").weights(OLD, MU, MASK, "token"),
    )
    outputs = Objective(ratio="token", clip_high=math.inf, clip_low=1.0)(inputs)
    (gradient,) = torch.autograd.grad(outputs.loss, current)
    assert gradient[0].abs().min() > 0 and gradient[1].abs().max() == 0
    # Two of five tokens; the largest |log w| is log 8; k3 of d = log w is e^d - d - 1.
    assert outputs.metrics["masked_share"] == pytest.approx(0.4)
    assert outputs.metrics["mismatch_max"] == pytest.approx(math.log(8))
    k3 = [w - math.log(w) - 1 for w in (4, 0.25, 1, 8, 0.5)]
    assert outputs.metrics["mismatch_kl"] == pytest.approx(sum(k3) / 5, rel=1e-5)


def test_a_ratio_per_sequence_takes_no_correction_per_token():
    for ratio in ("sequence", "sequence_token"):
        with pytest.raises(SettingError, match="learner.correction=token_mask weighs tokens"):
            Correction("token_mask").of_ratio(ratio)


def test_words_and_bounds_are_checked():
    with pytest.raises(UnknownNameError, match="learner.correction"):
        Correction("tis")
    for low, high in ((1.5, None), (-0.1, None), (None, 0.5)):
        with pytest.raises(SettingError, match="learner.correction_"):
            Correction("token_mask", low, high)
