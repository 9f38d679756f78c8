"""Weights between the engine that sampled and the trainer, worked out by hand."""

from __future__ import annotations

import math
from typing import get_args

import pytest
import torch

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.training.correction import Correction, Kind
from laconic.learners.training.objective import LossInputs, Objective

# log pi_old - log mu of three sequences of up to three tokens; where there is no token is NaN.
#   w = 4, 1/4, 1      product W = 1       geometric mean G = 1
#   w = 8, 1/2         W = 4               G = 2
#   w = 1/4, 1/4, 1/2  W = 1/32            G = 2 ** (-5/3) = 0.315
MU = torch.zeros(3, 3)
OLD = torch.log(torch.tensor([[4.0, 0.25, 1.0], [8.0, 0.5, math.nan], [0.25, 0.25, 0.5]]))
MASK = torch.tensor([[True, True, True], [True, True, False], [True, True, True]])


def test_the_bounds_of_each_kind_are_those_of_its_paper_or_of_trl():
    by_kind = {kind: Correction(kind).bounds for kind in get_args(Kind) if kind != "auto"}
    assert by_kind == {
        "none": (0.0, math.inf),
        "token_truncate": (0.0, 2.0),
        "token_mask": (0.5, 5.0),
        "sequence_truncate": (0.0, 3.0),
        "sequence_mask": (0.0, 3.0),
        "geometric_mask": (0.5, 2.0),
    }


def weights(kind, ratio="token", low=None, high=None):
    return Correction(kind, low, high).weights(OLD, MU, MASK, ratio).tolist()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"kind": "none"}, [[1, 1, 1], [1, 1, 1], [1, 1, 1]]),
        # Brought into [0, 2], [0, 5], [0.5, 2].
        ({"kind": "token_truncate"}, [[2, 0.25, 1], [2, 0.5, 1], [0.25, 0.25, 0.5]]),
        ({"kind": "token_truncate", "high": 5.0}, [[4, 0.25, 1], [5, 0.5, 1], [0.25, 0.25, 0.5]]),
        ({"kind": "token_truncate", "low": 0.5}, [[2, 0.5, 1], [2, 0.5, 1], [0.5, 0.5, 0.5]]),
        # Inside [0.5, 5]: 4 and 1; 0.5 itself; 0.5 again.
        ({"kind": "token_mask"}, [[4, 0, 1], [0, 0.5, 1], [0, 0, 0.5]]),
        # W = 1, 4, 1/32 brought into [0, 3], [0, 10], [0.25, 3].
        ({"kind": "sequence_truncate"}, [[1, 1, 1], [3, 3, 1], [1 / 32] * 3]),
        ({"kind": "sequence_truncate", "high": 10.0}, [[1, 1, 1], [4, 4, 1], [1 / 32] * 3]),
        ({"kind": "sequence_truncate", "low": 0.25}, [[1, 1, 1], [3, 3, 1], [0.25] * 3]),
        # W = 1 and 1/32 lie in [0, 3], and 4 does not; all lie in [0, 4]; 1/32 not in [0.25, 4].
        ({"kind": "sequence_mask"}, [[1, 1, 1], [0, 0, 1], [1 / 32] * 3]),
        ({"kind": "sequence_mask", "high": 4.001}, [[1, 1, 1], [4, 4, 1], [1 / 32] * 3]),
        ({"kind": "sequence_mask", "low": 0.25, "high": 5.0}, [[1, 1, 1], [4, 4, 1], [0, 0, 0]]),
        # G = 1, 2, 0.315: two lie in [0.5, 2], the first in [0.5, 1.9], all in [0.3, 2].
        ({"kind": "geometric_mask"}, [[1, 1, 1], [1, 1, 1], [0, 0, 0]]),
        ({"kind": "geometric_mask", "high": 1.9}, [[1, 1, 1], [0, 0, 1], [0, 0, 0]]),
        ({"kind": "geometric_mask", "low": 0.3}, [[1, 1, 1], [1, 1, 1], [1, 1, 1]]),
    ],
)
def test_each_kind_gives_the_weights_of_its_formula(settings, expected):
    for ratio in ("token", "sequence", "sequence_token"):
        if ratio != "token" and settings["kind"].startswith("token"):
            continue
        for row, target in zip(weights(**settings, ratio=ratio), expected, strict=True):
            assert row == pytest.approx(target, rel=1e-5)


@pytest.mark.parametrize(
    ("ratio", "kind"),
    [
        ("sequence", "sequence_truncate"),
        ("sequence_token", "sequence_truncate"),
        ("token", "token_truncate"),
        ("none", "token_truncate"),
    ],
)
def test_auto_is_the_truncation_that_fits_the_ratio(ratio, kind):
    chosen = Correction("auto", 0.25, 7.0).of_ratio(ratio)
    assert (chosen.kind, chosen.bounds) == (kind, (0.25, 7.0))
    assert weights("auto", ratio) == weights(kind, ratio)


@pytest.mark.parametrize("kind", [kind for kind in get_args(Kind) if kind not in ("auto", "none")])
def test_weights_agree_with_a_slow_loop_of_their_own(kind):
    generator = torch.Generator().manual_seed(0)
    old, mu = torch.randn(2, 40, 7, generator=generator)
    mask = torch.rand(40, 7, generator=generator) > 0.3
    result = Correction(kind).weights(old, mu, mask, "token")
    low, high = Correction(kind).bounds
    records = set()
    for row in range(40):
        logs = [float(old[row, t] - mu[row, t]) for t in range(7) if mask[row, t]]
        for t in range(7):
            if kind.startswith("token"):
                value = math.exp(float(old[row, t] - mu[row, t]))
            else:
                value = math.exp(sum(logs) / (len(logs) if kind == "geometric_mask" else 1))
            inside = low <= value <= high
            records.add((inside, value > high))
            if kind.endswith("truncate"):
                expected = min(max(value, low), high)
            else:
                expected = float(inside) if kind == "geometric_mask" else value * inside
            assert float(result[row, t]) == pytest.approx(expected if mask[row, t] else 1, rel=1e-4)
    assert len(records) >= 2


def test_a_weight_is_finite_however_far_apart_two_policies_are():
    old, mask = torch.full((1, 50), 30.0), torch.ones(1, 50, dtype=torch.bool)
    for kind in get_args(Kind):
        for sign in (-1.0, 1.0):
            result = Correction(kind, 0.0, 1e30).weights(sign * old, 0 * old, mask, "token")
            assert result.isfinite().all()


def test_equal_log_probabilities_change_no_loss_and_no_gradient():
    current = torch.randn(2, 3, requires_grad=True)
    loss_inputs = {
        "behavior_logprobs": current.detach() - 0.1,
        "generated_mask": MASK[:2],
        "advantages": torch.tensor([1.0, -1.0]),
    }
    objective, ones = Objective(), torch.ones(2, 3)
    plain = objective(LossInputs(current, **loss_inputs))
    (first,) = torch.autograd.grad(plain.loss, current)
    rollout = loss_inputs["behavior_logprobs"]
    apart = objective(LossInputs(current, **loss_inputs, rollout_logprobs=rollout, weights=ones))
    (second,) = torch.autograd.grad(apart.loss, current)
    assert torch.equal(plain.loss, apart.loss) and torch.equal(first, second)
    assert apart.metrics["mismatch_kl"] == apart.metrics["mismatch_max"] == 0.0
    assert "mismatch_kl" not in plain.metrics


def test_a_masked_sequence_has_no_gradient_and_is_counted_by_its_tokens():
    current = torch.zeros(2, 3, requires_grad=True)
    inputs = LossInputs(
        current,
        behavior_logprobs=torch.nan_to_num(OLD[:2]),
        generated_mask=MASK[:2],
        advantages=torch.ones(2),
        rollout_logprobs=MU[:2],
        weights=Correction("sequence_mask").weights(OLD[:2], MU[:2], MASK[:2], "token"),
    )
    outputs = Objective("token", epsilon_high=math.inf, epsilon=1.0)(inputs)
    (gradient,) = torch.autograd.grad(outputs.loss, current)
    assert gradient[0].abs().min() > 0 and gradient[1].abs().max() == 0
    # Two of five tokens; the largest |log w| is log 8; k3 of d = log w is e^d - d - 1.
    assert outputs.metrics["masked_share"] == pytest.approx(0.4)
    assert outputs.metrics["mismatch_max"] == pytest.approx(math.log(8))
    k3 = [w - math.log(w) - 1 for w in (4, 0.25, 1, 8, 0.5)]
    assert outputs.metrics["mismatch_kl"] == pytest.approx(sum(k3) / 5, rel=1e-5)


def test_a_ratio_per_sequence_takes_no_correction_per_token():
    for ratio in ("sequence", "sequence_token"):
        with pytest.raises(SettingError, match="token_mask weighs tokens.*take sequence_truncate"):
            Correction("token_mask").of_ratio(ratio)


def test_words_and_bounds_are_checked():
    with pytest.raises(UnknownNameError, match="learner.correction"):
        Correction("tis")
    for low, high in ((1.5, None), (-0.1, None), (None, 0.5)):
        with pytest.raises(SettingError, match="learner.correction_"):
            Correction("token_mask", low, high)
