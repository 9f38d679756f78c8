"""Which token comes next, and how likely it was, in one pass over the vocabulary.

`transformers` takes a softmax for that and a random number for every word of every row; with the
log-softmax that records the log-probability, and a vocabulary of 49,000 words, this was a sixth
of a small model's rollouts on a processor. Here a row takes one random number u, and the
first token up to which the probabilities add up to more than u: inverse transform sampling.
"""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import LogitsProcessor

from laconic.learners.errors import NumericalError

_PART = 2**20
"""Numbers that are summed up at a time: what does not fit into a processor's caches is slower."""


class Drawing(LogitsProcessor):
    """Draws a token for each row and records its log-probability.

    It leaves `generate`, which takes the likeliest token, no choice: the score of the one that was
    drawn is made infinite.
    """

    def __init__(self, temperature: float, greedy: bool) -> None:
        """Start an empty record.

        Args:
            temperature: divides the logits; log-probabilities are those of the divided ones.
            greedy: take the likeliest token instead of drawing one.
        """
        self._temperature, self._greedy = temperature, greedy
        self._steps: list[Tensor] = []

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Draw from logits (rows, vocabulary), which are `generate`'s own copy and overwritten."""
        likeliest = scores.argmax(1, keepdim=True)
        weights = scores.sub_(scores.gather(1, likeliest)).div_(self._temperature).exp_()
        rows = max(1, _PART // weights.shape[1])
        drawn, logprobs = [], []
        for part, first in zip(weights.split(rows), likeliest.split(rows), strict=True):
            # In float32 the unlikely would be lost among the sum of the others; MPS knows no other.
            wide = torch.float32 if part.device.type == "mps" else torch.float64
            below = part.cumsum(1, dtype=wide)
            total = below[:, -1:]
            tokens = first if self._greedy else _up_to(torch.rand_like(total) * total, below)
            drawn.append(tokens)
            logprobs.append(torch.log(part.gather(1, tokens) / total))
        self._steps.append(torch.cat(logprobs))
        return weights.scatter_(1, torch.cat(drawn), torch.inf)

    def finish(self) -> Tensor:
        """Log-probabilities (rows, tokens drawn), float32.

        `generate` may draw a token that it then takes back; that is the last one here.

        Raises:
            NumericalError: the model gave logits that are no numbers.
        """
        logprobs = torch.cat(self._steps, dim=1).float()
        if not torch.isfinite(logprobs).all():
            raise NumericalError(
                "the model's logits are not finite (NaN or infinite), so nothing can be drawn from"
                " them. Its weights have been damaged, as by a learning rate that is too high, or"
                " agent.precision is too coarse for it; go on from an earlier checkpoint"
            )
        return logprobs


def _up_to(shares: Tensor, below: Tensor) -> Tensor:
    """The first token (rows, 1) of each row whose sum with all before it is above a share."""
    # A share that rounding has made the whole sum is that of the last token.
    return torch.searchsorted(below, shares, right=True).clamp(max=below.shape[1] - 1)
