"""Exact payoffs of memory-one strategies in repeated games of two, by their Markov chain.

A strategy is five probabilities of the first act (`envs.library.matrix.rules.STRATEGIES`). The pair
of acts of a round is a state of four, in the order of `envs.library.matrix.rules.PAYOFFS`.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laconic.envs.library.matrix.rules import PAYOFFS

Floats = NDArray[np.float64]
_SWAPPED = np.array([0, 2, 1, 3])
"""Place of each pair of acts for the other player."""


def payoffs(
    first: ArrayLike, second: ArrayLike, length: int, game: str = "ipd"
) -> tuple[Floats, Floats]:
    """Return the expected payoffs per round of pairs of strategies.

    Args:
        first: probabilities of the first players, shape (..., 5).
        second: those of the second players, each from its own point of view; broadcast to `first`.
        length: number of rounds.
        game: a game of two.

    Returns:
        Payoffs of the first and of the second players, mean over rounds, shape (...).
    """
    one, two = np.asarray(first, float), np.asarray(second, float)
    matrix = _pairs(one[..., 1:], two[..., 1:][..., _SWAPPED])
    shares = _pairs(one[..., 0], two[..., 0])
    total = np.zeros_like(shares)
    for _ in range(length):
        total += shares
        shares = np.einsum("...i,...ij->...j", shares, matrix)
    own = np.array(PAYOFFS[game])
    return total @ own / length, total @ own[_SWAPPED] / length


def best_replies(partners: Floats, length: int, game: str = "ipd") -> tuple[Floats, Floats]:
    """Return the deterministic memory-one strategy that gains most against each partner.

    Of strategies that gain the same, the first in the order of their numbers counts.

    Args:
        partners: strategies, shape (n, 5).
        length: number of rounds.
        game: a game of two.

    Returns:
        Strategies, shape (n, 5), and their payoffs per round, shape (n,).
    """
    strategies = np.array(list(product((0.0, 1.0), repeat=5)))
    gains, _ = payoffs(strategies[:, None], partners, length, game)
    return strategies[gains.argmax(0)], gains.max(0)


def _pairs(first: Floats, second: Floats) -> Floats:
    """Return the probabilities of the four pairs of acts, shape (..., 4)."""
    return np.stack(
        [
            first * second,
            first * (1 - second),
            (1 - first) * second,
            (1 - first) * (1 - second),
        ],
        axis=-1,
    )
