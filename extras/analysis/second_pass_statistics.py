"""What a second pass gains, cut into three parts; pure functions of who solved what.

After "Revision or re-solving" (arXiv 2604.01029), of which a digest was read. A is a weak draft, B
a strong agent that revises it, C the strong one alone, D the strong one over a draft without
content. Re-solving is C - A, the scaffold D - C, the content B - D; they add up to the total B - A.
Intervals: paired bootstrap over tasks (B. Efron, 1979), 95 %.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from laconic.learners.metrics import RESAMPLES, Interval, resample

PARTS = ("re_solving", "scaffold", "content", "total")
Solved = Mapping[str, bool]
"""Who solved what, by task."""


def draws(gains: NDArray[np.int64]) -> NDArray[np.float64]:
    """Gains of each part in tasks (tasks, parts), summed over tasks drawn with return.

    Returns (resamples, parts), whole numbers, so that parts add up exactly.
    """
    return resample(RESAMPLES, len(gains), np.random.default_rng(0)) @ gains


def split(draft: Solved, revise: Solved, resolve: Solved, scaffold: Solved) -> dict[str, Interval]:
    """Each of `PARTS` as a share of the tasks that all four played; nothing without such a task."""
    tasks = sorted(draft.keys() & revise.keys() & resolve.keys() & scaffold.keys())
    if not tasks:
        return {}
    a, b, c, d = (
        np.array([one[key] for key in tasks], dtype=np.int64)
        for one in (draft, revise, resolve, scaffold)
    )
    gains = np.stack([c - a, d - c, b - d, b - a], axis=1)
    ends = np.percentile(draws(gains), (2.5, 97.5), axis=0) / len(tasks)
    means = gains.sum(axis=0) / len(tasks)
    return {
        name: Interval(float(means[i]), float(ends[0, i]), float(ends[1, i]), len(tasks))
        for i, name in enumerate(PARTS)
    }
