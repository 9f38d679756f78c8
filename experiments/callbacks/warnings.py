"""Warn of a training that goes wrong, and end one that learns nothing more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omegaconf import OmegaConf

from laconic.envs.errors import SettingError
from laconic.experiments.run_folder.runs import read_run
from laconic.experiments.session.rules import Rules, context_of
from laconic.experiments.session.run_state import guard_stops, state_of
from laconic.experiments.session.training_run import Callback, Row, TrainingRun
from laconic.experiments.statistics.losses import new_losses
from laconic.learners import checkpoint

SKIPPED = "learner/skipped_steps"
"""Metric that counts optimizer steps skipped because they were not finite."""
LOST = 3
"""Number of updates in a row without a finite optimizer step that stops a run."""


class Warnings(Callback):
    """Warns of what the rules find, of what evaluations lost, and of a full disk."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Choose the rules that fit the composed configuration of a run."""
        self.rules = Rules(context_of(settings))

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the rules."""
        return self.rules.state_dict()

    def on_resume(self, run: TrainingRun, state: Mapping[str, Any], rows: Sequence[Row]) -> None:
        """Continue the rules, so that no warning comes twice."""
        self.rules.load_state_dict(state)

    def on_log(self, run: TrainingRun, row: Row) -> None:
        """Warn of the step, and obey its guards."""
        if words := _want_of_space(run):
            run.warn(words)
        warnings = self.rules.observe(run.step, row)
        if run.step > 0 and "time/evaluation" in row:
            warnings += run.processes.main(lambda: new_losses(read_run(run.folder.path)))
        for warning in warnings:
            run.warn(warning)
        for setting, reason in self.rules.guards().items():
            if guard_stops(run, setting):
                run.stop(
                    f"{setting}=stop ended the run after {run.earliest_end} updates, because"
                    f" {reason}; {setting}=warn with resume={run.folder.path} continues it",
                    setting,
                )


def _want_of_space(run: TrainingRun) -> str | None:
    """Return a warning if coming checkpoints do not fit on the disk, after the first update.

    Only then does the optimizer have a state, so that the size of a checkpoint is known.
    """
    # Each process writes its own shards, so the size of one says nothing about all.
    if run.step != 1 or not run.learner.resumable or run.processes.sharded:
        return None
    coming = -(-run.total // run.cfg.train.checkpoint_every)
    return checkpoint.want_of_space(run.folder.checkpoints, state_of(run), coming)


class Divergence(Callback):
    """Stops a run whose weights no longer change, because no loss or gradient is finite.

    A learner that does not report `learner/steps` may have changed its weights and continues.
    """

    def __init__(self) -> None:
        """Start without lost updates."""
        self.lost = 0

    def on_log(self, run: TrainingRun, row: Row) -> None:
        """Count the updates in a row without a finite step.

        Raises:
            SettingError: each of the last `LOST` updates, or the last update of the run, skipped
                all its optimizer steps.
        """
        no_step = row.get("learner/steps") == 0
        self.lost = self.lost + 1 if row.get(SKIPPED, 0.0) and no_step else 0
        if self.lost >= LOST or (self.lost and run.step == run.total):
            rate = OmegaConf.select(run.cfg, "optimizer.lr")
            raise SettingError(
                f"training diverged: at step {run.step} no optimizer step of the last"
                f" {self.lost} updates had a finite loss and gradient, so the weights no longer"
                f" change; start again with a lower optimizer.lr (it is {rate})"
            )
