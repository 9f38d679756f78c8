"""Intervals over runs: what several seeds say together, and how much changed in one run.

Pure functions of numbers; knows no metric and no file. Sources: Student's t (W. S. Gosset, 1908);
the difference of two estimates from their intervals: R. G. Newcombe, "Interval estimation for the
difference between independent proportions" (1998), method 10, and G. Y. Zou, A. Donner,
"Construction of confidence limits about effect measures" (2008) for means.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from laconic.learners.metrics import Interval


def over_seeds(
    values: Sequence[float], bounds: tuple[float, float] = (-math.inf, math.inf)
) -> Interval:
    """The mean over seeds with its 95 % t-interval.

    Args:
        values: one value for each seed, at least one.
        bounds: what the values cannot leave; the interval is cut there.

    Returns:
        Mean, interval and number of seeds. One seed shows no spread: both ends are NaN.

    Raises:
        ValueError: there are no values.
    """
    # Imported here because it takes long, and most programs need no interval when they start.
    from scipy import stats

    count = len(values)
    if not count:
        raise ValueError("a mean over seeds needs at least one value; got none")
    mean = fmean(values)
    if count == 1:
        return Interval(mean, math.nan, math.nan, count)
    # Not `t.interval` or `sem`, which give NaN and a rounding error where all values are equal.
    half = float(stats.t.ppf(0.975, count - 1)) * stdev(values) / math.sqrt(count)
    return Interval(mean, max(mean - half, bounds[0]), min(mean + half, bounds[1]), count)


def difference(before: Interval, after: Interval) -> Interval:
    """How much `after` is above `before`, with a 95 % interval from the two intervals.

    Treats the two as independent. Measured on the same tasks they rise and fall together, so the
    interval is then wider than it need be, never narrower.

    Args:
        before: the first estimate.
        after: the second estimate.

    Returns:
        The change; its ends are NaN where an end of the two is.
    """
    change = after.mean - before.mean
    down = math.hypot(after.mean - after.low, before.high - before.mean)
    up = math.hypot(after.high - after.mean, before.mean - before.low)
    return Interval(change, change - down, change + up, min(before.count, after.count))
