"""Rollouts of coming steps that run while an update runs.

Rollouts for step s may lag at most `engine.max_staleness` updates behind. All rollouts that the
present weights may serve start at once, so a slow episode of one step delays no other step. An
episode samples with the newest weights at its beginning, from its first turn to its last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from statistics import fmean
from threading import Thread
from typing import Generic, TypeVar

from laconic.learners import waiting
from laconic.learners.episode import Group

T = TypeVar("T")


class AsyncRollouts(Generic[T]):
    """Rollouts in progress, by training step."""

    def __init__(self, play: Callable[[int], T], max_staleness: int, last_step: int) -> None:
        """Start nothing yet.

        Args:
            play: rolls out the groups of a step; called from threads.
            max_staleness: number of updates by which sampling weights may lag behind. This many
                rollouts run beside that of the present step.
            last_step: step after which nothing is rolled out.
        """
        self._play, self._max_staleness, self._last_step = play, max_staleness, last_step
        self._running: dict[int, Future[T]] = {}

    def take(self, step: int) -> T:
        """Return the rollout of a step; roll it out now if it was not started."""
        rollout = self._running.pop(step, None)
        return self._play(step) if rollout is None else waiting.result(rollout)

    def begin(self, step: int) -> None:
        """Start the rollouts of this step and the following ones, unless they are running."""
        for coming in range(step, min(step + self._max_staleness, self._last_step) + 1):
            if coming not in self._running:
                self._running[coming] = _in_thread(self._play, coming)

    def settle(self) -> None:
        """Wait for all running rollouts; their errors are raised by `take`."""
        for rollout in self._running.values():
            waiting.wait(rollout)


def _in_thread(play: Callable[[int], T], step: int) -> Future[T]:
    """Call in a daemon thread, which does not delay the end of the program."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(play(step))
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True, name=f"play {step}").start()
    return future


def drop_stale_groups(
    groups: Sequence[Group], newest: int | None, max_staleness: int
) -> tuple[list[Group], dict[str, float]]:
    """Drop groups that hold a trained reply from weights that are too old.

    Args:
        groups: groups of a step.
        newest: version of the trained weights, counted by the engine; None without versions.
        max_staleness: number of versions by which a reply may lag behind.

    Returns:
        The remaining groups, and the metrics `staleness` (mean lag of their trained replies, in
        versions) and `dropped_groups`. Without versions: all groups, and no metrics.
    """
    if newest is None:
        return list(groups), {}
    lags = [_lags(group, newest) for group in groups]
    fresh = [at for at, lag in enumerate(lags) if max(lag, default=0) <= max_staleness]
    fresh_lags = [lag for at in fresh for lag in lags[at]]
    return [groups[at] for at in fresh], {
        "staleness": fmean(fresh_lags) if fresh_lags else 0.0,
        "dropped_groups": float(len(groups) - len(fresh)),
    }


def _lags(group: Group, newest: int) -> list[int]:
    return [
        newest - turn.version
        for episode in group.episodes
        for turn in episode.turns
        if turn.trained and turn.version is not None
    ]
