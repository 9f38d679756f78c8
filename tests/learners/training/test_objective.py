"""The loss against hand-worked numbers and against a loop that derives its own gradient."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from laconic.envs.errors import SettingError
from laconic.learners.training.objective import LossInputs, LossOutputs, Objective

LN2 = math.log(2)
WIDE = {"clip_low": 0.5, "clip_high": 9.0}
RATIOS = ("sequence", "sequence_token", "token", "none")
AVERAGES = ("sequence", "token", "sum")


def inputs(
    log_ratios: list[list[float]],
    mask: list[list[int]],
    advantages: list[float],
    *,
    behaviour: float = -1.0,
    reference: list[list[float]] | None = None,
    dtype: torch.dtype = torch.float32,
) -> LossInputs:
    """Inputs with equal behaviour log-probabilities and a current that is leaf of the graph."""
    current = torch.tensor(log_ratios, dtype=torch.float64) + behaviour
    return LossInputs(
        current_logprobs=current.to(dtype).requires_grad_(),
        behaviour_logprobs=torch.full_like(current, behaviour).to(dtype),
        generated_mask=torch.tensor(mask, dtype=torch.bool),
        advantages=torch.tensor(advantages),
        reference_logprobs=None if reference is None else torch.tensor(reference),
    )


def gradient(objective: Objective, given: LossInputs) -> tuple[LossOutputs, Tensor]:
    """The outputs, and the gradient of the loss in the current log-probabilities."""
    outputs = objective(given)
    (grad,) = torch.autograd.grad(outputs.loss, given.current_logprobs)
    return outputs, grad


# Degenerate cases


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("average", AVERAGES)
def test_a_batch_without_generated_tokens_has_loss_zero_and_gradient_zero(
    ratio: str, average: str
) -> None:
    given = inputs([[math.nan, 1.0]], [[0, 0]], [3.0])
    outputs, grad = gradient(Objective(ratio=ratio, average=average), given)
    assert outputs.metrics == {"loss": 0.0, "sequences": 0.0}
    assert grad.tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("ratio", RATIOS)
def test_an_empty_sequence_counts_in_the_mean_with_loss_zero(ratio: str) -> None:
    # Alone the first sequence has a loss; beside an empty one it has half of it.
    alone = Objective(ratio=ratio)(inputs([[0.0, 0.0]], [[1, 1]], [1.5]))
    both = Objective(ratio=ratio)(inputs([[0.0, 0.0]] * 2, [[1, 1], [0, 0]], [1.5, 8.0]))
    assert both.loss.item() == pytest.approx(alone.loss.item() / 2, rel=1e-6)
    assert both.metrics["sequences"] == 1.0


def test_a_divisor_leaves_empty_sequences_out_of_the_mean() -> None:
    given = inputs([[0.0, 0.0]] * 2, [[1, 1], [0, 0]], [1.5, 8.0])
    counted = LossInputs(
        given.current_logprobs,
        given.behaviour_logprobs,
        given.generated_mask,
        given.advantages,
        divisor=1,
    )
    assert Objective()(counted).loss.item() == -1.5


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_masked_tokens_have_no_gradient_and_no_say_even_when_they_are_not_finite(
    ratio: str, bad: float
) -> None:
    objective = Objective(ratio=ratio, kl=0.1, **WIDE)
    clean = inputs([[0.0, 0.1, 0.2]], [[0, 1, 1]], [1.0], reference=[[0.0, -1.0, -1.2]])
    dirty = inputs([[bad, 0.1, 0.2]], [[0, 1, 1]], [1.0], reference=[[bad, -1.0, -1.2]])
    dirty.behaviour_logprobs[0, 0] = bad
    wanted, wanted_grad = gradient(objective, clean)
    got, got_grad = gradient(objective, dirty)
    assert got.metrics == wanted.metrics
    assert torch.equal(got_grad, wanted_grad)
    assert got_grad[0, 0] == 0.0


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_generated_token_that_is_not_finite_shows_in_the_loss(ratio: str) -> None:
    assert math.isnan(Objective(ratio=ratio)(inputs([[math.nan]], [[1]], [1.0])).loss.item())


@pytest.mark.parametrize("ratio", ["sequence", "sequence_token", "token"])
@pytest.mark.parametrize("advantage", [-2.0, 2.0])
@pytest.mark.parametrize("value", [1e6, 1e-6])
def test_extreme_ratios_stay_finite(ratio: str, advantage: float, value: float) -> None:
    outputs, grad = gradient(
        Objective(ratio=ratio, kl=0.1),
        inputs([[math.log(value)] * 3], [[1, 1, 1]], [advantage], reference=[[-30.0] * 3]),
    )
    assert outputs.loss.isfinite()
    assert grad.isfinite().all()
    assert outputs.metrics["ratio_max"] == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("ratio", ["sequence", "sequence_token", "token"])
def test_a_ratio_beyond_the_limit_is_finite_and_has_no_gradient(ratio: str) -> None:
    outputs, grad = gradient(Objective(ratio=ratio), inputs([[500.0]], [[1]], [-1.0]))
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
    outputs, grad = gradient(
        Objective(ratio="token", **WIDE), inputs([[2 * LN2, 0.0]], [[1, 1]], [3.0])
    )
    assert outputs.loss.item() == pytest.approx(-7.5, rel=1e-6)
    assert grad[0].tolist() == pytest.approx([-6.0, -1.5], rel=1e-6)


def test_without_a_ratio_the_loss_is_the_mean_log_probability_times_the_advantage() -> None:
    # Log-probabilities -1 + 0.2 and -1: mean -0.9; loss -(-0.9) * 2 = 1.8; gradient -2 / 2 each.
    outputs, grad = gradient(Objective(ratio="none"), inputs([[0.2, 0.0]], [[1, 1]], [2.0]))
    assert outputs.loss.item() == pytest.approx(1.8, rel=1e-6)
    assert grad[0].tolist() == [-1.0, -1.0]
    assert "clip_fraction" not in outputs.metrics


def test_a_sum_is_the_log_probability_of_a_whole_sequence_times_its_advantage() -> None:
    # REINFORCE: log-probabilities (-1 + 0.2) + -1 = -1.8 and -1: -(-1.8 * 2) = 3.6 and
    # -(-1 * -3) = -3, mean 0.3; gradient -2 / 2 on both tokens of the first, 3 / 2 on the other.
    given = inputs([[0.2, 0.0], [0.0, 9.0]], [[1, 1], [1, 0]], [2.0, -3.0])
    outputs, grad = gradient(Objective(ratio="none", average="sum"), given)
    assert outputs.loss.item() == pytest.approx(0.3, rel=1e-5)
    assert grad.tolist() == [[-1.0, -1.0], [1.5, 0.0]]


def test_a_constant_normalizer_weighs_tokens_alike_whatever_the_length() -> None:
    # Dr. GRPO at ratio 1 with constant 10: -A / 10 / 2 sequences per token: -0.15 and 0.05.
    given = inputs([[0.0] * 3] * 2, [[1, 1, 0], [1, 1, 1]], [3.0, -1.0])
    outputs, grad = gradient(Objective(ratio="token", average="sum", normalizer=10.0), given)
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
    given = inputs([[0.0, 0.0], [0.0, 0.0]], [[1, 1], [1, 0]], [sign, 3 * sign])
    _, grad = gradient(Objective(ratio=ratio, average=average), given)
    assert (grad * sign <= 0).all() and (grad[given.generated_mask] != 0).all()


@pytest.mark.parametrize("ratio", ["sequence", "sequence_token", "token"])
def test_at_ratio_one_the_gradient_is_that_of_reinforce(ratio: str) -> None:
    # -A / |y| / sequences: -3 / 2 / 2 on two tokens, 1 / 3 / 2 on three.
    outputs, grad = gradient(
        Objective(ratio=ratio), inputs([[0.0] * 3] * 2, [[1, 1, 0], [1, 1, 1]], [3.0, -1.0])
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
        Objective(ratio=ratio), inputs([[log_ratio] * 4], [[1] * 4], [advantage])
    )
    clipped = loss in (-2.0 * 1.0004, 2.0 * 0.9997)
    assert outputs.loss.item() == pytest.approx(loss, rel=1e-6)
    assert outputs.metrics["clip_fraction"] == float(clipped)
    assert bool((grad == 0).all()) is clipped


def test_a_clipped_sequence_gives_no_gradient_to_any_of_its_tokens() -> None:
    # The mean log-ratio 0.1 is clipped, though the second token's own ratio is below 1.
    _, grad = gradient(Objective(), inputs([[0.4, -0.2], [0.0, 0.0]], [[1, 1], [1, 1]], [1.0, 1.0]))
    assert grad[0].tolist() == [0.0, 0.0]
    assert grad[1].tolist() == [-0.25, -0.25]


def test_without_bounds_nothing_is_clipped() -> None:
    free = Objective(clip_low=1.0, clip_high=math.inf)
    outputs = free(inputs([[3.0], [-3.0]], [[1], [1]], [1.0, -1.0]))
    assert outputs.loss.item() == pytest.approx((-math.exp(3) + math.exp(-3)) / 2, rel=1e-6)
    assert outputs.metrics["clip_fraction"] == 0.0


def test_duplicating_every_token_leaves_the_sequence_ratio_unchanged() -> None:
    short = Objective(**WIDE)(inputs([[0.3, -0.1, 0.2]], [[1, 1, 1]], [1.0]))
    long = Objective(**WIDE)(inputs([[0.3, 0.3, -0.1, -0.1, 0.2, 0.2]], [[1] * 6], [1.0]))
    assert long.metrics["ratio_mean"] == pytest.approx(short.metrics["ratio_mean"], rel=1e-6)
    assert long.loss.item() == pytest.approx(short.loss.item(), rel=1e-6)


def test_averaging_by_token_weighs_sequences_by_length() -> None:
    # Three tokens with A = 1, one with A = 5: by token (3 + 5) / 4, by sequence (1 + 5) / 2.
    given = inputs([[0.0] * 3] * 2, [[1, 1, 1], [1, 0, 0]], [1.0, 5.0])
    assert Objective(average="token")(given).loss.item() == -2.0
    assert Objective(average="sequence")(given).loss.item() == -3.0


def test_kl_is_added_by_the_same_average() -> None:
    # d = reference - current: -1.5 + 1 = -0.5 and 0; k3 = exp(-0.5) + 0.5 - 1 = 0.1065307 and 0.
    # Loss -1 + 2 * 0.1065307 / 2; gradient 2 * (1 - exp(-0.5)) / 2 on the first token, less A / 2.
    given = inputs([[0.0, 0.0]], [[1, 1]], [1.0], reference=[[-1.5, -1.0]])
    outputs, grad = gradient(Objective(kl=2.0), given)
    assert outputs.loss.item() == pytest.approx(-1 + 0.1065307, rel=1e-6)
    assert outputs.metrics["reference_kl"] == pytest.approx(0.1065307 / 2, rel=1e-6)
    assert grad[0].tolist() == pytest.approx([0.3934693 - 0.5, -0.5], rel=1e-6)


def test_a_reference_is_measured_but_not_paid_for_at_weight_zero() -> None:
    outputs = Objective()(inputs([[0.0, 0.0]], [[1, 1]], [1.0], reference=[[-1.5, -1.0]]))
    assert outputs.loss.item() == -1.0
    assert outputs.metrics["reference_kl"] == pytest.approx(0.1065307 / 2, rel=1e-6)


def test_metrics_tell_ratios_and_divergence() -> None:
    # Sequence ratios 2 and 1 / 2, the empty one left out; k3 of ln 2 is 2 - 1 - ln 2 = 0.3068528,
    # of -ln 2 it is 0.5 - 1 + ln 2 = 0.1931472; their mean 0.25.
    given = inputs([[LN2], [-LN2], [7.0]], [[1], [1], [0]], [1.0, 1.0, 1.0])
    metrics = Objective(**WIDE)(given).metrics
    assert metrics["sequences"] == 2.0
    assert metrics["ratio_mean"] == pytest.approx(1.25, rel=1e-6)
    assert metrics["ratio_min"] == pytest.approx(0.5, rel=1e-6)
    assert metrics["ratio_max"] == pytest.approx(2.0, rel=1e-6)
    assert metrics["approx_kl"] == pytest.approx(0.25, rel=1e-6)


def test_clipping_is_told_by_length() -> None:
    # Lengths 2, 2, 8, 40 and an empty one; the first and the third are clipped.
    lengths, log_ratios = [2, 2, 8, 40, 0], [0.1, 0.0, 0.1, 0.0, 0.1]
    mask = [[1] * length + [0] * (40 - length) for length in lengths]
    given = inputs([[value] * 40 for value in log_ratios], mask, [1.0] * 5)
    metrics = Objective()(given).metrics
    assert {key: value for key, value in metrics.items() if key.startswith("clip")} == {
        "clip_fraction": 0.5,
        "clip_fraction/1-2": 0.5,
        "clip_fraction/3-8": 1.0,
        "clip_fraction/33+": 0.0,
    }


def test_a_token_ratio_is_clipped_by_the_share_of_its_tokens() -> None:
    # Of four tokens with A > 0 one lies above 1 + clip_high.
    given = inputs([[0.1, 0.0, -0.1, 0.0]], [[1, 1, 1, 1]], [1.0])
    assert Objective(ratio="token")(given).metrics["clip_fraction"] == 0.25


# A loop that derives its own gradient


def slow(objective: Objective, given: LossInputs) -> tuple[float, list[list[float]]]:
    """Loss and gradient in plain floats, with derivatives written out by hand."""
    sequences, tokens = given.current_logprobs.shape
    current = given.current_logprobs.detach().double().tolist()
    behaviour = given.behaviour_logprobs.double().tolist()
    counts = [int(row.sum()) for row in given.generated_mask]
    loss, grad = 0.0, [[0.0] * tokens for _ in range(sequences)]
    for s in range(sequences):
        if counts[s] == 0:
            continue
        places = [t for t in range(tokens) if given.generated_mask[s, t]]
        advantage = float(given.advantages[s])
        share = {
            "sequence": 1 / sequences,
            "token": counts[s] / sum(counts),
            "sum": counts[s] / objective.normalizer / sequences,
        }[objective.average]
        mean = sum(current[s][t] - behaviour[s][t] for t in places) / counts[s]
        for t in places:
            weight = share / counts[s]
            if objective.ratio == "none":
                loss -= weight * advantage * current[s][t]
                grad[s][t] -= weight * advantage
            else:
                by_token = objective.ratio == "token"
                r = math.exp(current[s][t] - behaviour[s][t] if by_token else mean)
                if advantage > 0 and r > 1 + objective.clip_high:
                    loss -= weight * advantage * (1 + objective.clip_high)
                elif advantage < 0 and r < 1 - objective.clip_low:
                    loss -= weight * advantage * (1 - objective.clip_low)
                else:
                    loss -= weight * advantage * r
                    grad[s][t] -= weight * advantage * r
            if objective.kl:
                d = float(given.reference_logprobs[s, t]) - current[s][t]
                loss += objective.kl * weight * (math.exp(d) - d - 1)
                grad[s][t] += objective.kl * weight * (1 - math.exp(d))
    return loss, grad


def random_inputs(seed: int, drift: float, dtype: torch.dtype) -> LossInputs:
    """Seven sequences of up to twelve tokens, the third one without any generated token."""
    draw = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    behaviour = -normal(7, 12).abs()
    mask = torch.rand(7, 12, generator=draw) < torch.rand(7, 1, generator=draw)
    mask[2] = False
    mask[3] = True
    return LossInputs(
        current_logprobs=(behaviour + drift * normal(7, 12)).to(dtype).requires_grad_(),
        behaviour_logprobs=behaviour.to(dtype),
        generated_mask=mask,
        advantages=normal(7).to(dtype),
        reference_logprobs=(behaviour + 0.5 * normal(7, 12)).to(dtype),
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kl", [0.0, 0.3])
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("ratio", RATIOS)
def test_value_and_gradient_equal_a_slow_loop(
    ratio: str, average: str, kl: float, seed: int, dtype: torch.dtype
) -> None:
    for drift, low, high in ((0.001, 3e-4, 4e-4), (0.5, 0.2, 0.28)):
        settings = {"clip_low": low, "clip_high": high, "kl": kl, "normalizer": 8.0}
        objective = Objective(ratio=ratio, average=average, **settings)
        given = random_inputs(seed, drift, dtype)
        outputs, grad = gradient(objective, given)
        loss, expected = slow(objective, given)
        wanted = torch.tensor(expected, dtype=dtype)
        # A loss is a sum of terms of both signs near 1, hence the absolute part.
        assert outputs.loss.item() == pytest.approx(loss, rel=1e-6, abs=2e-7)
        torch.testing.assert_close(grad, wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("drift", [0.001, 0.5])
def test_the_token_form_equals_the_sequence_form_in_value_and_gradient(
    seed: int, drift: float
) -> None:
    given = random_inputs(seed, drift, torch.float32)
    outputs, grad = gradient(Objective(kl=0.1), given)
    by_token, by_token_grad = gradient(Objective(ratio="sequence_token", kl=0.1), given)
    torch.testing.assert_close(by_token.loss, outputs.loss, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(by_token_grad, grad, rtol=1e-6, atol=1e-8)
    assert by_token.metrics["clip_fraction"] == pytest.approx(outputs.metrics["clip_fraction"])


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("average", AVERAGES)
def test_the_losses_of_parts_add_up_to_that_of_the_whole(ratio: str, average: str) -> None:
    objective = Objective(ratio=ratio, average=average, kl=0.1)
    whole = random_inputs(0, 0.1, torch.float64)
    total = objective.divisor(7, int(whole.generated_mask.sum()))
    parts = [
        LossInputs(
            whole.current_logprobs[rows],
            whole.behaviour_logprobs[rows],
            whole.generated_mask[rows],
            whole.advantages[rows],
            whole.reference_logprobs[rows],
            divisor=total,
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
        half.behaviour_logprobs.float(),
        half.generated_mask,
        half.advantages.float(),
        half.reference_logprobs.float(),
    )
    outputs, grad = gradient(Objective(ratio=ratio, kl=0.1, **WIDE), half)
    wanted, wanted_grad = gradient(Objective(ratio=ratio, kl=0.1, **WIDE), single)
    assert outputs.loss.dtype == torch.float32
    assert outputs.loss.item() == wanted.loss.item()
    # Only on its way back into the inputs is the gradient rounded to bfloat16.
    assert torch.equal(grad, wanted_grad.bfloat16())


def test_silence_and_end_tokens_are_trained_and_what_was_read_is_not() -> None:
    # A conversation of two read tokens, the silence token and the end token, through a table of
    # logits. At ratio 1 with A = 2: -2 / 2 on each sampled token's log-probability, and through
    # log-softmax -1 * (1 - p) = -0.75 on its logit with four tokens of p = 1 / 4.
    token_ids = torch.tensor([[0, 1, 2, 3]])
    logits = torch.zeros(1, 4, 4, requires_grad=True)
    current = logits.log_softmax(-1).gather(-1, token_ids[..., None])[..., 0]
    given = LossInputs(
        current_logprobs=current,
        behaviour_logprobs=current.detach(),
        generated_mask=torch.tensor([[False, False, True, True]]),
        advantages=torch.tensor([2.0]),
    )
    Objective()(given).loss.backward()
    assert logits.grad[0, :2].tolist() == [[0.0] * 4] * 2
    assert logits.grad[0, 2].tolist() == pytest.approx([0.25, 0.25, -0.75, 0.25], rel=1e-6)
    assert logits.grad[0, 3].tolist() == pytest.approx([0.25, 0.25, 0.25, -0.75], rel=1e-6)


def test_no_gradient_reaches_the_policy_that_sampled() -> None:
    given = random_inputs(0, 0.1, torch.float32)
    given.behaviour_logprobs.requires_grad_()
    given.reference_logprobs.requires_grad_()
    Objective(kl=0.1)(given).loss.backward()
    assert given.behaviour_logprobs.grad is None
    assert given.reference_logprobs.grad is None


# Settings and shapes


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"ratio": "gspo"}, "objective.ratio must be one of sequence"),
        ({"average": "batch"}, "objective.average must be one of sequence, token, sum"),
        ({"clip_low": 0.0}, "objective.clip_low"),
        ({"clip_low": 1.5}, "objective.clip_low"),
        ({"clip_low": math.nan}, "objective.clip_low"),
        ({"clip_low": "3e-4"}, "objective.clip_low"),
        ({"clip_high": 0.0}, "objective.clip_high"),
        ({"clip_high": math.nan}, "objective.clip_high"),
        ({"kl": -0.1}, "objective.kl"),
        ({"kl": math.inf}, "objective.kl"),
        ({"kl": True}, "objective.kl"),
        ({"normalizer": 0}, "objective.normalizer"),
        ({"normalizer": math.inf}, "objective.normalizer"),
        ({"normalizer": None}, "objective.normalizer"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(settings: dict, named: str) -> None:
    with pytest.raises(SettingError, match=named):
        Objective(**settings)


def test_a_kl_needs_a_reference() -> None:
    with pytest.raises(SettingError, match="no reference_logprobs"):
        Objective(kl=0.1)(inputs([[0.0]], [[1]], [1.0]))


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"current_logprobs": torch.zeros(3)}, "current_logprobs"),
        ({"current_logprobs": torch.zeros(0, 3)}, "at least one sequence"),
        ({"behaviour_logprobs": torch.zeros(2, 4)}, "behaviour_logprobs"),
        ({"generated_mask": torch.ones(3, 2, dtype=torch.bool)}, "generated_mask"),
        ({"generated_mask": torch.ones(2, 3)}, "generated_mask must be bool"),
        ({"advantages": torch.zeros(2, 1)}, "advantages"),
        ({"reference_logprobs": torch.zeros(2)}, "reference_logprobs"),
        ({"divisor": 0}, "divisor"),
    ],
)
def test_a_wrong_shape_is_refused_by_name(changed: dict, named: str) -> None:
    right = {
        "current_logprobs": torch.zeros(2, 3),
        "behaviour_logprobs": torch.zeros(2, 3),
        "generated_mask": torch.ones(2, 3, dtype=torch.bool),
        "advantages": torch.zeros(2),
    }
    LossInputs(**right)
    with pytest.raises(SettingError, match=named):
        LossInputs(**(right | changed))
