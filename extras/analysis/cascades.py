"""Describe cascades: how their sizes are distributed, and what a further exposure does.

"Molt Dynamics" (arXiv 2603.03555, abstract) reports both for agents on MoltBook: sizes follow a
power law with exponent 2.57, and a further exposure multiplies the hazard of adoption by 0.53.

Sources: the exponent, maximum likelihood for whole numbers (A. Clauset, C. R. Shalizi and
M. E. J. Newman, 2009, arXiv 0706.1062, appendix B); the hazard ratio, D. R. Cox's partial
likelihood (1972) with B. Efron's treatment of ties (1977). Intervals are Wald's, 95 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import zeta

from laconic.envs.checks import whole
from laconic.envs.errors import SettingError
from laconic.learners.metrics import Z95, Interval

_STEP = 1e-4
"""Step of the second difference that gives the curvature of a likelihood at its maximum."""
_STEEPEST = 20.0
"""Largest exponent, and largest size of the logarithm of a hazard ratio, that is looked for."""


def size_exponent(sizes: Sequence[int], smallest: int = 1) -> Interval:
    """Return the exponent α of P(size) ~ size ** -α over the sizes from `smallest` on.

    Raises:
        SettingError: fewer than two different sizes are left.
    """
    whole("smallest", smallest, 1)
    fitting = np.array([size for size in sizes if size >= smallest], dtype=np.float64)
    if len(np.unique(fitting)) < 2:
        raise SettingError(
            f"an exponent needs cascades of at least two sizes from {smallest} on; got"
            f" {sorted({*fitting.tolist()})}. Add cascades, or lower `smallest`"
        )
    logs, count = float(np.log(fitting).sum()), len(fitting)

    def loss(exponent: float) -> float:
        return count * math.log(zeta(exponent, smallest)) + exponent * logs

    return _fitted(loss, (1.0 + 1e-6, _STEEPEST), count)


@dataclass(frozen=True, slots=True)
class AtRisk:
    """An agent that has not adopted yet, in one round."""

    round: int
    """Round; agents are compared with those of the same round."""
    exposures: float
    """Messages with the claim that it has read so far."""
    adopts: bool
    """True if it adopts the claim in this round."""


def hazard_ratio(agents: Sequence[AtRisk]) -> Interval:
    """Return the factor by which one more exposure multiplies the hazard of adoption.

    The hazard of a round itself is free, so it may rise or fall with time.

    Raises:
        SettingError: in no round an agent adopts while agents of other exposures are at risk.
    """
    rounds = []
    for number in sorted({agent.round for agent in agents}):
        at_risk = [agent for agent in agents if agent.round == number]
        exposures = np.array([agent.exposures for agent in at_risk])
        adopts = np.array([agent.adopts for agent in at_risk])
        if adopts.any() and not adopts.all() and np.ptp(exposures) > 0:
            rounds.append((exposures, exposures[adopts]))
    if not rounds:
        raise SettingError(
            "a hazard ratio needs a round in which some agents adopt and others do not, with"
            f" different exposures; got {len(agents)} agents at risk and no such round. Add rounds"
        )

    def loss(slope: float) -> float:
        total = 0.0
        for exposures, adopters in rounds:
            everyone, ties = np.exp(slope * exposures).sum(), np.exp(slope * adopters).sum()
            shares = np.arange(len(adopters)) / len(adopters)
            total += np.log(everyone - shares * ties).sum() - slope * adopters.sum()
        return float(total)

    slope = _fitted(loss, (-_STEEPEST, _STEEPEST), sum(len(adopters) for _, adopters in rounds))
    low, high = math.exp(slope.low), math.exp(slope.high)
    return Interval(math.exp(slope.mean), low, high, slope.count)


def _fitted(loss: Callable[[float], float], bounds: tuple[float, float], count: int) -> Interval:
    """Return the place of the least loss with its Wald interval, from the curvature there."""
    best = float(minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-9}).x)
    curvature = (loss(best + _STEP) - 2 * loss(best) + loss(best - _STEP)) / _STEP**2
    half = Z95 / math.sqrt(curvature) if curvature > 0 else math.inf
    return Interval(best, best - half, best + half, count)
