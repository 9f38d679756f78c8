"""pass@k: the probability that at least one of k samples solves a task.

The unbiased estimator of Chen et al., "Evaluating Large Language Models Trained on Code" (arXiv
2107.03374), section 2.1, from n samples of which c solve the task: 1 - C(n - c, k) / C(n, k).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from laconic.experiments.statistics.intervals import student
from laconic.learners.metrics import Interval, wilson


def pass_at_k(n: int, c: int, k: int) -> float:
    """Estimate pass@k for one task.

    The quotient is computed as a product of k factors from 0 to 1, which cannot overflow.

    Args:
        n: number of samples of the task, at least `k`.
        c: number of samples that solve it, from 0 to `n`.
        k: number of attempts, at least 1.

    Returns:
        A probability; 0 if no sample solves the task, 1 if fewer than k fail.

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
    """Return the mean estimate over tasks with its 95 % interval.

    Tasks are independent but the samples of a task are not, so the interval is over tasks. It is
    Student's t, cut at 0 and 1, or Wilson's if all tasks have the value 0 or all 1. Its ends are
    NaN if all tasks have the same other value.

    Args:
        counts: number of samples and of solving samples of each task, at least one task.
        k: number of attempts.

    Raises:
        ValueError: there is no task, or a task has fewer than `k` samples.
    """
    values = [pass_at_k(n, c, k) for n, c in counts]
    interval = student(values, bounds=(0.0, 1.0))
    if set(values) <= {0.0} or set(values) <= {1.0}:
        return Interval(interval.mean, *wilson(sum(values), len(values)), len(values))
    return interval
