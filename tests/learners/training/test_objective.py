"""The loss against hand-worked numbers."""

from __future__ import annotations

import math

import pytest
import torch
from losses import AVERAGES, LN2, PAPER, RATIOS, WIDE, gradient, inputs

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.training.objective import LossInputs, Objective

# Degenerate cases


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("average", AVERAGES)
def test_a_batch_without_generated_tokens_has_loss_zero_and_gradient_zero(
    ratio: str, average: str
) -> None:
    loss_inputs = inputs([[math.nan, 1.0]], [[0, 0]], [3.0])
    outputs, grad = gradient(Objective(ratio, average=average), loss_inputs)
    assert outputs.metrics == {"loss": 0.0, "sequences": 0.0}
    assert grad.tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("ratio", RATIOS)
def test_an_empty_sequence_counts_in_the_mean_with_loss_zero(ratio: str) -> None:
    # Alone the first sequence has a loss; beside an empty one it has half of it.
    alone = Objective(ratio)(inputs([[0.0, 0.0]], [[1, 1]], [1.5]))
    both = Objective(ratio)(inputs([[0.0, 0.0]] * 2, [[1, 1], [0, 0]], [1.5, 8.0]))
    assert both.loss.item() == pytest.approx(alone.loss.item() / 2, rel=1e-6)
    assert both.metrics["sequences"] == 1.0


def test_a_divisor_leaves_empty_sequences_out_of_the_mean() -> None:
    loss_inputs = inputs([[0.0, 0.0]] * 2, [[1, 1], [0, 0]], [1.5, 8.0])
    counted = LossInputs(
        loss_inputs.current_logprobs,
        loss_inputs.behavior_logprobs,
        loss_inputs.generated_mask,
        loss_inputs.advantages,
        sequences=1,
    )
    assert Objective()(counted).loss.item() == -1.5


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_masked_tokens_have_no_gradient_and_no_say_even_when_they_are_not_finite(
    ratio: str, bad: float
) -> None:
    objective = Objective(ratio, beta=0.1, **WIDE)
    clean = inputs([[0.0, 0.1, 0.2]], [[0, 1, 1]], [1.0], reference=[[0.0, -1.0, -1.2]])
    dirty = inputs([[bad, 0.1, 0.2]], [[0, 1, 1]], [1.0], reference=[[bad, -1.0, -1.2]])
    dirty.behavior_logprobs[0, 0] = bad
    expected, wanted_grad = gradient(objective, clean)
    got, got_grad = gradient(objective, dirty)
    assert got.metrics == expected.metrics
    assert torch.equal(got_grad, wanted_grad)
    assert got_grad[0, 0] == 0.0


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_generated_token_that_is_not_finite_shows_in_the_loss(ratio: str) -> None:
    assert math.isnan(Objective(ratio)(inputs([[math.nan]], [[1]], [1.0])).loss.item())


@pytest.mark.parametrize("ratio", ["sequence", "sequence_token", "token"])
@pytest.mark.parametrize("advantage", [-2.0, 2.0])
@pytest.mark.parametrize("value", [1e6, 1e-6])
def test_extreme_ratios_stay_finite(ratio: str, advantage: float, value: float) -> None:
    outputs, grad = gradient(
        Objective(ratio, beta=0.1),
        inputs([[math.log(value)] * 3], [[1, 1, 1]], [advantage], reference=[[-30.0] * 3]),
    )
    assert outputs.loss.isfinite()
    assert grad.isfinite().all()
    assert outputs.metrics["ratio_max"] == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("ratio", ["sequence", "sequence_token", "token"])
def test_a_ratio_beyond_the_limit_is_finite_and_has_no_gradient(ratio: str) -> None:
    outputs, grad = gradient(Objective(ratio), inputs([[500.0]], [[1]], [-1.0]))
    assert outputs.loss.item() == pytest.approx(math.exp(20), rel=1e-6)
    assert grad.item() == 0.0


# Numbers by hand


def test_the_sequence_ratio_is_the_exponential_of_the_mean_log_ratio() -> None:
    # Log-ratios ln 4 and 0: s = exp(ln 2) = 2; loss -2 * 3 = -6; gradient -s A / |y| = -3 each.
    outputs, grad = gradient(Objective(**WIDE), inputs([[2 * LN2, 0.0]], [[1, 1]], [3.0]))
    assert outputs.loss.item() == pytest.approx(-6.0, rel=1e-6)
    assert grad[0].tolist() == pytest.approx([-3.0, -3.0], rel=1e-6)


def test_the_token_ratio_differs_from_the_sequence_ratio() -> None:
    # The same log-ratios by token: ratios 4 and 1, mean 2.5; loss -7.5; gradient -4 * 3 / 2 and
    # -1 * 3 / 2.
    outputs, grad = gradient(Objective("token", **WIDE), inputs([[2 * LN2, 0.0]], [[1, 1]], [3.0]))
    assert outputs.loss.item() == pytest.approx(-7.5, rel=1e-6)
    assert grad[0].tolist() == pytest.approx([-6.0, -1.5], rel=1e-6)


def test_without_a_ratio_the_loss_is_the_mean_log_probability_times_the_advantage() -> None:
    # Log-probabilities -1 + 0.2 and -1: mean -0.9; loss -(-0.9) * 2 = 1.8; gradient -2 / 2 each.
    outputs, grad = gradient(Objective("none"), inputs([[0.2, 0.0]], [[1, 1]], [2.0]))
    assert outputs.loss.item() == pytest.approx(1.8, rel=1e-6)
    assert grad[0].tolist() == [-1.0, -1.0]
    assert "clip_fraction" not in outputs.metrics


def test_a_sum_is_the_log_probability_of_a_whole_sequence_times_its_advantage() -> None:
    # REINFORCE: log-probabilities (-1 + 0.2) + -1 = -1.8 and -1: -(-1.8 * 2) = 3.6 and
    # -(-1 * -3) = -3, mean 0.3; gradient -2 / 2 on both tokens of the first, 3 / 2 on the other.
    loss_inputs = inputs([[0.2, 0.0], [0.0, 9.0]], [[1, 1], [1, 0]], [2.0, -3.0])
    outputs, grad = gradient(Objective("none", average="sum"), loss_inputs)
    assert outputs.loss.item() == pytest.approx(0.3, rel=1e-5)
    assert grad.tolist() == [[-1.0, -1.0], [1.5, 0.0]]


def test_a_constant_normalizer_weighs_tokens_alike_whatever_the_length() -> None:
    # Dr. GRPO at ratio 1 with constant 10: -A / 10 / 2 sequences per token: -0.15 and 0.05.
    loss_inputs = inputs([[0.0] * 3] * 2, [[1, 1, 0], [1, 1, 1]], [3.0, -1.0])
    outputs, grad = gradient(Objective("token", average="sum", normalizer=10.0), loss_inputs)
    # -(2 * 3 + 3 * -1) / 10 / 2 = -0.15
    assert outputs.loss.item() == pytest.approx(-0.15, rel=1e-6)
    assert grad.flatten().tolist() == pytest.approx([-0.15, -0.15, 0] + [0.05] * 3, rel=1e-6)


@pytest.mark.parametrize(("average", "divisor"), [("sequence", 7), ("sum", 7), ("token", 31)])
def test_the_divisor_counts_what_is_averaged_over(average: str, divisor: int) -> None:
    assert Objective(average=average).divisor(7, 31) == divisor
    assert Objective(average=average).divisor(0, 0) == 1


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("average", AVERAGES)
def test_advantages_of_one_sign_push_every_token_the_same_way(
    ratio: str, average: str, sign: float
) -> None:
    loss_inputs = inputs([[0.0, 0.0], [0.0, 0.0]], [[1, 1], [1, 0]], [sign, 3 * sign])
    _, grad = gradient(Objective(ratio, average=average), loss_inputs)
    assert (grad * sign <= 0).all() and (grad[loss_inputs.generated_mask] != 0).all()


@pytest.mark.parametrize("ratio", ["sequence", "sequence_token", "token"])
def test_at_ratio_one_the_gradient_is_that_of_reinforce(ratio: str) -> None:
    # -A / |y| / sequences: -3 / 2 / 2 on two tokens, 1 / 3 / 2 on three.
    outputs, grad = gradient(
        Objective(ratio), inputs([[0.0] * 3] * 2, [[1, 1, 0], [1, 1, 1]], [3.0, -1.0])
    )
    assert grad.flatten().tolist() == pytest.approx([-0.75, -0.75, 0] + [1 / 6] * 3, rel=1e-6)
    assert outputs.metrics["clip_fraction"] == 0.0
    assert outputs.metrics["ratio_mean"] == 1.0
    assert outputs.metrics["approx_kl"] == 0.0


@pytest.mark.parametrize(
    ("log_ratio", "advantage", "loss"),
    [
        (0.01, 2.0, -2.0 * 1.0004),  # above and good: clipped
        (-0.01, -2.0, 2.0 * 0.9997),  # below and bad: clipped
        (0.01, -2.0, 2.0 * math.exp(0.01)),  # above and bad: kept
        (-0.01, 2.0, -2.0 * math.exp(-0.01)),  # below and good: kept
        (0.0002, 2.0, -2.0 * math.exp(0.0002)),  # inside: kept
    ],
)
@pytest.mark.parametrize("ratio", ["sequence", "sequence_token", "token"])
def test_the_clip_acts_where_it_removes_an_incentive(
    ratio: str, log_ratio: float, advantage: float, loss: float
) -> None:
    outputs, grad = gradient(
        Objective(ratio, **PAPER), inputs([[log_ratio] * 4], [[1] * 4], [advantage])
    )
    clipped = loss in (-2.0 * 1.0004, 2.0 * 0.9997)
    assert outputs.loss.item() == pytest.approx(loss, rel=1e-6)
    assert outputs.metrics["clip_fraction"] == float(clipped)
    assert bool((grad == 0).all()) is clipped


def test_a_clipped_sequence_gives_no_gradient_to_any_of_its_tokens() -> None:
    # The mean log-ratio 0.1 is clipped, though the second token's own ratio is below 1.
    _, grad = gradient(
        Objective(**PAPER), inputs([[0.4, -0.2], [0.0, 0.0]], [[1, 1], [1, 1]], [1.0, 1.0])
    )
    assert grad[0].tolist() == [0.0, 0.0]
    assert grad[1].tolist() == [-0.25, -0.25]


def test_without_bounds_nothing_is_clipped() -> None:
    free = Objective(epsilon=1.0, epsilon_high=math.inf)
    outputs = free(inputs([[3.0], [-3.0]], [[1], [1]], [1.0, -1.0]))
    assert outputs.loss.item() == pytest.approx((-math.exp(3) + math.exp(-3)) / 2, rel=1e-6)
    assert outputs.metrics["clip_fraction"] == 0.0


def test_duplicating_every_token_leaves_the_sequence_ratio_unchanged() -> None:
    short = Objective(**WIDE)(inputs([[0.3, -0.1, 0.2]], [[1, 1, 1]], [1.0]))
    long = Objective(**WIDE)(inputs([[0.3, 0.3, -0.1, -0.1, 0.2, 0.2]], [[1] * 6], [1.0]))
    assert long.metrics["ratio_mean"] == pytest.approx(short.metrics["ratio_mean"], rel=1e-6)
    assert long.loss.item() == pytest.approx(short.loss.item(), rel=1e-6)


def test_the_approximate_kl_runs_from_the_behavior_to_the_current_policy() -> None:
    # k3 at samples of the behavior policy: with r = current / behavior it is r - 1 - ln r.
    # r = 2: 1 - 0.6931 = 0.3069; r = 1/2: -0.5 + 0.6931 = 0.1931; the other way round they swap.
    for log_ratio, expected in ((LN2, 0.306853), (-LN2, 0.193147)):
        outputs = Objective(**WIDE)(inputs([[log_ratio]], [[1]], [1.0]))
        assert outputs.metrics["approx_kl"] == pytest.approx(expected, abs=1e-5)


def test_averaging_by_token_weighs_sequences_by_length() -> None:
    # Three tokens with A = 1, one with A = 5: by token (3 + 5) / 4, by sequence (1 + 5) / 2.
    loss_inputs = inputs([[0.0] * 3] * 2, [[1, 1, 1], [1, 0, 0]], [1.0, 5.0])
    assert Objective(average="token")(loss_inputs).loss.item() == -2.0
    assert Objective(average="sequence")(loss_inputs).loss.item() == -3.0


def test_kl_is_added_by_the_same_average() -> None:
    # d = reference - current: -1.5 + 1 = -0.5 and 0; k3 = exp(-0.5) + 0.5 - 1 = 0.1065307 and 0.
    # Loss -1 + 2 * 0.1065307 / 2; gradient 2 * (1 - exp(-0.5)) / 2 on the first token, less A / 2.
    loss_inputs = inputs([[0.0, 0.0]], [[1, 1]], [1.0], reference=[[-1.5, -1.0]])
    outputs, grad = gradient(Objective(beta=2.0), loss_inputs)
    assert outputs.loss.item() == pytest.approx(-1 + 0.1065307, rel=1e-6)
    assert outputs.metrics["reference_kl"] == pytest.approx(0.1065307 / 2, rel=1e-6)
    assert grad[0].tolist() == pytest.approx([0.3934693 - 0.5, -0.5], rel=1e-6)


def test_a_reference_is_measured_but_not_paid_for_at_weight_zero() -> None:
    outputs = Objective()(inputs([[0.0, 0.0]], [[1, 1]], [1.0], reference=[[-1.5, -1.0]]))
    assert outputs.loss.item() == -1.0
    assert outputs.metrics["reference_kl"] == pytest.approx(0.1065307 / 2, rel=1e-6)
    undefined = inputs([[0.0, 0.0]], [[1, 1]], [1.0], reference=[[math.nan, -1.0]])
    assert Objective()(undefined).loss.item() == -1.0


def test_metrics_tell_ratios_and_divergence() -> None:
    # Sequence ratios 2 and 1 / 2, the empty one left out; k3 of ln 2 is 2 - 1 - ln 2 = 0.3068528,
    # of -ln 2 it is 0.5 - 1 + ln 2 = 0.1931472; their mean 0.25.
    loss_inputs = inputs([[LN2], [-LN2], [7.0]], [[1], [1], [0]], [1.0, 1.0, 1.0])
    metrics = Objective(**WIDE)(loss_inputs).metrics
    assert metrics["sequences"] == 2.0
    assert metrics["ratio_mean"] == pytest.approx(1.25, rel=1e-6)
    assert metrics["ratio_min"] == pytest.approx(0.5, rel=1e-6)
    assert metrics["ratio_max"] == pytest.approx(2.0, rel=1e-6)
    assert metrics["approx_kl"] == pytest.approx(0.25, rel=1e-6)


def test_clipping_is_told_by_length() -> None:
    # Lengths 2, 2, 8, 40 and an empty one; the first and the third are clipped.
    lengths, log_ratios = [2, 2, 8, 40, 0], [0.1, 0.0, 0.1, 0.0, 0.1]
    mask = [[1] * length + [0] * (40 - length) for length in lengths]
    loss_inputs = inputs([[value] * 40 for value in log_ratios], mask, [1.0] * 5)
    metrics = Objective(**PAPER)(loss_inputs).metrics
    assert {key: value for key, value in metrics.items() if key.startswith("clip")} == {
        "clip_fraction": 0.5,
        "clip_fraction/1-2": 0.5,
        "clip_fraction/3-8": 1.0,
        "clip_fraction/33+": 0.0,
    }


def test_a_token_ratio_is_clipped_by_the_share_of_its_tokens() -> None:
    # Of four tokens with A > 0 one lies above 1 + epsilon_high.
    loss_inputs = inputs([[0.1, 0.0, -0.1, 0.0]], [[1, 1, 1, 1]], [1.0])
    assert Objective("token", **PAPER)(loss_inputs).metrics["clip_fraction"] == 0.25


@pytest.mark.parametrize("ratio", ["sequence", "sequence_token"])
def test_a_length_floor_divides_the_log_ratios_of_a_short_sequence_by_more_tokens(ratio) -> None:
    # One token with log-ratio ln 4, counted as two: s = exp(ln 4 / 2) = 2; loss -2 * 3 = -6;
    # gradient -s A / 2 = -3.
    outputs, grad = gradient(
        Objective(ratio, shortest=2, **WIDE), inputs([[2 * LN2]], [[1]], [3.0])
    )
    assert outputs.loss.item() == pytest.approx(-6.0, rel=1e-6)
    assert grad.item() == pytest.approx(-3.0, rel=1e-6)
    assert outputs.metrics["ratio_max"] == pytest.approx(2.0, rel=1e-6)
    # By its own length of one: s = 4; loss -12; gradient -12.
    outputs, grad = gradient(
        Objective(ratio, shortest=1, **WIDE), inputs([[2 * LN2]], [[1]], [3.0])
    )
    assert (outputs.loss.item(), grad.item()) == pytest.approx((-12.0, -12.0), rel=1e-6)


@pytest.mark.parametrize("ratio", ["sequence", "sequence_token"])
@pytest.mark.parametrize("shortest", [1, 2, 3])
def test_a_length_floor_leaves_longer_sequences_alone(ratio: str, shortest: int) -> None:
    # Log-ratios ln 4, ln 2 and 0: s = exp(ln 8 / 3) = 2; loss -2; gradient -2 / 3 each.
    loss_inputs = inputs([[2 * LN2, LN2, 0.0]], [[1, 1, 1]], [1.0])
    outputs, grad = gradient(Objective(ratio, shortest=shortest, **WIDE), loss_inputs)
    assert outputs.loss.item() == pytest.approx(-2.0, rel=1e-6)
    assert grad[0].tolist() == pytest.approx([-2 / 3] * 3, rel=1e-6)


def test_a_length_floor_lets_a_small_clip_act_on_messages_and_not_on_every_silence() -> None:
    # Log-ratios of 0.01 a token on one and on ten tokens, clip at 1.004. By its own length both
    # ratios are exp(0.01) = 1.01 and clipped; with a floor of 8 the short one is exp(0.01 / 8)
    # = 1.00125 and kept.
    loss_inputs = inputs([[0.01] * 10] * 2, [[1] + [0] * 9, [1] * 10], [1.0, 1.0])
    clip = {"epsilon": 3e-3, "epsilon_high": 4e-3}
    for shortest, silence in ((1, 1.0), (8, 0.0)):
        metrics = Objective(shortest=shortest, **clip)(loss_inputs).metrics
        assert metrics["clip_fraction/1-2"] == silence
        assert metrics["clip_fraction/9-32"] == 1.0


def test_the_share_of_ratios_that_are_not_one_is_told() -> None:
    # Sequence ratios 1, 1.00005 (rounding), 1.001, 0.99 and an empty one: two of four.
    loss_inputs = inputs([[0.0], [5e-5], [1e-3], [-1e-2], [7.0]], [[1]] * 4 + [[0]], [1.0] * 5)
    assert Objective()(loss_inputs).metrics["moved_fraction"] == 0.5
    # By token: two of three tokens of the first, none of the second.
    loss_inputs = inputs([[0.1, 0.0, -0.1], [0.0, 0.0, 0.0]], [[1, 1, 1]] * 2, [1.0, 1.0])
    moved = Objective("token")(loss_inputs).metrics["moved_fraction"]
    assert moved == pytest.approx(1 / 3, rel=1e-6)
    # As a sequence the mean log-ratio of the first is 0.
    assert Objective()(loss_inputs).metrics["moved_fraction"] == 0.0
    assert "moved_fraction" not in Objective("none")(loss_inputs).metrics


# Settings and shapes


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"importance_sampling_level": "gspo"},
            "unknown learner.objective.importance_sampling_level 'gspo'",
        ),
        (
            {"average": "batch"},
            "unknown learner.objective.average 'batch'.*Known: sequence, sum, token",
        ),
        ({"epsilon": 0.0}, "learner.objective.epsilon"),
        ({"epsilon": 1.5}, "learner.objective.epsilon"),
        ({"epsilon": math.nan}, "learner.objective.epsilon"),
        ({"epsilon": "3e-4"}, "learner.objective.epsilon"),
        ({"epsilon_high": 0.0}, "learner.objective.epsilon_high"),
        ({"epsilon_high": math.nan}, "learner.objective.epsilon_high"),
        ({"beta": -0.1}, "learner.objective.beta"),
        ({"beta": math.inf}, "learner.objective.beta"),
        ({"beta": True}, "learner.objective.beta"),
        ({"normalizer": 0}, "learner.objective.normalizer"),
        ({"normalizer": math.inf}, "learner.objective.normalizer"),
        ({"normalizer": None}, "learner.objective.normalizer"),
        ({"shortest": 0}, "learner.objective.shortest"),
        ({"shortest": 2.5}, "learner.objective.shortest"),
        ({"shortest": None}, "learner.objective.shortest"),
        (
            {"shortest": 8, "importance_sampling_level": "token"},
            "importance_sampling_level=token; set it to sequence, or",
        ),
        (
            {"shortest": 8, "importance_sampling_level": "none"},
            "learner.objective.importance_sampling_level=none",
        ),
    ],
)
def test_a_wrong_setting_is_refused_by_name(settings: dict, words: str) -> None:
    with pytest.raises((SettingError, UnknownNameError), match=words):
        Objective(**settings)


def test_a_kl_needs_a_reference() -> None:
    with pytest.raises(SettingError, match="no reference_logprobs"):
        Objective(beta=0.1)(inputs([[0.0]], [[1]], [1.0]))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"current_logprobs": torch.zeros(3)}, "current_logprobs"),
        ({"current_logprobs": torch.zeros(0, 3)}, "at least one sequence"),
        ({"behavior_logprobs": torch.zeros(2, 4)}, "behavior_logprobs"),
        ({"generated_mask": torch.ones(3, 2, dtype=torch.bool)}, "generated_mask"),
        ({"generated_mask": torch.ones(2, 3)}, "generated_mask must be bool"),
        ({"advantages": torch.zeros(2, 1)}, "advantages"),
        ({"reference_logprobs": torch.zeros(2)}, "reference_logprobs"),
        ({"sequences": 0}, "sequences"),
        ({"tokens": 0}, "tokens"),
    ],
)
def test_a_wrong_shape_is_refused_by_name(changed: dict, words: str) -> None:
    right = {
        "current_logprobs": torch.zeros(2, 3),
        "behavior_logprobs": torch.zeros(2, 3),
        "generated_mask": torch.ones(2, 3, dtype=torch.bool),
        "advantages": torch.zeros(2),
    }
    LossInputs(**right)
    with pytest.raises(SettingError, match=words):
        LossInputs(**(right | changed))
