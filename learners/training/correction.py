"""What to do where the policy that sampled is not quite the one that learns.

There are three probabilities of a token: mu, of the engine that sampled it; pi_old, of the
trainer's weights before the update; pi, of those being trained. The ratio of an objective is
pi / pi_old. What is between mu and pi_old, rounding and weights of some updates ago, is in

    w = pi_old / mu

which no objective may take for learning, and which is corrected here by a weight on the loss.

    token_truncate   min(w, high) per token (TIS: truncated importance sampling)
    token_mask       w per token, and 0 where it lies outside of low to high (IcePop)
    sequence_mask    a whole sequence counts, or not: by the geometric mean of w over its tokens
                     under a ratio per sequence, as GSPO's own ratio is one, else by their product

A ratio per sequence takes a correction per sequence. `auto` is `sequence_mask` there, and
`token_truncate` elsewhere. Where an engine of this very process sampled there is no mu apart from
pi_old, and nothing is corrected.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from laconic.learners.training.settings import CorrectionSettings, Kind

__all__ = ["Correction", "Kind"]

_BOUNDS = {"token_truncate": (0.0, 2.0), "token_mask": (0.5, 5.0), "sequence_mask": (0.5, 2.0)}
_LARGEST = 20.0
"""Of a log-weight, so that it stays finite."""


class Correction(CorrectionSettings):
    """The weights that `CorrectionSettings` describe."""

    __slots__ = ()

    def weights(self, behaviour: Tensor, rollout: Tensor, mask: Tensor, ratio: str) -> Tensor:
        """The weight of each token's loss, without gradient.

        Args:
            behaviour: (sequences, tokens) log pi_old.
            rollout: (sequences, tokens) log mu.
            mask: (sequences, tokens) True on generated tokens; what stands elsewhere may be NaN.
            ratio: that of the objective.

        Returns:
            (sequences, tokens); 1 where not generated.
        """
        chosen = self.of_ratio(ratio)
        logs = torch.where(mask, behaviour.detach() - rollout.detach(), 0.0).float()
        logs = logs.clamp(-_LARGEST, _LARGEST)
        if chosen.kind == "none":
            return torch.ones_like(logs)
        low, high = chosen.bounds
        if chosen.kind == "token_truncate":
            return torch.where(mask, torch.exp(logs).clamp(max=high), 1.0)
        if chosen.kind == "token_mask":
            weights = torch.exp(logs)
            inside = (weights >= low) & (weights <= high)
            return torch.where(mask, weights * inside, 1.0)
        whole = logs.sum(1)
        if ratio in ("sequence", "sequence_token"):
            whole = whole / mask.sum(1).clamp(min=1)
        inside = (whole >= _log(low)) & (whole <= _log(high))
        return torch.where(mask, inside[:, None].to(logs.dtype), 1.0)

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and largest w that count."""
        low, high = _BOUNDS.get(self.kind, (0.0, math.inf))
        return low if self.low is None else self.low, high if self.high is None else self.high


def _log(bound: float) -> float:
    return math.log(bound) if bound > 0 else -math.inf
