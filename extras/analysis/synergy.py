"""Predict when a tree of voters beats one agent that spends as many tokens.

Closed forms of "A phase transition for budgeted multi-agent synergy" (arXiv 2601.17311) for
questions with two answers. An agent of accuracy p has the bias u = 2p - 1. A message arrives
flipped with probability (1 - γ) / 2, where γ is its fidelity. With probability ρ all votes of a
node are one and the same vote, its flip included. Of b votes the majority counts:

    f_b(u) = 2 P[Bin(b, (1 + u) / 2) > b / 2] - 1,  f_b'(0) = b C(b - 1, (b - 1) / 2) / 2^(b - 1)
    T(u) = ρ γ u + (1 - ρ) f_b(γ u),                α = T'(0) = γ (ρ + (1 - ρ) f_b'(0))

Each level of a tree applies T. With α <= 1 a small bias is washed out. With α > 1 it grows to the
fixed point of T. A tree of N leaves multiplies a small bias by N^s, where s = log_b α. If x tokens
buy one agent a bias of k x^β, a tree beats one agent of equal budget if and only if s > β.

An even number of votes with ties decided by the first one is as good as one vote less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from laconic.envs.checks import number, whole

__all__ = ["Vote", "best_leaf", "critical_shared", "fit_power", "majority", "slope", "widest"]


def majority(bias: float, votes: int) -> float:
    """Return the bias f_b(u) of the majority of independent votes; the first one decides ties.

    Args:
        bias: bias u of each vote, from -1 to 1.
        votes: number of votes b, at least 1.
    """
    votes = _odd(votes)
    right = (1 + bias) / 2
    wins = range(votes // 2 + 1, votes + 1)
    chance = sum(
        math.comb(votes, count) * right**count * (1 - right) ** (votes - count) for count in wins
    )
    return 2 * chance - 1


def slope(votes: int) -> float:
    """Return f_b'(0), how much a majority of independent votes multiplies a small bias."""
    votes = _odd(votes)
    return votes * math.comb(votes - 1, votes // 2) / (1 << (votes - 1))


def _odd(votes: int) -> int:
    whole("votes", votes, 1)
    return votes - 1 if votes % 2 == 0 else votes


@dataclass(frozen=True, slots=True)
class Vote:
    """A vote of the children of a node: one level of a tree."""

    fan_in: int
    """Number of votes b."""
    fidelity: float = 1.0
    """Fidelity γ of a message, from 0 (a coin) to 1 (never flipped)."""
    shared: float = 0.0
    """Probability ρ that all votes are one and the same vote, from 0 to 1."""

    def __post_init__(self) -> None:
        """Check the ranges (`SettingError`)."""
        whole("fan_in", self.fan_in, 1)
        number("fidelity", self.fidelity, lowest=0, highest=1)
        number("shared", self.shared, lowest=0, highest=1)

    def __call__(self, bias: float) -> float:
        """Return the bias T(u) of the node, given the bias of each child."""
        arriving = self.fidelity * bias
        return self.shared * arriving + (1 - self.shared) * majority(arriving, self.fan_in)

    @property
    def amplification(self) -> float:
        """Return α, the factor by which a level multiplies a small bias."""
        return self.fidelity * (self.shared + (1 - self.shared) * slope(self.fan_in))

    @property
    def exponent(self) -> float:
        """Return s = log_b α; minus infinity in a chain (b = 1), or where no message arrives."""
        if self.fan_in == 1 or self.amplification == 0:
            return -math.inf
        return math.log(self.amplification, self.fan_in)

    def by_depth(self, bias: float, depth: int) -> tuple[float, ...]:
        """Return the bias of the leaves, of their parents, and so on up to the root.

        Args:
            bias: bias of a leaf.
            depth: number of levels above the leaves.
        """
        levels = [bias]
        for _ in range(whole("depth", depth, 0)):
            levels.append(self(levels[-1]))
        return tuple(levels)

    @property
    def fixed_point(self) -> float:
        """Return the bias that deep trees reach from above, to 1e-9; 0 if it is washed out."""
        if self.amplification <= 1:
            return 0.0
        # T rises and bends downward above 0, so from 1 the levels fall to the only fixed point.
        bias, above = 1.0, math.inf
        while above - bias > 1e-12:
            bias, above = self(bias), bias
        return bias


def critical_shared(fan_in: int, fidelity: float) -> float:
    """Return the ρ at which α is 1; above it a small bias is washed out.

    It is below 0 if even independent votes are, and infinite for fewer than three votes, whose α
    does not depend on ρ.
    """
    gain = fidelity * (slope(fan_in) - 1)
    return (fidelity * slope(fan_in) - 1) / gain if gain else math.inf


def best_leaf(exponent: float, beta: float, overhead: float) -> float:
    """Return the tokens x = β c / (s - β) of a leaf that make the best use of a budget.

    Args:
        exponent: exponent s of the tree.
        beta: exponent β of one agent, above 0.
        overhead: tokens c that each leaf costs in any case.

    Returns:
        Infinity if s <= β, where one agent should have the whole budget.
    """
    return beta * overhead / (exponent - beta) if exponent > beta else math.inf


def widest(window: int, message: int) -> int:
    """Return the largest number of messages of some tokens that a context window holds."""
    whole("window", window, 1)
    whole("message", message, 1)
    return window // message


def fit_power(tokens: Sequence[float], biases: Sequence[float]) -> tuple[float, float] | None:
    """Fit u = k x^β by least squares in logarithms.

    Args:
        tokens: tokens x of one agent, above 0.
        biases: its bias at each; those of 0 and less are left out.

    Returns:
        k and β; None without two different numbers of tokens.
    """
    points = [
        (math.log(x), math.log(u)) for x, u in zip(tokens, biases, strict=True) if x > 0 and u > 0
    ]
    if len({x for x, _ in points}) < 2:
        return None
    mean_x = math.fsum(x for x, _ in points) / len(points)
    mean_u = math.fsum(u for _, u in points) / len(points)
    spread = math.fsum((x - mean_x) ** 2 for x, _ in points)
    beta = math.fsum((x - mean_x) * (u - mean_u) for x, u in points) / spread
    return math.exp(mean_u - beta * mean_x), beta
