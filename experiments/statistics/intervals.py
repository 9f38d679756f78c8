"""Compute intervals over values, over tasks and seeds, and of changes.

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

import numpy as np
from numpy.typing import NDArray

from laconic.learners.metrics import Z95, Interval, Outcomes, wilson

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
        Mean, interval and number of values. One value, or equal ones, show no spread, and values
        that are not finite no interval: both ends are NaN.

    Raises:
        ValueError: there are no values.
    """
    count = len(values)
    if not count:
        raise ValueError("a mean needs at least one value; got none")
    if not all(map(math.isfinite, values)):
        return Interval(sum(values) / count, math.nan, math.nan, count)
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


def over_tasks_and_seeds(
    runs: Sequence[Outcomes],
    before: Sequence[Outcomes] = (),
    share: bool = False,
    relative: bool = False,
) -> Interval:
    """Return the mean of runs on the same tasks, or their mean change, over tasks and seeds.

    Tasks and seeds are crossed: y[s, t] = mean + seed[s] + task[t] + rest[s, t]. With S seeds, T
    tasks, and the mean squares M of seeds, tasks and rest, the variance of the mean has a part of
    the seeds, max(M_seeds - M_rest, 0) / (S T), and one of the tasks, M_tasks / (S T), which holds
    the rest. Each part gets its own quantile of Student's t, and the two add as squares:

        half^2 = t(S - 1)^2 V_seeds + t(T - 1)^2 V_tasks

    One pooled quantile by Satterthwaite's degrees of freedom covers down to 91 %, because few seeds
    make these degrees uncertain too. A share of turns is a ratio of sums, of which y is the linear
    part. A run that shares its start with others brings it once per seed, which changes nothing.

    Args:
        runs: outcomes of one run per seed, (tasks,) each; all runs played the same tasks.
        before: outcomes of the start of each run on these tasks; then the change is returned.
        share: True for a share from 0 to 1. Its interval is Wilson's with the number of trials
            that has the variance above, so it stays in range and has a width at 0 and 1.
        relative: True to return the mean of the runs as a part of the mean of their starts, by the
            delta method.

    Returns:
        Mean, interval, and the number of seeds, or the sum of counts of a single run: tasks, or
        turns for a share of turns. Both ends are NaN if nothing shows a spread, shares aside. All
        are NaN if a run has no counts or no finite sums, or if starts are 0 on average and the
        change is relative.

    Sources: S. R. Searle, G. Casella and C. E. McCulloch, "Variance Components" (1992), two-way
    crossed random effects; E. L. Korn and B. I. Graubard, "Confidence intervals for proportions
    with small expected number of positive counts" (1998), for the number of trials.

    Raises:
        ValueError: there are no runs, or runs or starts have different numbers of tasks.
    """
    sizes = {len(outcome.sums) for outcome in (*runs, *before)}
    if not runs or len(sizes) != 1 or (before and len(before) != len(runs)):
        raise ValueError(
            "expected outcomes of at least one run on the same tasks, with one start per run or"
            f" none; got {len(runs)} runs and {len(before)} starts with {sorted(sizes)} tasks"
        )
    count = len(runs) if len(runs) > 1 else round(sum(runs[0].counts))
    unknown = Interval(math.nan, math.nan, math.nan, count)
    if not all(sum(run.counts) and math.isfinite(sum(run.sums)) for run in (*runs, *before)):
        return unknown
    values = _linear(runs)
    if before:
        first = _linear(before)
        if relative and not first.mean():
            return unknown
        part = float(values.mean() / first.mean()) if relative else 1.0
        values = values - part * first
        values = part + values / first.mean() if relative else values
    mean, half = _crossed(values)
    trials = sum(1 for total in np.sum([run.counts for run in runs], axis=0) if total)
    if not share or relative:
        ends = (mean - half, mean + half) if half else (math.nan, math.nan)
    elif before:
        # No task changed: what a share that was never seen may still be.
        half = half or wilson(0, trials)[1]
        ends = max(mean - half, -1.0), min(mean + half, 1.0)
    else:
        trials_like = mean * (1 - mean) * (Z95 / half) ** 2 if half else trials
        ends = wilson(mean * trials_like, trials_like)
    return Interval(mean, *ends, count)


def _linear(runs: Sequence[Outcomes]) -> NDArray[np.float64]:
    """Return values, (runs, tasks), whose means over tasks are the figures of the runs."""
    sums = np.array([run.sums for run in runs], float)
    counts = np.array([run.counts for run in runs], float)
    figures = sums.sum(1, keepdims=True) / counts.sum(1, keepdims=True)
    linear: NDArray[np.float64] = figures + (sums - figures * counts) / counts.mean(
        1, keepdims=True
    )
    return linear


def _crossed(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean of values, (seeds, tasks), and half the width of its 95 % interval."""
    seeds, tasks = values.shape
    mean = float(values.mean())
    by_seed, by_task = values.mean(1), values.mean(0)
    rest = values - by_seed[:, None] - by_task + mean
    of_seeds = 0.0
    if seeds > 1:
        spread = tasks * float(by_seed.var(ddof=1))
        # A single task shows no rest, so all of the spread is the seeds'.
        chance = float((rest**2).sum()) / ((seeds - 1) * (tasks - 1)) if tasks > 1 else 0.0
        of_seeds = _quantile(seeds - 1) ** 2 * max(spread - chance, 0.0) / (seeds * tasks)
    of_tasks = _quantile(tasks - 1) ** 2 * float(by_task.var(ddof=1)) / tasks if tasks > 1 else 0.0
    # Equal values may differ by rounding, which is no spread.
    half = math.sqrt(of_seeds + of_tasks)
    return mean, half if half > 1e-12 * max(1.0, abs(mean)) else 0.0


def over_seeds(
    runs: Sequence[Interval], bounds: tuple[float, float] = (-math.inf, math.inf)
) -> Interval:
    """Return the mean over seeds of runs whose outcomes by task were not kept.

    Where they were, `over_tasks_and_seeds` is narrower. All seeds are evaluated on the same tasks,
    so the spread between seeds says nothing about other tasks. The t-interval over seeds and the
    interval over tasks of a single run, its ends averaged over the runs, therefore add as squares
    on either side:

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
    known = [run for run in runs if all(map(math.isfinite, (run.mean, run.low, run.high)))]
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
