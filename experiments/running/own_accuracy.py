"""How well the policy itself does while it learns by imitation, on a few tasks now and then.

What is played then is a teacher, whose figures say nothing of the policy.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from laconic.experiments.running.run_state import TrainingRun
from laconic.learners.rollout.play import play

EVERY = 25
"""Steps between two measurements."""
TASKS = 32
"""Evaluation tasks of one measurement, played greedily."""
MAX_SHARE = 0.05
"""Most of a training's time that goes into it; a measurement that would take more waits."""
NAME = "train/own_accuracy"
"""Metric of the policy's own accuracy."""


class OwnAccuracy:
    """Measures the policy of a run whose collector plays somebody else."""

    def __init__(self) -> None:
        """Nothing was measured yet."""
        self._steps = 0.0
        self._spent = 0.0
        self._cost: float | None = None

    def observe(self, row: Mapping[str, float], episodes: int) -> None:
        """Take in how long a step took, and an evaluation of this number of episodes."""
        self._steps += row.get("time/rollout", 0.0) + row.get("time/update", 0.0)
        if "time/evaluation" in row and episodes:
            self._cost = row["time/evaluation"] * min(TASKS / episodes, 1.0)

    def is_due(self, step: int) -> bool:
        """Return whether to measure after a step."""
        if not step or step % EVERY:
            return False
        # At first nobody knows what it costs.
        return self._spent + (self._cost or 0.0) <= MAX_SHARE * self._steps or self._cost is None

    def measure(self, run: TrainingRun) -> dict[str, float]:
        """Play the tasks; return the metric."""
        begun = time.perf_counter()
        with run.cuttable():
            episodes = run.processes.map_sharded(
                run.starts[:TASKS],
                lambda own: play(
                    run.evaluation, run.policies, own, seed=run.processes.rank, greedy=True
                ),
                unshard=not run.engine.apart,
            )
        self._cost = time.perf_counter() - begun
        self._spent += self._cost
        return {NAME: sum(bool(one.solved) for one in episodes) / len(episodes)}


def of_policy(row: Mapping[str, float]) -> dict[str, float]:
    """Return what a display of an imitation shows of a step: the loss, and the policy's own."""
    found = {name: row[name] for name in ("learner/loss", NAME) if name in row}
    own = {NAME: row["eval/accuracy"]} if "eval/accuracy" in row else {}
    return {**found, **own}
