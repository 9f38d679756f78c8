"""The closed forms of trees of voters, with figures worked out by hand."""

from __future__ import annotations

import math

import pytest

from laconic.envs.errors import SettingError
from laconic.extras.analysis.synergy import (
    Vote,
    best_leaf,
    critical_shared,
    fit_power,
    majority,
    slope,
    widest,
)

# Fan-in 5, fidelity 0.6, bias of a leaf 0.05. f_5'(0) = 5 * 6 / 16 = 1.875, so that
# α = 0.6 (ρ + (1 - ρ) 1.875).
DEPTHS = {
    0.0: (1.125, 0.15896, 0.65845),
    0.1: (1.0725, 0.09954, 0.33308),
    0.2: (1.02, 0.06057, 0.08797),
    0.3: (0.9675, 0.0358, 0.01844),
    0.5: (0.8625, 0.01137, 0.00059),
}
"""ρ -> α, and the bias of the root at depths 10 and 30."""


@pytest.mark.parametrize(
    ("bias", "votes", "expected"),
    [
        # One vote is itself.
        (0.3, 1, 0.3),
        (0.0, 7, 0.0),
        (1.0, 5, 1.0),
        (-1.0, 5, -1.0),
        # p = 0.6: p^3 + 3 p^2 q = 0.216 + 0.432 = 0.648.
        (0.2, 3, 0.296),
        (-0.2, 3, -0.296),
        # p = 0.6: p^5 + 5 p^4 q + 10 p^3 q^2 = 0.07776 + 0.2592 + 0.3456 = 0.68256.
        (0.2, 5, 0.36512),
        # Two votes: p^2 + p q = p. Four: p^4 + 4 p^3 q + 3 p^2 q^2 = 0.1296 + 0.3456 + 0.1728.
        (0.2, 2, 0.2),
        (0.2, 4, 0.296),
    ],
)
def test_a_majority_is_the_binomial_tail(bias, votes, expected):
    assert majority(bias, votes) == pytest.approx(expected, abs=1e-12)


def test_the_slopes_of_small_biases():
    # 3 * 2 / 4, 5 * 6 / 16, 7 * 20 / 64, 9 * 70 / 256.
    for votes, expected in {3: 1.5, 5: 1.875, 7: 2.1875, 9: 2.4609}.items():
        assert slope(votes) == pytest.approx(expected, abs=5e-5)
        assert majority(1e-5, votes) / 1e-5 == pytest.approx(slope(votes), abs=1e-6)
    assert (slope(1), slope(2), slope(4)) == (1.0, 1.0, 1.5)
    # f_b'(0) approaches sqrt(2 b / π).
    assert slope(1001) == pytest.approx(math.sqrt(2 * 1001 / math.pi), rel=1e-3)


def test_the_critical_share_of_shared_votes():
    # 0.6 (ρ + 1.875 - 1.875 ρ) = 1 at 0.525 ρ = 0.125.
    assert critical_shared(5, 0.6) == pytest.approx(5 / 21)
    assert Vote(5, 0.6, 5 / 21).amplification == pytest.approx(1.0)
    # 0.4 * 1.875 = 0.75 is below 1 without any shared vote.
    assert critical_shared(5, 0.4) < 0
    assert critical_shared(2, 0.9) == math.inf


@pytest.mark.parametrize("shared", DEPTHS)
def test_the_bias_by_depth(shared):
    vote = Vote(5, 0.6, shared)
    alpha, at_10, at_30 = DEPTHS[shared]
    assert vote.amplification == pytest.approx(alpha, abs=1e-12)
    levels = vote.by_depth(0.05, 30)
    assert len(levels) == 31 and levels[0] == 0.05
    # ρ = 0 at first: f_5(0.03) = 0.05622.
    assert levels[10] == pytest.approx(at_10, abs=5.1e-6)
    assert levels[30] == pytest.approx(at_30, abs=5.1e-6)


def test_a_bias_grows_to_the_fixed_point_or_is_washed_out():
    # b = 3: T(u) = γ u (3 - γ² u²) / 2 is u at γ² u² = 3 - 2 / γ; γ = 0.8 gives u² = 0.5 / 0.64.
    vote = Vote(3, 0.8)
    assert vote.fixed_point == pytest.approx(math.sqrt(0.5 / 0.64))
    assert vote.by_depth(0.01, 200)[-1] == pytest.approx(vote.fixed_point)
    assert Vote(3).fixed_point == 1.0
    # 2/3 * 1.5 = 1 is the edge.
    for lost in (Vote(3, 2 / 3), Vote(5, 0.6, 0.3), Vote(2, 0.9), Vote(3, 0.0)):
        assert lost.fixed_point == 0.0
        assert abs(lost.by_depth(0.01, 200)[-1]) <= 0.01


def test_a_majority_tree_pays_only_below_an_exponent_of_one_half():
    expected = {3: 0.369, 5: 0.391, 7: 0.402, 9: 0.410, 31: 0.437}
    for fan_in, exponent in expected.items():
        assert Vote(fan_in).exponent == pytest.approx(exponent, abs=5e-4)
    assert all(Vote(fan_in).exponent < 0.5 for fan_in in range(2, 400))
    assert Vote(1).exponent == Vote(3, 0.0).exponent == -math.inf


@pytest.mark.parametrize(("beta", "pays"), [(0.3, True), (0.45, False)])
def test_a_tree_beats_one_agent_of_equal_budget_if_its_exponent_is_higher(beta, pays):
    # s of five votes is 0.3906. 125 leaves of 4 tokens against one agent of 500, u = 1e-4 x^β.
    tree = Vote(5).by_depth(1e-4 * 4**beta, 3)[-1]
    assert (tree > 1e-4 * 500**beta) is (Vote(5).exponent > beta) is pays


def test_the_best_leaf_size():
    # 0.2 * 12 / (0.5 - 0.2) = 8 tokens.
    assert best_leaf(0.5, 0.2, 12) == pytest.approx(8)
    assert best_leaf(0.3, 0.3, 12) == best_leaf(0.2, 0.3, 12) == math.inf
    # At 8 tokens (budget / (x + 12))^s x^β is highest.
    worth = {x: (1000 / (x + 12)) ** 0.5 * x**0.2 for x in (7.5, 8, 8.5)}
    assert max(worth, key=worth.__getitem__) == 8


def test_a_window_limits_the_fan_in():
    # 512 = 10 * 48 + 32.
    assert widest(512, 48) == 10 and widest(48, 48) == 1 and widest(40, 48) == 0


def test_a_power_is_recovered_from_its_points():
    # 0.1 * 4^0.5 = 0.2 and 0.1 * 25^0.5 = 0.5; a bias of 0 has no logarithm.
    assert fit_power([4, 25, 1], [0.2, 0.5, 0.0]) == pytest.approx((0.1, 0.5))
    assert fit_power([4, 4], [0.2, 0.5]) is None
    assert fit_power([4, 25], [0.2, -0.1]) is None
    assert fit_power([], []) is None


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Vote(0), "fan_in must be a whole number of at least 1"),
        (lambda: Vote(3, fidelity=1.1), "fidelity must be"),
        (lambda: Vote(3, shared=-0.1), "shared must be"),
        (lambda: majority(0.1, 0), "votes must be"),
        (lambda: Vote(3).by_depth(0.1, -1), "depth must be"),
        (lambda: widest(0, 48), "window must be"),
    ],
)
def test_values_out_of_range_are_refused(make, expected):
    with pytest.raises(SettingError, match=expected):
        make()
