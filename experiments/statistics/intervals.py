"""Compute intervals over values, over runs of several seeds, and of the change in one run.

All functions are pure functions of numbers. An interval without width would claim that the mean is
known exactly. So equal values have no interval here: both ends are NaN.

Sources: Student's t (W. S. Gosset, 1908), its quantiles (M. Abramowitz and I. A. Stegun, "Handbook
of Mathematical Functions", 26.7.5); sums and differences of estimates from their intervals
(R. G. Newcombe, "Interval estimation for the difference between independent proportions", 1998,
method 10; G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures", 2008,
for means).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from laconic.learners.metrics import Z95, Interval

_T95 = (
    *(12.7062047362, 4.3026527297, 3.1824463053, 2.7764451052, 2.5705818356, 2.4469118511),
    *(2.3646242516, 2.3060041352, 2.2621571628),
)
"""Quantile 0.975 of Student's t distribution with 1, 2, ... degrees of freedom."""


def student(
    values: Sequence[float], bounds: tuple[float, float] = (-math.inf, math.inf)
) -> Interval:
    """Return the mean of independent values with its 95 % t-interval.

    Args:
        values: at least one value.
        bounds: limits that the values cannot leave; the interval is cut there.

    Returns:
        Mean, interval and number of values. One value, or equal ones, show no spread: both ends are
        NaN.

    Raises:
        ValueError: there are no values.
    """
    count = len(values)
    if not count:
        raise ValueError("a mean needs at least one value; got none")
    mean = fmean(values)
    if min(values) == max(values):
        return Interval(mean, math.nan, math.nan, count)
    half = _quantile(count - 1) * stdev(values) / math.sqrt(count)
    return Interval(mean, max(mean - half, bounds[0]), min(mean + half, bounds[1]), count)


def _quantile(freedom: int) -> float:
    """Return the quantile 0.975 of Student's t distribution, to four decimals or better."""
    if freedom <= len(_T95):
        return _T95[freedom - 1]
    z = Z95
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(sum(term / freedom**power for power, term in enumerate(terms)))


def exact(successes: int, count: int) -> tuple[float, float]:
    """Return the exact 95 % interval of the successes among independent trials, within 0 to 1.

    Source: C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated
    in the case of the binomial" (1934).
    """
    return _lower(successes, count), 1.0 - _lower(count - successes, count)


def _lower(successes: int, count: int) -> float:
    """Return the probability at which at least this number of successes has probability 0.025."""
    if successes == 0:
        return 0.0
    ways = {
        hits: math.lgamma(count + 1) - math.lgamma(hits + 1) - math.lgamma(count - hits + 1)
        for hits in range(successes, count + 1)
    }
    low, high = 0.0, 1.0
    for _ in range(50):
        share = (low + high) / 2
        yes, no = math.log(share), math.log1p(-share)
        tail = sum(math.exp(log + h * yes + (count - h) * no) for h, log in ways.items())
        low, high = (share, high) if tail < 0.025 else (low, share)
    return (low + high) / 2


def over_seeds(
    runs: Sequence[Interval], bounds: tuple[float, float] = (-math.inf, math.inf)
) -> Interval:
    """Return the mean over seeds with a 95 % interval that holds both seeds and tasks.

    All seeds are evaluated on the same tasks, so the spread between seeds says nothing about other
    tasks. The t-interval over seeds and the interval over tasks of a single run, its ends averaged
    over the runs, therefore add as squares on either side:

        down^2 = (t s / sqrt(n))^2 + mean(mean_i - low_i)^2

    and up likewise. The interaction of seeds and tasks is in both parts, so the interval is
    somewhat too wide.

    Args:
        runs: one estimate per seed, with its interval over tasks; NaN ends are unknown, and then
            only the interval over seeds counts.
        bounds: limits that the values cannot leave; the interval is cut there.

    Returns:
        Mean, interval and number of seeds; one seed keeps its own interval. Both ends are NaN if
        neither seeds nor tasks show a spread.

    Raises:
        ValueError: there are no runs.
    """
    seeds = student([run.mean for run in runs])
    half = 0.0 if math.isnan(seeds.high) else seeds.high - seeds.mean
    known = [run for run in runs if not (math.isnan(run.low) or math.isnan(run.high))]
    down, up = (
        math.hypot(half, fmean(sides) if sides else 0.0)
        for sides in ([run.mean - run.low for run in known], [run.high - run.mean for run in known])
    )
    if down == up == 0.0:
        return Interval(seeds.mean, math.nan, math.nan, seeds.count)
    low, high = max(seeds.mean - down, bounds[0]), min(seeds.mean + up, bounds[1])
    # The mean of a single run is over its tasks, so their number counts.
    return Interval(seeds.mean, low, high, seeds.count if len(runs) > 1 else runs[0].count)


def difference(before: Interval, after: Interval) -> Interval:
    """Return `after` minus `before`, with a 95 % interval from the two intervals.

    The two count as independent. Estimates on the same tasks are correlated, so the interval is
    then too wide, never too narrow.

    Args:
        before: the first estimate.
        after: the second estimate.

    Returns:
        The change; its ends are NaN if an end of one estimate is.
    """
    change = after.mean - before.mean
    down = math.hypot(after.mean - after.low, before.high - before.mean)
    up = math.hypot(after.high - after.mean, before.mean - before.low)
    return Interval(change, change - down, change + up, min(before.count, after.count))
