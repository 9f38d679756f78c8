"""Advantages on the scale of a whole update instead of that of each group.

REINFORCE++ (arXiv 2501.03262) centres and scales the advantage of every token by the mean and
standard deviation over all generated tokens of a batch. A sequence gives its advantage to each of
its tokens, so a long one weighs more in both. Knows neither models nor the loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from laconic.learners.training.sequences import TokenSequence

EPSILON = 1e-8
"""Added to the variance, as verl does."""


def whitened(sequences: Sequence[TokenSequence]) -> list[TokenSequence]:
    """One policy's sequences of an update, advantages of mean 0 and variance 1 over their tokens.

    All are 0 where they were equal, or where there are fewer than two generated tokens to take a
    (sample) variance of.
    """
    counts = [sum(one.generated) for one in sequences]
    tokens = sum(counts)
    if tokens < 2:
        return [replace(one, advantage=0.0) for one in sequences]
    mean = math.fsum(one.advantage * n for one, n in zip(sequences, counts, strict=True)) / tokens
    squares = [(one.advantage - mean) ** 2 * n for one, n in zip(sequences, counts, strict=True)]
    scale = math.sqrt(math.fsum(squares) / (tokens - 1) + EPSILON)
    return [replace(one, advantage=(one.advantage - mean) / scale) for one in sequences]
