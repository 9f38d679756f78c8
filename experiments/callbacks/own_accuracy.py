"""Measure the policy's own accuracy while it imitates a teacher, every few steps on a few tasks.

The training episodes are the teacher's, so their accuracy says nothing about the policy.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from laconic.experiments.session.training_run import Callback, Row, TrainingRun
from laconic.learners.rollout.play import play

EVERY = 25
"""Steps between two measurements."""
TASKS = 32
"""Evaluation tasks of one measurement, played greedily."""
MAX_SHARE = 0.05
"""Maximum fraction of the training time for measurements; a measurement beyond it is skipped."""
NAME = "train/own_accuracy"
"""Metric of the policy's own accuracy."""


class OwnAccuracy(Callback):
    """Measures the accuracy of a policy that imitates a teacher."""

    def __init__(self) -> None:
        """Start without measurements."""
        self._steps = 0.0
        self._spent = 0.0
        self._cost: float | None = None

    def on_step(self, run: TrainingRun, row: Row) -> None:
        """Add the accuracy to the row, if it is due."""
        self.observe(row)
        # Processes differ in their times.
        if run.processes.main(lambda: self.is_due(run.step)):
            row |= self.measure(run)

    def on_evaluation(self, run: TrainingRun, row: Row) -> None:
        """Estimate the cost of a measurement."""
        self.estimate(row, len(run.starts))

    def observe(self, row: Mapping[str, float]) -> None:
        """Add the time of a step."""
        self._steps += row.get("time/rollout", 0.0) + row.get("time/update", 0.0)

    def estimate(self, row: Mapping[str, float], episodes: int) -> None:
        """Estimate the cost of a measurement from an evaluation of this number of episodes."""
        if episodes:
            self._cost = row["time/evaluation"] * min(TASKS / episodes, 1.0)

    def is_due(self, step: int) -> bool:
        """Return whether to measure after a step."""
        if not step or step % EVERY:
            return False
        if self._cost is None:
            # The cost is known only after the first measurement.
            return True
        return self._spent + self._cost <= MAX_SHARE * self._steps

    def measure(self, run: TrainingRun) -> dict[str, float]:
        """Play the tasks greedily and return the metric by its name."""
        began = time.perf_counter()
        with run.cuttable():
            episodes = run.processes.map_sharded(
                run.starts[:TASKS],
                lambda own: play(
                    run.evaluation, run.policies, own, seed=run.processes.rank, greedy=True
                ),
                unshard=not run.engine.keeps_copies,
            )
        self._cost = time.perf_counter() - began
        self._spent += self._cost
        return {NAME: sum(bool(episode.solved) for episode in episodes) / len(episodes)}
