"""The estimator of pass@k against closed forms and against enumeration."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import pytest

from laconic.experiments.statistics.pass_at_k import over_tasks, pass_at_k
from laconic.learners.metrics import wilson


def test_no_success_gives_nothing_and_too_few_failures_give_certainty() -> None:
    assert all(pass_at_k(10, 0, k) == 0.0 for k in range(1, 11))
    # With 8 successes of 10 any 3 samples hold one; 2 samples may be the two failures.
    assert pass_at_k(10, 8, 3) == 1.0 and pass_at_k(10, 8, 2) < 1.0
    assert pass_at_k(1, 1, 1) == 1.0


@pytest.mark.parametrize(
    ("n", "c", "k", "expected"),
    [
        # k = 1 is the share of successes.
        (10, 3, 1, 3 / 10),
        # k = n is whether there is any.
        (7, 1, 7, 1.0),
        # One success is among k of n with probability k / n.
        (20, 1, 5, 5 / 20),
        # 1 - C(3, 2) / C(5, 2) = 1 - 3 / 10
        (5, 2, 2, 0.7),
        # 1 - C(6, 3) / C(10, 3) = 1 - 20 / 120
        (10, 4, 3, 5 / 6),
    ],
)
def test_the_estimate_is_the_closed_form(n: int, c: int, k: int, expected: float) -> None:
    assert pass_at_k(n, c, k) == pytest.approx(expected, rel=1e-12)


def test_the_estimate_is_the_share_of_all_choices_that_hold_a_success() -> None:
    for n in range(1, 9):
        for c in range(n + 1):
            samples = [True] * c + [False] * (n - c)
            for k in range(1, n + 1):
                choices = list(combinations(samples, k))
                expected = Fraction(sum(map(any, choices)), len(choices))
                assert pass_at_k(n, c, k) == pytest.approx(float(expected), rel=1e-12), (n, c, k)


def test_the_estimate_is_unbiased() -> None:
    # Over all outcomes of n tries with success rate p its mean is 1 - (1 - p) ** k.
    n, k, p = 6, 3, 0.3
    mean = math.fsum(
        math.comb(n, c) * p**c * (1 - p) ** (n - c) * pass_at_k(n, c, k) for c in range(n + 1)
    )
    assert mean == pytest.approx(1 - (1 - p) ** k, rel=1e-12)


def test_large_counts_are_exact_enough() -> None:
    n, c, k = 100_000, 40, 1_000
    exact = 1 - Fraction(math.comb(n - c, k), math.comb(n, k))
    assert pass_at_k(n, c, k) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize(("n", "c", "k"), [(5, 6, 1), (5, -1, 1), (5, 2, 0), (5, 2, 6), (0, 0, 1)])
def test_counts_out_of_range_are_refused(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match=f"got n={n}, c={c} and k={k}"):
        pass_at_k(n, c, k)


def test_tasks_are_averaged_with_an_interval_over_tasks() -> None:
    # pass@2 of 5 samples: 0, 0.7 and 1; mean 17 / 30, deviation sqrt(0.2633), t 4.302653.
    interval = over_tasks([(5, 0), (5, 2), (5, 5)], 2)
    assert (interval.mean, interval.count) == (pytest.approx(17 / 30), 3)
    assert (interval.low, interval.high) == (0.0, 1.0)
    many = over_tasks([(5, 0), (5, 2), (5, 5)] * 20, 2)
    # Deviation sqrt(0.178531) = 0.422529 of 60; t with 59 degrees of freedom is 2.000995.
    assert many.high - many.mean == pytest.approx(2.000995 * 0.422529 / math.sqrt(60), rel=1e-4)


def test_equal_values_at_an_edge_still_have_an_interval() -> None:
    interval = over_tasks([(4, 0)] * 8, 2)
    assert (interval.mean, interval.low, interval.high) == (0.0, *wilson(0, 8))
    interval = over_tasks([(4, 4)] * 8, 2)
    assert (interval.mean, interval.low, interval.high) == (1.0, *wilson(8, 8))


def test_no_task_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        over_tasks([], 1)
