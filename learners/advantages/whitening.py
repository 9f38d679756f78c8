"""Whiten the advantages of an update over its tokens (REINFORCE++, arXiv 2501.03262).

    A = (A - mean) / sqrt(variance + EPSILON)

Mean and (sample) variance are taken over all generated tokens of an update. A sequence gives its
advantage to each of its tokens, so a long one weighs more in both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

EPSILON = 1e-8
"""Number added to the variance, as in verl."""


def whitened(advantages: Sequence[float], tokens: Sequence[int]) -> list[float]:
    """Bring the advantages of one policy's update to mean 0 and variance 1 over its tokens.

    Args:
        advantages: (sequences,).
        tokens: (sequences,) generated tokens of each.

    Returns:
        (sequences,); all 0 where the advantages are equal, or with fewer than two tokens.
    """
    total = sum(tokens)
    if total < 2:
        return [0.0] * len(advantages)
    weighted = list(zip(advantages, tokens, strict=True))
    mean = math.fsum(advantage * count for advantage, count in weighted) / total
    squares = math.fsum((advantage - mean) ** 2 * count for advantage, count in weighted)
    scale = math.sqrt(squares / (total - 1) + EPSILON)
    return [(advantage - mean) / scale for advantage in advantages]
