"""Time limit of a training, `train.minutes`: choose the last update, and a size of evaluations.

The time counts from the first step, the evaluation before training: imports and models may take a
minute, which says nothing about the training. A resumed run continues with the time that its
earlier steps left. The last evaluation and the report are part of the time, so an update begins
only if they are expected to fit behind it:

    time so far + this update again + last evaluation + report <= minutes

The last evaluation is expected to take as long as the one before it, times the growth of rollouts
since then, because longer messages slow down both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from laconic.experiments.command_line import clock
from laconic.experiments.session.training_run import Callback, Row, TrainingRun

MINUTES = "train.minutes"
"""Config key of the limit."""
REPORT_SECONDS = 4.0
"""Processor time for saving the policies, drawing the report and ending the program, seconds."""
MAX_SLOWDOWN = 8.0
"""Largest slowdown by other programs that is expected for the report. A program that waits for a
server seems slower than it is."""
EVALUATION_SHARE = 0.1
"""Largest part of the time for the evaluation before training, whose tasks the last one plays."""


@dataclass
class TimeLimit(Callback):
    """Time that a training may take, and the measured durations of its parts."""

    minutes: float | None = None
    """Minutes of the whole run. None: no limit."""
    spent: float = 0.0
    """Seconds that the earlier steps of a resumed run took."""
    elapsed: Callable[[], float] = clock.elapsed
    """Function that returns the seconds since the first step of this process."""
    slowdown: Callable[[], float] = clock.slowdown
    """Function that returns the seconds per second of processor time."""
    _evaluation: float = field(default=0.0, init=False)
    _first_rollout: float | None = field(default=None, init=False)
    _rollout: float = field(default=0.0, init=False)
    _update: float = field(default=0.0, init=False)

    @property
    def evaluation_seconds(self) -> float | None:
        """Time for the evaluation before training, seconds; None without a limit."""
        return None if self.minutes is None else 60 * self.minutes * EVALUATION_SHARE

    def on_resume(self, run: TrainingRun, state: Mapping[str, Any], rows: Sequence[Row]) -> None:
        """Count the earlier steps, and stop if they have left no time."""
        self.spent = seconds_of(rows)
        for row in rows:
            self.observe(row)
        if rows and run.can_evaluate:
            self._obey(run)

    def on_start(self, run: TrainingRun) -> None:
        """Let the run know the time that is left."""
        run.seconds_left, run.first_evaluation_seconds = self.left, self.evaluation_seconds

    def on_step(self, run: TrainingRun, row: Row) -> None:
        """Make this step the last one if the time leaves none for another update."""
        self.observe(row)
        self._obey(run)

    def on_evaluation(self, run: TrainingRun, row: Row) -> None:
        """Take in how long an evaluation takes; that before training may be the last one."""
        self.observe(row)
        if run.step == 0:
            self._obey(run)

    def _obey(self, run: TrainingRun) -> None:
        every = run.cfg.train.evaluate_every
        evaluations = 2 if run.step and every and run.step % every == 0 else 1
        if self.minutes is not None and self.is_up(evaluations):
            updates = run.earliest_end
            run.stop(f"{MINUTES}={self.minutes:g} is up after {updates} updates", MINUTES)

    def observe(self, row: Mapping[str, float]) -> None:
        """Take in the durations of a step, in the order of the steps."""
        if "time/rollout" in row:
            self._rollout = row["time/rollout"]
            self._update = self._rollout + row.get("time/update", 0.0)
            if self._first_rollout is None:
                self._first_rollout = self._rollout
        if "time/evaluation" in row:
            self._evaluation, self._first_rollout = row["time/evaluation"], None

    def left(self) -> float:
        """Return the seconds until the run has to be over; infinite without a limit."""
        if self.minutes is None:
            return math.inf
        return 60 * self.minutes - self.spent - self.elapsed()

    def is_up(self, evaluations: int = 1) -> bool:
        """Return whether another update, the evaluations still due and the report do not fit."""
        growth = self._rollout / self._first_rollout if self._first_rollout else 1.0
        evaluating = evaluations * self._evaluation * max(growth, 1.0)
        report = REPORT_SECONDS * min(self.slowdown(), MAX_SLOWDOWN)
        return self._update + evaluating + report > self.left()


def seconds_of(rows: Iterable[Mapping[str, Any]]) -> float:
    """Return the seconds that steps took, by their rows in `metrics.jsonl`."""
    return sum(
        float(seconds)
        for row in rows
        if isinstance(seconds := row.get("time/step"), int | float) and seconds > 0
    )
