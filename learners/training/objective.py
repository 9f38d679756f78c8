"""The loss: log-probabilities, masks and advantages in, a scalar and metrics out.

GSPO (Group Sequence Policy Optimization, arXiv 2507.18071, eq. 5 to 7) has one importance ratio per
sequence, the exponential of the mean log-ratio over its generated tokens:

    s = exp( mean_t [ current_logprobs_t - behaviour_logprobs_t ] )
    loss = - mean over sequences of  min( s A, clip(s, 1 - clip_low, 1 + clip_high) A )

With a length floor (`Objective.shortest`) the sum of log-ratios is divided by at least that many
tokens, so that the ratio of a reply of one or two tokens moves no further than that of a message.

`sequence_token` is the paper's token form (eq. 13 to 14), equal to it in value and gradient while a
sequence has one advantage. `token` is the ratio of PPO and GRPO (arXiv 2402.03300). `none` is plain
policy gradient, -A log p per token, without ratio or clipping.

Only generated tokens enter any value, mean or gradient; what stands elsewhere may even be NaN.
Knows neither models nor episodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import torch
from torch import Tensor

from laconic.envs.errors import SettingError
from laconic.learners.training.settings import Average, ObjectiveSettings, Ratio

__all__ = ["Average", "LossInputs", "LossOutputs", "Objective", "Ratio"]

LIMITS = (-20.0, 20.0)
"""Log-ratios stop at these (a ratio of 4.9e8), so that the loss stays finite; beyond it a ratio has
no gradient. TRL has no such limit, verl's GSPO has one at 10."""
MOVED = 1e-4
"""Ratios no further from 1 than this count as 1, because passes differ by rounding."""
LENGTH_BUCKETS = ((1, 2), (3, 8), (9, 32), (33, None))
"""Generated tokens per sequence, first and last of each bucket, by which clipping is reported."""
OVER_STEPS: Mapping[str, Callable[[Sequence[float]], float]] = {
    **dict.fromkeys(("steps", "skipped_steps", "sequences"), sum),
    "ratio_min": min,
    "ratio_max": max,
    "mismatch_max": max,
}
"""How a metric of some optimiser steps is made of theirs, where it is not their mean."""


@dataclass(frozen=True, slots=True, eq=False)
class LossInputs:
    """Everything a loss needs; [s, t] of every matrix belongs to token t of sequence s."""

    current_logprobs: Tensor
    """(sequences, tokens) log-probability of each token under the policy being trained."""
    behaviour_logprobs: Tensor
    """(sequences, tokens) log-probability of each token when it was sampled; has no gradient."""
    generated_mask: Tensor
    """(sequences, tokens) bool, True on tokens the policy produced."""
    advantages: Tensor
    """(sequences,) one advantage per sequence."""
    reference_logprobs: Tensor | None = None
    """(sequences, tokens) under the policy the KL is measured from. None: no KL."""
    rollout_logprobs: Tensor | None = None
    """(sequences, tokens) log-probability of each token under the engine that sampled it, where
    that is told apart from `behaviour_logprobs`; has no gradient. None: they are one."""
    weights: Tensor | None = None
    """(sequences, tokens) factor of each token's policy loss (`learners.training.correction`); has
    no gradient. None: 1."""
    divisor: float | None = None
    """What the sum of losses is divided by: a part of a batch states the whole batch's number of
    sequences (or of generated tokens, if averaged by token; see `Objective.divisor`), and the
    losses of the parts then add up to that of the whole. None: this batch is the whole."""

    def __post_init__(self) -> None:
        """Refuse other shapes than `current_logprobs` has, and another mask (`SettingError`)."""
        shape = self.current_logprobs.shape
        if len(shape) != 2 or shape[0] == 0:
            raise SettingError(
                "current_logprobs must have shape (sequences, tokens) with at least one sequence;"
                f" got {tuple(shape)!r}"
            )
        for name in (
            "behaviour_logprobs",
            "generated_mask",
            "advantages",
            "reference_logprobs",
            "rollout_logprobs",
            "weights",
        ):
            tensor, expected = getattr(self, name), shape[:1] if name == "advantages" else shape
            if tensor is not None and tensor.shape != expected:
                raise SettingError(
                    f"{name} must have shape {tuple(expected)!r} to fit current_logprobs;"
                    f" got {tuple(tensor.shape)!r}"
                )
        if self.generated_mask.dtype != torch.bool:
            raise SettingError(f"generated_mask must be bool; got {self.generated_mask.dtype!r}")
        if self.divisor is not None and not 0 < self.divisor < math.inf:
            raise SettingError(f"divisor must be a finite number above 0; got {self.divisor!r}")


@dataclass(frozen=True, slots=True, eq=False)
class LossOutputs:
    """What a loss gives back."""

    loss: Tensor
    """Scalar of at least float32, to be minimised."""
    rows: dict[str, Tensor]
    """(sequences,) each, without gradient: what every sequence adds to the metrics."""
    divisor: float
    """What the sum of losses was divided by."""

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics of this batch by itself, see `metrics_of`."""
        return metrics_of([self.rows], self.divisor)


class Objective(ObjectiveSettings):
    """The loss that `ObjectiveSettings` describe."""

    __slots__ = ()

    def __call__(self, inputs: LossInputs) -> LossOutputs:
        """Compute the loss of a batch.

        Computed in float32 whatever the inputs are (float64 stays float64). With no generated token
        anywhere the loss is 0 and its gradient zero.

        Raises:
            SettingError: `kl` is above 0 and there are no reference log-probabilities.
        """
        if self.kl > 0 and inputs.reference_logprobs is None:
            raise SettingError(
                f"learner.objective.kl={self.kl!r}, but there are no reference_logprobs to measure"
                " it from; keep a reference policy or set learner.objective.kl=0"
            )
        mask = inputs.generated_mask
        current = _generated(inputs.current_logprobs, mask)
        behaviour = _generated(inputs.behaviour_logprobs.detach(), mask)
        advantages = inputs.advantages.detach().to(current.dtype)[:, None]
        log_ratio = current - behaviour
        ratio = self._ratios(log_ratio, mask)
        per_token = self._policy_loss(ratio, current, advantages)
        if inputs.weights is not None:
            per_token = per_token * inputs.weights.detach()
        losses = _mean(per_token, mask)
        counts = mask.sum(1)
        rows = {
            "tokens": counts,
            "ratio": torch.exp(_mean(log_ratio, mask, self.shortest).clamp(*LIMITS)),
            "approx_kl": (_k3(log_ratio) * mask).sum(1),
        }
        if inputs.rollout_logprobs is not None:
            rows |= _mismatch(behaviour, inputs.rollout_logprobs, inputs.weights, mask)
        if inputs.reference_logprobs is not None:
            reference = _generated(inputs.reference_logprobs.detach(), mask)
            reference_kl = _k3(reference - current)
            rows["reference_kl"] = (reference_kl * mask).sum(1)
            if self.kl > 0:
                losses = losses + self.kl * _mean(reference_kl, mask)
        if ratio is not None:
            rows["clipped"] = self._clipped(ratio, advantages, mask)
            moved = (ratio.detach() - 1).abs() > MOVED
            rows["moved"] = _mean(moved.expand_as(mask).to(ratio.dtype), mask)
        if self.average != "sequence":
            losses = losses * counts
        if self.average == "sum":
            losses = losses / self.normalizer
        rows["loss"] = losses
        divisor = inputs.divisor or self.divisor(len(losses), int(counts.sum()))
        rows = {name: row.detach().to(losses.dtype) for name, row in rows.items()}
        return LossOutputs(losses.sum() / divisor, rows, divisor)

    def teaches(self, advantage: float) -> bool:
        """Whether a sequence of this advantage can have a loss or a gradient other than 0."""
        return self.kl > 0 or advantage != 0

    def divisor(self, sequences: int, tokens: int) -> float:
        """For `LossInputs.divisor`, of a batch of so many sequences and tokens; at least 1."""
        return float(max(tokens if self.average == "token" else sequences, 1))

    def _ratios(self, log_ratio: Tensor, mask: Tensor) -> Tensor | None:
        """Ratios of shape (sequences, 1) or (sequences, tokens); None where there is none."""
        if self.ratio == "none":
            return None
        if self.ratio == "sequence":
            log_ratio = _mean(log_ratio, mask, self.shortest)[:, None]
        elif self.ratio == "sequence_token":
            # The value of the sequence ratio on every token, with the gradient of the token alone.
            counts = mask.sum(1, keepdim=True)
            zero = (log_ratio - log_ratio.detach()) * counts / counts.clamp(min=self.shortest)
            log_ratio = _mean(log_ratio, mask, self.shortest)[:, None].detach() + zero
        return torch.exp(log_ratio.clamp(*LIMITS))

    def _policy_loss(self, ratio: Tensor | None, current: Tensor, advantages: Tensor) -> Tensor:
        """Loss per token, (sequences, tokens)."""
        if ratio is None:
            return -advantages * current
        clipped = ratio.clamp(1 - self.clip_low, 1 + self.clip_high)
        return -torch.minimum(ratio * advantages, clipped * advantages).expand_as(current)

    def _clipped(self, ratio: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
        """Share of each sequence whose gradient the clip removes, (sequences,)."""
        below = (ratio < 1 - self.clip_low) & (advantages < 0)
        above = (ratio > 1 + self.clip_high) & (advantages > 0)
        return _mean((below | above).expand_as(mask).to(ratio.dtype), mask)


def _generated(logprobs: Tensor, mask: Tensor) -> Tensor:
    """Log-probabilities in float32 or better, 0 where not generated.

    Selected before any arithmetic, because 0 * NaN would be NaN in value and gradient.
    """
    logprobs = logprobs.to(torch.promote_types(logprobs.dtype, torch.float32))
    return torch.where(mask, logprobs, torch.zeros_like(logprobs))


def _mean(values: Tensor, mask: Tensor, shortest: int = 1) -> Tensor:
    """Mean over a sequence's generated tokens, (sequences, tokens) -> (sequences,); 0 of none.

    A sequence of fewer than `shortest` tokens counts as one of that length.
    """
    return (values * mask).sum(1) / mask.sum(1).clamp(min=shortest)


def _k3(difference: Tensor) -> Tensor:
    """Non-negative estimate of a KL from d = log q - log p at samples of p (Schulman 2020)."""
    difference = difference.clamp(*LIMITS)
    return torch.expm1(difference) - difference


def _mismatch(
    behaviour: Tensor, rollout: Tensor, weights: Tensor | None, mask: Tensor
) -> dict[str, Tensor]:
    """How far the engine that sampled is from the trainer, (sequences,) each."""
    off = behaviour - _generated(rollout.detach(), mask)
    masked = torch.zeros_like(mask) if weights is None else (weights == 0) & mask
    return {
        "mismatch_kl": (_k3(off) * mask).sum(1),
        "mismatch_mean": off.abs().sum(1),
        "mismatch_max": off.abs().amax(1),
        "masked_share": masked.sum(1),
    }


def metrics_of(parts: Sequence[Mapping[str, Tensor]], divisor: float) -> dict[str, float]:
    """The metrics of a batch, from `LossOutputs` of its parts and their divisor.

    They are sums over sequences, brought to the host in one transfer.

    Returns:
        `loss`, `sequences` (those with generated tokens) and, if there are any: `ratio_mean`,
        `ratio_min`, `ratio_max` (of sequence ratios), `approx_kl` (behaviour to current, nats per
        token), `reference_kl` (with a reference), `mismatch_kl` (engine to behaviour, nats per
        token), `mismatch_mean` and `mismatch_max` (absolute differences of their log-probabilities)
        and `masked_share` (of tokens with weight 0), these four with an engine. Not for ratio
        `none`: `moved_fraction` (mean share of a sequence whose ratio is not 1), `clip_fraction`
        and `clip_fraction/<tokens>` by length (mean share of a sequence whose gradient the clip
        removed).
    """
    if not parts:
        return {"loss": 0.0, "sequences": 0.0}
    rows = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
    counts, ratios = rows["tokens"], rows["ratio"]
    kept = counts > 0
    sequences, tokens = kept.sum().clamp(min=1), counts.sum().clamp(min=1)
    found = {
        "loss": rows["loss"].sum() / divisor,
        "sequences": kept.sum(),
        "ratio_mean": torch.where(kept, ratios, 0).sum() / sequences,
        "ratio_min": torch.where(kept, ratios, math.inf).amin(),
        "ratio_max": torch.where(kept, ratios, -math.inf).amax(),
    }
    for name in ("approx_kl", "reference_kl", "mismatch_kl", "mismatch_mean", "masked_share"):
        if name in rows:
            found[name] = rows[name].sum() / tokens
    if "mismatch_max" in rows:
        found["mismatch_max"] = rows["mismatch_max"].amax()
    if "clipped" in rows:
        found["moved_fraction"] = rows["moved"].sum() / sequences
        found["clip_fraction"] = rows["clipped"].sum() / sequences
        for first, last in LENGTH_BUCKETS:
            inside = (counts >= first) & (counts <= (last or math.inf))
            name = f"clip_fraction/{first}+" if last is None else f"clip_fraction/{first}-{last}"
            # 0 / 0 marks a bucket that does not occur
            found[name] = (rows["clipped"] * inside).sum() / inside.sum()
    values = torch.stack([value.to(ratios.dtype) for value in found.values()]).tolist()
    metrics = dict(zip(found, values, strict=True))
    if not metrics["sequences"]:
        return {name: metrics[name] for name in ("loss", "sequences")}
    return {
        name: value
        for name, value in metrics.items()
        if not (name.startswith("clip_fraction/") and math.isnan(value))
    }


def mean_over_steps(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """One row of metrics of those of some optimiser steps; without any, the counts of steps alone.

    Counts are summed, extremes kept, and of the rest it is the mean over the rows that have it.
    """
    metrics = {"steps": 0.0, "skipped_steps": 0.0}
    for name in dict.fromkeys(name for row in rows for name in row):
        reduce = OVER_STEPS.get(name, fmean)
        metrics[name] = float(reduce([row[name] for row in rows if name in row]))
    return metrics
