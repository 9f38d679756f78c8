"""Importance weights that correct for an engine whose probabilities differ from the trainer's.

A token has three probabilities: mu, under the engine that sampled it; pi_old, under the trainer's
weights before the update; pi, under the weights being trained. The ratio of an objective is
pi / pi_old. pi_old and mu differ by rounding, and because an engine's weights may be some updates
old. A weight on the loss corrects for it. Per token t and for a whole sequence:

    w_t = pi_old / mu        W = product of w_t        G = geometric mean of w_t

    token_truncate      w_t, clamped to [low, high] (truncated importance sampling)
    token_mask          w_t, and 0 outside of [low, high] (IcePop)
    sequence_truncate   W, clamped to [low, high]
    sequence_mask       W, and 0 outside of [low, high]
    geometric_mask      1, and 0 where G is outside of [low, high]

The first four are those of TRL (`vllm_importance_sampling_mode`), whose bounds are 0 and 3 for all
four. Every generated token gets the weight of its sequence. A ratio per sequence needs a correction
per sequence. An engine inside this process samples by pi_old itself and needs none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self

import torch
from torch import Tensor

from laconic.envs.checks import Bound, check
from laconic.learners.training.ratio import OF_SEQUENCE, check_ratio

Kind = Literal[
    "auto",
    "none",
    "token_truncate",
    "token_mask",
    "sequence_truncate",
    "sequence_mask",
    "geometric_mask",
]
Low = Annotated[float, Bound(ge=0, lt=1)]
High = Annotated[float, Bound(gt=1, finite=False)]

_BOUNDS = {
    "token_truncate": (0.0, 2.0),
    "token_mask": (0.5, 5.0),
    "sequence_truncate": (0.0, 3.0),
    "sequence_mask": (0.0, 3.0),
    "geometric_mask": (0.5, 2.0),
}
_LARGEST_LOG = 20.0
"""Largest absolute log-weight, so that weights stay finite."""


@dataclass(frozen=True, slots=True)
class Correction:
    """Weight of the loss of a token."""

    kind: Kind = "auto"
    """Name of the rule."""
    low: Low | None = None
    """Lower bound of the weight, at least 0 and below 1. None: that of the kind."""
    high: High | None = None
    """Upper bound of the weight, above 1. None: that of the kind."""

    def __post_init__(self) -> None:
        """Check the word (`UnknownNameError`) and the bounds (`SettingError`)."""
        check("learner.correction", self.kind, Kind)
        check("learner.correction_low", self.low, Low | None)
        check("learner.correction_high", self.high, High | None)

    def of_ratio(self, ratio: str) -> Self:
        """Return this correction with `auto` replaced by the kind that fits a ratio.

        Raises:
            SettingError: the correction weighs tokens, and the ratio covers a sequence.
        """
        check_ratio(ratio, correction=self.kind)
        if self.kind != "auto":
            return self
        kind: Kind = "sequence_truncate" if ratio in OF_SEQUENCE else "token_truncate"
        return replace(self, kind=kind)

    def weights(self, behavior: Tensor, rollout: Tensor, mask: Tensor, ratio: str) -> Tensor:
        """Compute the weight of each token's loss, without gradient.

        Args:
            behavior: (sequences, tokens) log pi_old.
            rollout: (sequences, tokens) log mu.
            mask: (sequences, tokens) True on generated tokens; other entries may be NaN.
            ratio: ratio of the objective.

        Returns:
            (sequences, tokens); 1 where not generated.
        """
        correction = self.of_ratio(ratio)
        logs = torch.where(mask, behavior.detach() - rollout.detach(), 0.0).float()
        kind, (low, high) = correction.kind, correction.bounds
        if kind.startswith("sequence"):
            logs = logs.sum(1, keepdim=True)
        elif kind == "geometric_mask":
            logs = logs.sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)
        ratios = torch.exp(logs.clamp(-_LARGEST_LOG, _LARGEST_LOG))
        inside = (ratios >= low) & (ratios <= high)
        if kind == "none":
            weights = torch.ones_like(ratios)
        elif kind == "geometric_mask":
            weights = inside.to(ratios.dtype)
        elif kind.endswith("mask"):
            weights = ratios * inside
        else:
            weights = ratios.clamp(low, high)
        return torch.where(mask, weights, 1.0)

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound of the weight."""
        low, high = _BOUNDS.get(self.kind, (0.0, math.inf))
        return low if self.low is None else self.low, high if self.high is None else self.high
