"""Statistics over runs and environments, by hand; `test_peers.py` compares them with rliable."""

from __future__ import annotations

import math

import numpy as np
import pytest

from laconic.extras.benchmark.statistics import (
    improvement,
    interval,
    iqm,
    profile,
    run_scores,
)


def test_the_interquartile_mean_leaves_a_quarter_out_at_each_end():
    # 8 scores: the middle four are 2, 3, 4, 5.
    assert iqm(np.array([[0.0, 1, 2, 3], [4, 5, 6, 100]])) == 3.5
    # Of three, int(0.75) = 0 are left out.
    assert iqm(np.array([[0.0, 0.0, 3.0]])) == 1.0


def test_the_profile_is_the_share_of_runs_above_a_level():
    scores = np.array([[0.2, 0.8], [0.4, 0.6]])
    assert list(profile(scores, np.array([0.0, 0.4, 0.7, 0.8]))) == [1.0, 0.5, 0.25, 0.0]


def test_improvement_counts_pairs_by_environment_and_ties_as_halves():
    # Environment 1: 3 and 1 against 2 and 1 are >, >, <, =: 2.5 of 4. Environment 2: all lose.
    first, second = np.array([[3.0, 0], [1, 0]]), np.array([[2.0, 1], [1, 1]])
    assert improvement(first, second) == pytest.approx((2.5 / 4 + 0) / 2)
    assert improvement(first, first) == 0.5


def test_a_run_is_bounded_below_after_its_tasks_are_averaged():
    # Tasks -4 and 0 make -2, which counts as -1; -3 and 2 make -0.5.
    assert list(run_scores([np.array([[-4.0, 0], [-3, 2]])])[:, 0]) == [-1.0, -0.5]


def test_one_exact_run_has_no_interval():
    figure = interval(iqm, [np.array([[0.7]])])
    assert figure.mean == 0.7 and math.isnan(figure.low) and math.isnan(figure.high)


def test_tasks_alone_and_seeds_alone_give_an_interval():
    # 100 tasks of 0 or 1: the mean of a resample has the standard error 0.05.
    tasks = interval(iqm, [np.tile([0.0, 1.0], 50)[None]])
    assert tasks.low == pytest.approx(0.5 - 1.96 * 0.05, abs=0.015)
    assert tasks.high == pytest.approx(0.5 + 1.96 * 0.05, abs=0.015)
    seeds = interval(lambda scores: float(scores.mean()), [np.array([[0.0], [1.0]])])
    # Both seeds the same: a quarter each.
    assert (seeds.low, seeds.high) == (0.0, 1.0)


def test_methods_share_the_drawn_tasks():
    # On every task the first is better by 0.1, so on every resample too.
    tasks = np.random.default_rng(1).normal(size=(1, 30))
    over = interval(lambda a, b: float((a - b).mean()), [tasks + 0.1], [tasks])
    assert over.mean == pytest.approx(0.1) and math.isnan(over.low)
