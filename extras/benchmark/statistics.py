"""Statistics over runs of several environments, with stratified bootstrap intervals.

They are those of rliable (Agarwal et al., "Deep Reinforcement Learning at the Edge of the
Statistical Precipice", 2108.13264), which marl-eval uses as well. `make peers-benchmark` compares
them. rliable itself pins packages that do not install beside ours.

Environments are strata: every resample has all of them, with seeds drawn anew in each. Tasks are
drawn anew too, the same ones for all runs of an environment. rliable does not know tasks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laconic.extras.benchmark.score import LOWEST
from laconic.learners.metrics import Interval

Array = NDArray[np.float64]
Method = Sequence[Array]
"""Normalized scores of one method by environment, (runs, tasks) each; equal numbers of runs."""
RESAMPLES = 2000


def run_scores(method: Method) -> Array:
    """Return the scores of runs, (runs, environments): means over tasks, at least -1."""
    return np.stack([np.maximum(scores.mean(1), LOWEST) for scores in method], axis=1)


def iqm(scores: Array) -> float:
    """Return the mean of the middle half of all scores."""
    ordered = np.sort(scores, axis=None)
    cut = int(0.25 * len(ordered))
    return float(ordered[cut : len(ordered) - cut].mean())


def profile(scores: Array, levels: Array) -> Array:
    """Return the share of runs above each level, mean over environments."""
    shares: Array = (scores[:, :, None] > levels).mean((0, 1))
    return shares


def improvement(first: Array, second: Array) -> float:
    """Return the probability that a run of the first beats one of the second; ties are halves."""
    signs = np.sign(first[:, None, :] - second[None, :, :])
    return float((signs / 2 + 0.5).mean())


def interval(
    statistic: Callable[..., Any], *methods: Method, resamples: int = RESAMPLES, seed: int = 0
) -> Any:
    """Return a statistic of methods with its 95 % bootstrap interval.

    Args:
        statistic: function of the run scores of each method, (runs, environments).
        *methods: methods on the same environments and tasks.
        resamples: number of resamples.
        seed: seed of the resampling.

    Returns:
        An `Interval` for a number; both ends are NaN where nothing shows a spread. For an array,
        the tuple (values, lower ends, upper ends).
    """
    generator = np.random.default_rng(seed)
    value = np.asarray(statistic(*map(run_scores, methods)))
    resampled = np.array(
        [statistic(*map(run_scores, _resampled(methods, generator))) for _ in range(resamples)]
    )
    low, high = np.percentile(resampled, (2.5, 97.5), axis=0)
    if value.ndim:
        return value, low, high
    # One run and one task show no spread.
    ends = (float(low), float(high)) if high - low > 1e-12 else (math.nan, math.nan)
    return Interval(float(value), *ends, len(methods[0][0]))


def _resampled(methods: Sequence[Method], generator: np.random.Generator) -> list[Method]:
    """Draw tasks of each environment once for all methods, and runs of each method."""
    resampled: list[list[Array]] = [[] for _ in methods]
    for scores in zip(*methods, strict=True):
        count = scores[0].shape[1]
        tasks = generator.integers(count, size=count)
        for draws, runs in zip(resampled, scores, strict=True):
            places = generator.integers(len(runs), size=len(runs))
            draws.append(runs[places][:, tasks])
    return list(resampled)
