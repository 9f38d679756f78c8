"""The loss: log-probabilities, masks and advantages in; a scalar and metrics out.

GSPO (Group Sequence Policy Optimization, arXiv 2507.18071, eq. 5 to 7) has one importance ratio per
sequence, the exponential of the mean log-ratio over its generated tokens:

    s = exp( mean_t [ current_logprobs_t - behavior_logprobs_t ] )
    loss = - mean over sequences of  min( s A, clip(s, 1 - epsilon, 1 + epsilon_high) A )

The length floor `shortest` divides the sum of log-ratios by at least that number of tokens. The
ratio of a reply of one or two tokens then moves no further than that of a message.

A is a number of the sequence, or one for each of its tokens; the mean over the tokens is then that
of min(s A_t, clip(s) A_t).

The other ratios:

    sequence_token  GSPO-token (eq. 13, 14): equal to `sequence` in value and gradient while a
                    sequence has one advantage
    token           PPO and GRPO (arXiv 2402.03300)
    none            policy gradient, -A log p per token, without ratio or clipping

Only generated tokens enter a value, mean or gradient; other entries may even be NaN. Knows neither
models nor episodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Annotated, Literal, cast

import torch
from torch import Tensor

from laconic.envs.checks import Bound, Ceiling, Count, NotNegative, Positive, check_fields
from laconic.envs.errors import SettingError
from laconic.learners.training.ratio import Ratio, check_ratio

__all__ = ["Average", "LossInputs", "LossOutputs", "Objective", "Ratio"]

Average = Literal["sequence", "token", "sum"]
LIMITS = (-20.0, 20.0)
"""Smallest and largest log-ratio (a ratio of 4.9e8), so that the loss stays finite. Beyond them a
ratio has no gradient. TRL has no such limit; verl's GSPO has one at 10."""
MOVED = 1e-4
"""Largest distance from 1 of ratios that count as 1, because passes differ by rounding."""
LENGTH_BUCKETS = ((1, 2), (3, 8), (9, 32), (33, None))
"""Buckets of generated tokens per sequence, first and last, for which clipping is reported."""
OVER_STEPS: Mapping[str, Callable[[Sequence[float]], float]] = {
    **dict.fromkeys(("steps", "skipped_steps", "sequences"), sum),
    "ratio_min": min,
    "ratio_max": max,
    "mismatch_max": max,
}
"""Reductions of a metric over optimizer steps, other than the mean."""


@dataclass(frozen=True, slots=True, eq=False)
class LossInputs:
    """Inputs of a loss; [s, t] of every matrix belongs to token t of sequence s."""

    current_logprobs: Tensor
    """(sequences, tokens) log-probabilities under the policy being trained."""
    behavior_logprobs: Tensor
    """(sequences, tokens) log-probabilities before the update; without gradient."""
    generated_mask: Tensor
    """(sequences, tokens) bool, True on tokens that the policy produced."""
    advantages: Tensor
    """(sequences,) advantages, each of all tokens of its sequence; or (sequences, tokens), as in a
    loss of one's own."""
    reference_logprobs: Tensor | None = None
    """(sequences, tokens) log-probabilities under the reference of the KL. None: no KL."""
    rollout_logprobs: Tensor | None = None
    """(sequences, tokens) log-probabilities under the engine that sampled; without gradient. None:
    the same as `behavior_logprobs`."""
    weights: Tensor | None = None
    """(sequences, tokens) factors of the policy loss (`learners.training.correction`); without
    gradient. None: 1."""
    sequences: int | None = None
    """Number of sequences of the whole minibatch, of which this batch may be a part; the losses of
    the parts add up to that of the whole. None: this batch is the whole."""
    tokens: int | None = None
    """Number of generated tokens of the whole minibatch, at least 1. None: those of this batch."""

    def __post_init__(self) -> None:
        """Refuse shapes that do not fit `current_logprobs`, and other masks (`SettingError`)."""
        shape = self.current_logprobs.shape
        if len(shape) != 2 or shape[0] == 0:
            raise SettingError(
                "current_logprobs must have shape (sequences, tokens) with at least one sequence;"
                f" got {tuple(shape)!r}"
            )
        for name in (
            "behavior_logprobs",
            "generated_mask",
            "advantages",
            "reference_logprobs",
            "rollout_logprobs",
            "weights",
        ):
            tensor, shapes = getattr(self, name), [tuple(shape)]
            if name == "advantages":
                shapes.insert(0, tuple(shape[:1]))
            if tensor is not None and tuple(tensor.shape) not in shapes:
                raise SettingError(
                    f"{name} must have shape {' or '.join(map(repr, shapes))} to fit"
                    f" current_logprobs; got {tuple(tensor.shape)!r}"
                )
        if self.generated_mask.dtype != torch.bool:
            raise SettingError(f"generated_mask must be bool; got {self.generated_mask.dtype!r}")
        for name, count in (("sequences", self.sequences), ("tokens", self.tokens)):
            if count is not None and count < 1:
                raise SettingError(f"{name} must be at least 1; got {count!r}")
        if self.sequences is None:
            object.__setattr__(self, "sequences", shape[0])
        if self.tokens is None:
            object.__setattr__(self, "tokens", max(int(self.generated_mask.sum()), 1))

    @property
    def ratios(self) -> Tensor:
        """Importance ratios of the tokens, (sequences, tokens), at most exp(20); 1 elsewhere."""
        mask = self.generated_mask
        current = _generated(self.current_logprobs, mask)
        behavior = _generated(self.behavior_logprobs.detach(), mask)
        return torch.exp((current - behavior).clamp(*LIMITS))

    def mean(self, values: Tensor) -> Tensor:
        """Average (sequences, tokens) over the generated tokens of the whole minibatch, weighted.

        A part of a minibatch returns its share.

        Raises:
            SettingError: the values have another shape, which (sequences, 1) may stand for.
        """
        shape = self.generated_mask.shape
        if values.shape not in (shape, (shape[0], 1)):
            raise SettingError(
                f"inputs.mean takes one value for each token, {tuple(shape)!r}; got"
                f" {tuple(values.shape)!r}. inputs.advantages and inputs.ratios have this shape"
            )
        weights = 1.0 if self.weights is None else self.weights
        kept = torch.where(self.generated_mask, values * weights, 0.0)
        return kept.sum() / cast(int, self.tokens)


@dataclass(frozen=True, slots=True, eq=False)
class LossOutputs:
    """Outputs of a loss."""

    loss: Tensor
    """Scalar of at least float32, to be minimized."""
    rows: Mapping[str, Tensor] = field(default_factory=dict)
    """Contributions of each sequence to the metrics, (sequences,) each. Those of a loss of one's
    own are averaged over sequences, as the metrics `loss/<name>`."""
    divisor: float = 1.0
    """Divisor of the sum of losses; unused in a loss of one's own."""

    @property
    def metrics(self) -> dict[str, float]:
        """Metrics of this batch by itself, see `metrics_of`."""
        return metrics_of([self.rows], self.divisor)


@dataclass(frozen=True, slots=True)
class Objective:
    """Importance ratio, clipping, KL to the reference, and averaging of the loss."""

    importance_sampling_level: Ratio = "sequence"
    """Importance ratio; see `learners.training.objective`."""
    epsilon: Annotated[float, Bound(gt=0, le=1)] = 0.2
    """Clip of ratios below 1 - epsilon where the advantage is negative; 1 clips none."""
    epsilon_high: Ceiling = 0.25
    """Clip of ratios above 1 + epsilon_high where the advantage is positive; inf clips none."""
    beta: NotNegative = 0.0
    """Weight of the KL to the reference, per token (estimator k3: exp(d) - d - 1 with
    d = reference - current log-probability, Schulman 2020). 0: no reference is needed."""
    average: Average = "sequence"
    """Average of the loss. `sequence`: mean over a sequence's tokens, then over sequences. One
    without generated tokens counts with loss 0, as in TRL's `grpo`; verl 0.9.1 does not count it
    (state its number as `sequences` for the same loss). `token`: mean over all generated tokens,
    which with a sequence ratio weighs sequences by their length. `sum`: sum over a sequence's
    tokens divided by `normalizer`, then the mean over sequences."""
    normalizer: Positive = 1.0
    """Divisor of average `sum`, tokens. 1 leaves the log-probability of a sequence (REINFORCE); a
    constant such as the longest reply is Dr. GRPO's (arXiv 2503.20783)."""
    shortest: Count = 1
    """Length floor of a ratio, tokens: shorter sequences count as this long; 1: their own length.
    The gradient of such a sequence shrinks by its length / `shortest`."""

    def __post_init__(self) -> None:
        """Check the words (`UnknownNameError`) and ranges (`SettingError`)."""
        check_fields(self, "learner.objective")
        check_ratio(self.importance_sampling_level, shortest=self.shortest)

    def __call__(self, inputs: LossInputs) -> LossOutputs:
        """Compute the loss of a batch, in float32 (float64 stays float64).

        Without any generated token the loss is 0 and its gradient zero.

        Raises:
            SettingError: `beta` is above 0 and there are no reference log-probabilities.
        """
        if self.beta > 0 and inputs.reference_logprobs is None:
            raise SettingError(
                f"learner.objective.beta={self.beta!r}, but there are no reference_logprobs to"
                " measure it from; keep a reference policy or set learner.objective.beta=0"
            )
        mask = inputs.generated_mask
        counts = mask.sum(1)
        current = _generated(inputs.current_logprobs, mask)
        behavior = _generated(inputs.behavior_logprobs.detach(), mask)
        advantages = inputs.advantages.detach().to(current.dtype)
        by_token = advantages.ndim == 2
        advantages = _generated(advantages, mask) if by_token else advantages[:, None]
        log_ratio = current - behavior
        rows = {
            "tokens": counts,
            "ratio": torch.exp(_mean(log_ratio, mask, self.shortest).clamp(*LIMITS)),
            "approx_kl": (_k3(log_ratio) * mask).sum(1),
        }
        ratio = self._ratios(log_ratio, mask)
        if ratio is None:
            per_token = -advantages * current
        else:
            low, high = 1 - self.epsilon, 1 + self.epsilon_high
            surrogate = torch.minimum(ratio * advantages, ratio.clamp(low, high) * advantages)
            per_token = -surrogate.expand_as(current)
            moved = (ratio.detach() - 1).abs() > MOVED
            clipped = ((ratio < low) & (advantages < 0)) | ((ratio > high) & (advantages > 0))
            rows["moved"] = _mean(moved.expand_as(mask).to(ratio.dtype), mask)
            rows["clipped"] = _mean(clipped.expand_as(mask).to(ratio.dtype), mask)
        if inputs.weights is not None:
            per_token = per_token * inputs.weights.detach()
        losses = _mean(per_token, mask)
        if inputs.rollout_logprobs is not None:
            rows |= _mismatch(behavior, inputs.rollout_logprobs, inputs.weights, mask)
        if inputs.reference_logprobs is not None:
            reference = _generated(inputs.reference_logprobs.detach(), mask)
            reference_kl = _k3(reference - current)
            rows["reference_kl"] = (reference_kl * mask).sum(1)
            if self.beta > 0:
                losses = losses + self.beta * _mean(reference_kl, mask)
        if self.average != "sequence":
            losses = losses * counts
        if self.average == "sum":
            losses = losses / self.normalizer
        rows["loss"] = losses
        divisor = self.divisor(cast(int, inputs.sequences), cast(int, inputs.tokens))
        rows = {name: row.detach().to(losses.dtype) for name, row in rows.items()}
        return LossOutputs(losses.sum() / divisor, rows, divisor)

    def has_gradient(self, advantage: float) -> bool:
        """Return whether a sequence of this advantage can have a loss or gradient other than 0."""
        return self.beta > 0 or advantage != 0

    def divisor(self, sequences: int, tokens: int) -> float:
        """Return the divisor of a batch of this many sequences and generated tokens; at least 1."""
        return float(max(tokens if self.average == "token" else sequences, 1))

    def _ratios(self, log_ratio: Tensor, mask: Tensor) -> Tensor | None:
        """Return ratios (sequences, 1) or (sequences, tokens); None for plain policy gradient."""
        if self.importance_sampling_level == "none":
            return None
        if self.importance_sampling_level == "sequence":
            log_ratio = _mean(log_ratio, mask, self.shortest)[:, None]
        elif self.importance_sampling_level == "sequence_token":
            # The value of the sequence ratio on every token, with the gradient of the token alone.
            counts = mask.sum(1, keepdim=True)
            zero = (log_ratio - log_ratio.detach()) * counts / counts.clamp(min=self.shortest)
            log_ratio = _mean(log_ratio, mask, self.shortest)[:, None].detach() + zero
        return torch.exp(log_ratio.clamp(*LIMITS))


def _generated(logprobs: Tensor, mask: Tensor) -> Tensor:
    """Return log-probabilities, or advantages, in float32 or better, 0 where not generated.

    They are selected before any arithmetic, because 0 * NaN is NaN in value and gradient.
    """
    logprobs = logprobs.to(torch.promote_types(logprobs.dtype, torch.float32))
    return torch.where(mask, logprobs, torch.zeros_like(logprobs))


def _mean(values: Tensor, mask: Tensor, shortest: int = 1) -> Tensor:
    """Average over generated tokens, (sequences, tokens) -> (sequences,); 0 without any.

    A sequence of fewer than `shortest` tokens counts as one of that length.
    """
    return (values * mask).sum(1) / mask.sum(1).clamp(min=shortest)


def _k3(difference: Tensor) -> Tensor:
    """Estimate a KL, at least 0, from d = log q - log p at samples of p (Schulman 2020)."""
    difference = difference.clamp(*LIMITS)
    return torch.expm1(difference) - difference


def _mismatch(
    behavior: Tensor, rollout: Tensor, weights: Tensor | None, mask: Tensor
) -> dict[str, Tensor]:
    """Measure the distance of the engine that sampled from the trainer, (sequences,) each."""
    difference = behavior - _generated(rollout.detach(), mask)
    masked = torch.zeros_like(mask) if weights is None else (weights == 0) & mask
    return {
        "mismatch_kl": (_k3(difference) * mask).sum(1),
        "mismatch_mean": difference.abs().sum(1),
        "mismatch_max": difference.abs().amax(1),
        "masked_share": masked.sum(1),
    }


def metrics_of(parts: Sequence[Mapping[str, Tensor]], divisor: float) -> dict[str, float]:
    """Return the metrics of a batch, in one transfer to the host.

    Args:
        parts: `LossOutputs.rows` of the parts of the batch.
        divisor: divisor of their losses.

    Returns:
        `loss`, `sequences` (with generated tokens) and, if there are any: `ratio_mean`,
        `ratio_min` and `ratio_max` of sequence ratios; `approx_kl`, the KL from behavior to
        current in nats per token.

        With a reference, `reference_kl`: KL to the reference, nats per token. With an engine,
        `mismatch_kl` (engine to behavior, nats per token), `mismatch_mean` and `mismatch_max`
        (absolute differences of log-probabilities) and `masked_share` (tokens with weight 0).

        Except for ratio `none`: `moved_fraction` (mean part of a sequence whose ratio is not 1),
        `clip_fraction` and, by length, `clip_fraction/<tokens>` (mean part of a sequence whose
        gradient the clip removed).

        Of a loss of one's own, `loss/<name>`: the mean over sequences of each of its rows.
    """
    if not parts:
        return {"loss": 0.0, "sequences": 0.0}
    rows = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
    counts, ratios = rows["tokens"], rows["ratio"]
    nonempty = counts > 0
    sequences, tokens = nonempty.sum().clamp(min=1), counts.sum().clamp(min=1)
    sums = {
        "loss": rows["loss"].sum() / divisor,
        "sequences": nonempty.sum(),
        "ratio_mean": torch.where(nonempty, ratios, 0).sum() / sequences,
        "ratio_min": torch.where(nonempty, ratios, math.inf).amin(),
        "ratio_max": torch.where(nonempty, ratios, -math.inf).amax(),
    }
    for name in ("approx_kl", "reference_kl", "mismatch_kl", "mismatch_mean", "masked_share"):
        if name in rows:
            sums[name] = rows[name].sum() / tokens
    if "mismatch_max" in rows:
        sums["mismatch_max"] = rows["mismatch_max"].amax()
    if "clipped" in rows:
        sums["moved_fraction"] = rows["moved"].sum() / sequences
        sums["clip_fraction"] = rows["clipped"].sum() / sequences
        for first, last in LENGTH_BUCKETS:
            inside = (counts >= first) & (counts <= (last or math.inf))
            name = f"clip_fraction/{first}+" if last is None else f"clip_fraction/{first}-{last}"
            # 0 / 0 is NaN, which marks an empty bucket.
            sums[name] = (rows["clipped"] * inside).sum() / inside.sum()
    for name in rows:
        if name.startswith("loss/"):
            sums[name] = torch.where(nonempty, rows[name], 0).sum() / sequences
    values = torch.stack([value.to(ratios.dtype) for value in sums.values()]).tolist()
    metrics = dict(zip(sums, values, strict=True))
    if not metrics["sequences"]:
        return {name: metrics[name] for name in ("loss", "sequences")}
    return {
        name: value
        for name, value in metrics.items()
        if not (name.startswith("clip_fraction/") and math.isnan(value))
    }


def mean_over_steps(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Reduce the metrics of optimizer steps to one row; without steps, the counts of steps alone.

    Counts are summed and extremes kept. Other metrics are averaged over the rows that have them.
    """
    metrics = {"steps": 0.0, "skipped_steps": 0.0}
    for name in dict.fromkeys(name for row in rows for name in row):
        reduce = OVER_STEPS.get(name, fmean)
        metrics[name] = float(reduce([row[name] for row in rows if name in row]))
    return metrics
