"""Figures of several evaluations of one setting, and their change from the start.

Where the evaluations played the same tasks and kept the outcomes by task, intervals are over tasks
and seeds, and changes are paired by task. Evaluations on tasks of their own are independent, and
have intervals over seeds, which hold the tasks. Runs of versions that kept no outcomes have the
wider intervals of their figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from laconic.experiments.run_folder.records import Evaluation
from laconic.experiments.statistics.intervals import (
    difference,
    over_seeds,
    over_tasks_and_seeds,
    student,
)
from laconic.learners.metrics import Interval, bounds, is_share

Pairs = Sequence[tuple[Evaluation, Evaluation]]
"""Evaluation to compare with, and evaluation; one pair per seed."""


def pooled(evaluations: Sequence[Evaluation | None], name: str) -> Interval | None:
    """Return a metric over the seeds that have it, with its interval; None without any."""
    having = [entry for entry in evaluations if entry and entry.figure(name)]
    figures = [figure for entry in having if (figure := entry.figure(name))]
    if not figures:
        return None
    if len(having) == 1 or not _kept(having, name):
        interval = over_seeds(figures)
    elif _same_tasks(having):
        runs = [entry.outcomes[name] for entry in having]
        interval = over_tasks_and_seeds(runs, share=is_share(name))
    else:
        interval = student([figure.mean for figure in figures])
    low, high = bounds(name)
    return replace(interval, low=max(interval.low, low), high=min(interval.high, high))


def changed(pairs: Pairs, name: str) -> Interval | None:
    """Return the mean change of a metric from the first evaluation of each pair to the second.

    The seconds are runs of one setting, one per seed; the firsts are their starts, or the runs of
    another setting. None without pairs, or if an evaluation lacks the metric.
    """
    starts, ends = [first for first, _ in pairs], [second for _, second in pairs]
    before, after = pooled(starts, name), pooled(ends, name)
    if not before or not after or not all(entry.figure(name) for entry in (*starts, *ends)):
        return None
    paired = _kept([*starts, *ends], name) and all(_same_tasks(pair) for pair in pairs)
    if paired and _same_tasks(ends):
        runs, first = ([entry.outcomes[name] for entry in side] for side in (ends, starts))
        return over_tasks_and_seeds(runs, first, share=is_share(name))
    if paired:
        # Seeds with tasks of their own: each pair is one independent change.
        changes = [changed([pair], name) for pair in pairs]
        return student([change.mean for change in changes if change])
    return difference(before, after)


def _kept(evaluations: Sequence[Evaluation], name: str) -> bool:
    return all(name in entry.outcomes for entry in evaluations)


def _same_tasks(evaluations: Sequence[Evaluation]) -> bool:
    """Return whether all played the same tasks with the same seeds; False if unknown."""
    # A folder from elsewhere may name other tasks alike.
    played = {(entry.tasks, entry.episodes) for entry in evaluations}
    return evaluations[0].tasks != "" and len(played) == 1
