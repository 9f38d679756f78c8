"""Intervals over runs: what several seeds say together, and how much changed in one run.

Pure functions of numbers; knows no metric and no file. Sources: Student's t (W. S. Gosset, 1908);
the quantile's expansion in 1/df: Abramowitz and Stegun, "Handbook of Mathematical Functions",
26.7.5; the difference of two estimates from their intervals: R. G. Newcombe, "Interval estimation
for the difference between independent proportions" (1998), method 10, and G. Y. Zou, A. Donner,
"Construction of confidence limits about effect measures" (2008) for means.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from laconic.learners.metrics import NORMAL_975, Interval

# 97.5 % quantiles of Student's t for 1 to 9 degrees of freedom, where the expansion is too coarse.
_T_975 = (12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157)


def t_quantile(df: int) -> float:
    """The 97.5 % quantile of Student's t.

    Args:
        df: degrees of freedom, at least 1.

    Returns:
        The quantile, right to about 1e-4.

    Raises:
        ValueError: `df` is below 1.
    """
    if df < 1:
        raise ValueError(f"degrees of freedom must be at least 1; got {df!r}")
    if df <= len(_T_975):
        return _T_975[df - 1]
    z = NORMAL_975
    return (
        z
        + (z**3 + z) / (4 * df)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * df**3)
    )


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
    count = len(values)
    if not count:
        raise ValueError("a mean over seeds needs at least one value; got none")
    mean = math.fsum(values) / count
    if count == 1:
        return Interval(mean, math.nan, math.nan, count)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    half = t_quantile(count - 1) * math.sqrt(variance / count)
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
