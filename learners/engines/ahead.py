"""Plays the groups of coming steps while an update runs, with weights that lag behind a little.

With the weights of k updates the groups of the steps up to k + 1 + `engine.max_staleness` may be
played, because step s learns from what lags by s - 1 - k updates. They are all begun as soon as
these weights speak, so a slow episode of one step holds up none of the next. Each episode is played
with the newest weights of the moment in which it begins, from its first turn to its last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from statistics import fmean
from threading import Thread
from typing import Generic, TypeVar

from laconic.learners.agents import waiting
from laconic.learners.episode import Group

T = TypeVar("T")


class Ahead(Generic[T]):
    """Plays under way, by the step that they are for."""

    def __init__(self, play: Callable[[int], T], most: int, last: int) -> None:
        """Begin nothing yet.

        Args:
            play: plays what a step needs; called from threads.
            most: updates by which weights that play may lag behind; so many plays beside that of
                the present step are under way at a time.
            last: step after which there is nothing to play.
        """
        self._play, self._most, self._last = play, most, last
        self._under_way: dict[int, Future[T]] = {}

    def take(self, step: int) -> T:
        """What was played for a step; played now, where that was not begun."""
        found = self._under_way.pop(step, None)
        return self._play(step) if found is None else waiting.result(found)

    def begin(self, step: int) -> None:
        """Begin what is missing of this step and of those that may lag behind."""
        for coming in range(step, min(step + self._most, self._last) + 1):
            if coming not in self._under_way:
                self._under_way[coming] = _in_thread(self._play, coming)

    def settle(self) -> None:
        """Wait for all that is under way; what went wrong is said when it is taken."""
        for one in self._under_way.values():
            waiting.settled(one)


def _in_thread(play: Callable[[int], T], step: int) -> Future[T]:
    """A call in a thread that does not hold up the end of the program."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(play(step))
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True, name=f"play {step}").start()
    return future


def fresh(
    groups: Sequence[Group], newest: int | None, most: int
) -> tuple[list[Group], dict[str, float]]:
    """Leave out, whole, the groups that were played with weights too old to learn from.

    Args:
        groups: of a step.
        newest: version of the weights that learn, as an engine counts them; None: no engine.
        most: versions by which a reply's may lag behind.

    Returns:
        The others, and `staleness`, the mean lag of their trained replies in versions, and
        `dropped_groups`, how many were left out; nothing of these without an engine.
    """
    if newest is None:
        return list(groups), {}
    lags = {id(group): _lags(group, newest) for group in groups}
    kept = [group for group in groups if max(lags[id(group)], default=0) <= most]
    counted = [lag for group in kept for lag in lags[id(group)]]
    return kept, {
        "staleness": fmean(counted) if counted else 0.0,
        "dropped_groups": float(len(groups) - len(kept)),
    }


def _lags(group: Group, newest: int) -> list[int]:
    return [
        newest - turn.version
        for episode in group.episodes
        for turn in episode.turns
        if turn.trained and turn.version is not None
    ]
