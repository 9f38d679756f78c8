"""pass@k: how likely one of k samples solves a task, from n samples of which c did.

The unbiased estimator of Chen et al., "Evaluating Large Language Models Trained on Code" (arXiv
2107.03374), section 2.1: 1 - C(n - c, k) / C(n, k). Pure functions; knows no program and no file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from laconic.experiments.statistics.intervals import student
from laconic.learners.metrics import Interval, wilson


def pass_at_k(n: int, c: int, k: int) -> float:
    """The estimate for one task.

    The quotient is a product of k factors from 0 to 1, so that no number in it is large.

    Args:
        n: samples of the task, at least `k`.
        c: those that solved it, from 0 to `n`.
        k: samples that may be tried, at least 1.

    Returns:
        A probability; 0 where no sample solved the task, 1 where fewer than k failed.

    Raises:
        ValueError: a number is out of its range.
    """
    if not 1 <= k <= n or not 0 <= c <= n:
        raise ValueError(
            f"pass@k needs 1 <= k <= n and 0 <= c <= n; got n={n!r}, c={c!r} and k={k!r}."
            " Take more samples, or a smaller k"
        )
    return 1.0 - math.prod((n - c - i) / (n - i) for i in range(k))


def over_tasks(counts: Sequence[tuple[int, int]], k: int) -> Interval:
    """The mean estimate over tasks with its 95 % interval.

    Tasks are independent and the samples of one are not, so the interval is over tasks: Student's
    t, cut at 0 and 1; Wilson's where every task has the same value 0 or 1. Its ends are NaN where
    every task has the same other value.

    Args:
        counts: samples and solving samples of each task, at least one task.
        k: samples that may be tried.

    Raises:
        ValueError: there is no task, or one has fewer than `k` samples.
    """
    values = [pass_at_k(n, c, k) for n, c in counts]
    found = student(values, bounds=(0.0, 1.0))
    if set(values) <= {0.0} or set(values) <= {1.0}:
        return Interval(found.mean, *wilson(sum(values), len(values)), len(values))
    return found
