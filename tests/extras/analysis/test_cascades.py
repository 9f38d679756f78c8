"""Cascades: exponents and hazard ratios by hand, and recovered from generated ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import zeta

from laconic.envs.errors import SettingError
from laconic.extras.analysis.cascades import AtRisk, hazard_ratio, size_exponent

EXPONENT, RATIO = 2.57, 0.53
"""Those of MoltBook (arXiv 2603.03555)."""


def test_an_exponent_makes_the_mean_logarithm_that_of_the_sizes():
    # At the maximum, -ζ'(α) / ζ(α) is the mean of log(size): log(2) / 4 here.
    sizes, step = [1, 1, 1, 2], 1e-6
    best = size_exponent(sizes).mean
    slope = (math.log(zeta(best + step)) - math.log(zeta(best - step))) / (2 * step)
    assert -slope == pytest.approx(math.log(2) / 4, abs=1e-6)


def test_the_exponent_of_generated_cascades_is_recovered():
    # numpy's zipf draws from the same law. Of 60 intervals of 95 %, 51 or more cover it with
    # probability 0.999.
    covered = 0
    for seed in range(60):
        sizes = np.random.default_rng(seed).zipf(EXPONENT, 2000)
        fitted = size_exponent(sizes.tolist())
        assert fitted.mean == pytest.approx(EXPONENT, abs=0.15) and fitted.count == 2000
        covered += fitted.low <= EXPONENT <= fitted.high
    assert covered >= 51


def test_a_law_that_begins_later_is_fitted_from_there_on():
    sizes = np.random.default_rng(0).zipf(EXPONENT, 20_000)
    # Twice as many of size 1 as the law has.
    spoiled = [*sizes.tolist(), *[1] * int((sizes == 1).sum())]
    assert not size_exponent(spoiled).low <= EXPONENT <= size_exponent(spoiled).high
    fitted = size_exponent(spoiled, smallest=2)
    assert fitted.low <= EXPONENT <= fitted.high


def test_a_ratio_by_hand():
    # One adopter of three agents with 0, 1 and 1 exposures, in two rounds: it had 0, then 1. With
    # x = exp(slope) the likelihood is 1 / (1 + 2x) times x / (1 + 2x), greatest at x = 1/2.
    agents = [AtRisk(0, 0, True), AtRisk(0, 1, False), AtRisk(0, 1, False)]
    agents += [AtRisk(1, 0, False), AtRisk(1, 1, True), AtRisk(1, 1, False)]
    ratio = hazard_ratio(agents)
    assert ratio.mean == pytest.approx(0.5, abs=1e-6)
    # The curvature of 2 log(1 + 2x) - log(x) in log(x) is 2 * 2x / (1 + 2x)^2 = 1/2.
    assert ratio.high == pytest.approx(0.5 * math.exp(1.959964 * math.sqrt(2)), rel=1e-3)
    assert ratio.count == 2


def test_ties_leave_the_ratio_of_equal_exposures_at_one():
    # Half of the agents with 1 exposure and half of those with 2 adopt in the same round.
    agents = [AtRisk(0, exposures, adopts) for exposures in (1, 2) for adopts in (True, False)]
    assert hazard_ratio(agents * 50).mean == pytest.approx(1.0, abs=1e-6)


def exposed(seed: int) -> list[AtRisk]:
    """Generate 3,000 agents that read more and more messages while the hazard falls with time."""
    generator = np.random.default_rng(seed)
    agents, exposures = [], np.ones(3000)
    adopted = np.zeros(3000, dtype=bool)
    for number in range(8):
        hazard = 0.3 * 0.7**number * RATIO ** (exposures - 1)
        adopts = ~adopted & (generator.random(3000) < 1 - np.exp(-hazard))
        agents += [
            AtRisk(number, float(exposures[place]), bool(adopts[place]))
            for place in np.flatnonzero(~adopted)
        ]
        adopted |= adopts
        exposures += generator.random(3000) < 0.5
    return agents


def test_the_hazard_ratio_of_generated_cascades_is_recovered():
    # Of 20 intervals of 95 %, 16 or more cover it with probability 0.997.
    covered = 0
    for seed in range(20):
        ratio = hazard_ratio(exposed(seed))
        assert ratio.mean == pytest.approx(RATIO, abs=0.08)
        covered += ratio.low <= RATIO <= ratio.high
    assert covered >= 16


def test_cascades_without_contrast_are_refused():
    with pytest.raises(SettingError, match=r"at least two sizes from 1 on; got \[3.0\]"):
        size_exponent([3, 3])
    with pytest.raises(SettingError, match="got 2 agents at risk and no such round"):
        hazard_ratio([AtRisk(0, 1, True), AtRisk(1, 2, False)])
