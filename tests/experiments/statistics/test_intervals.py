"""Intervals over seeds and of changes, by hand."""

from __future__ import annotations

import math
from statistics import stdev

import pytest
from scipy import stats

from laconic.experiments.statistics.intervals import difference, over_seeds
from laconic.learners.metrics import Interval


def test_a_mean_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        over_seeds([])


def test_one_seed_shows_no_spread() -> None:
    found = over_seeds([0.5])
    assert (found.mean, found.count) == (0.5, 1)
    assert math.isnan(found.low) and math.isnan(found.high)


def test_equal_seeds_have_an_interval_of_no_width() -> None:
    assert over_seeds([0.5, 0.5, 0.5]) == Interval(0.5, 0.5, 0.5, 3)


def test_the_interval_over_seeds_is_students() -> None:
    # Mean 3, variance (4 + 1 + 0 + 1 + 4) / 4 = 2.5, standard error sqrt(2.5 / 5) = 0.707107;
    # t with 4 degrees of freedom is 2.776445, half width 1.963243.
    found = over_seeds([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (found.mean, found.low, found.high) == pytest.approx((3, 1.036757, 4.963243), abs=1e-6)


def test_the_interval_is_cut_at_the_bounds() -> None:
    # Mean 0.95, half width 12.7062 * 0.05 = 0.635.
    found = over_seeds([0.9, 1.0], bounds=(0.0, 1.0))
    assert (found.low, found.high) == (pytest.approx(0.31469, abs=1e-5), 1.0)


@pytest.mark.parametrize(
    ("df", "expected"),
    # From printed tables.
    [(1, 12.706), (4, 2.776), (9, 2.262), (10, 2.228), (19, 2.093), (30, 2.042), (120, 1.980)],
)
def test_half_an_interval_is_the_quantile_of_the_tables_times_the_standard_error(
    df: int, expected: float
) -> None:
    values = [float(number % 5) for number in range(df + 1)]
    error = stdev(values) / math.sqrt(len(values))
    found = over_seeds(values)
    assert (found.high - found.mean) / error == pytest.approx(expected, abs=6e-4)
    assert found.mean - found.low == pytest.approx(found.high - found.mean, rel=1e-12)


def test_the_interval_is_that_of_a_t_test() -> None:
    values = [0.31, 0.28, 0.4, 0.37, 0.29, 0.33]
    low, high = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    found = over_seeds(values)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9)


def test_a_change_carries_the_spread_of_both_ends() -> None:
    # Down: after may be 0.03 lower, before 0.04 higher: sqrt(9 + 16) = 5 hundredths.
    # Up: after 0.06 higher, before 0.08 lower: 10 hundredths.
    found = difference(Interval(0.5, 0.42, 0.54, 100), Interval(0.7, 0.67, 0.76, 90))
    assert (found.mean, found.low, found.high) == pytest.approx((0.2, 0.15, 0.3), rel=1e-12)
    assert found.count == 90


def test_a_change_from_an_unknown_spread_has_an_unknown_spread() -> None:
    found = difference(Interval(0.5, math.nan, math.nan, 1), Interval(0.7, 0.6, 0.8, 9))
    assert found.mean == pytest.approx(0.2, rel=1e-12)
    assert math.isnan(found.low) and math.isnan(found.high)
