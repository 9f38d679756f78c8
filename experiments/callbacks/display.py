"""Show a training: its progress, and what an episode costs before training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rich.console import Console

from laconic.experiments.callbacks.own_accuracy import NAME
from laconic.experiments.session.costs import forecast
from laconic.experiments.session.progress import Progress
from laconic.experiments.session.setup import hidden_metrics
from laconic.experiments.session.stakes import charging_of, price_sentence
from laconic.experiments.session.training_run import Callback, Row, TrainingRun
from laconic.learners.prices.schedule import PassRate, checked_share


class ProgressLine(Callback):
    """Shows the progress, the warnings so far, and why a run ends early."""

    def on_start(self, run: TrainingRun) -> None:
        """Open the display; a large model is told how long it will take."""
        quiet = None if run.processes.is_main else Console(quiet=True, force_terminal=False)
        self._display = Progress(
            run.total,
            "train",
            first_step=max(run.step, 0),
            console=quiet,
            phase=lambda: run.phase,
            left=run.seconds_left,
            hidden=hidden_metrics(run.environments[0], run.policies),
        )
        run.during.enter_context(self._display)
        run.note = self._display.note
        for warning in run.warnings:
            run.note(warning)
        if run.step < 0 and (words := forecast(run)):
            run.note(words)

    def on_log(self, run: TrainingRun, row: Row) -> None:
        """Show the step."""
        self._display.total_steps = run.total
        self._display.update(run.step, of_policy(row) if run.imitates else row)

    def on_end(self, run: TrainingRun) -> None:
        """Say why the run ended early: a later callback may stop it, or it was over at once."""
        if run.state == "finished" and run.step < run.cfg.train.steps:
            run.note(run.end)


def of_policy(row: Mapping[str, float]) -> dict[str, float]:
    """Return the metrics for the progress line of an imitation: loss and the policy's accuracy."""
    metrics = {name: row[name] for name in ("learner/loss", NAME) if name in row}
    if "eval/accuracy" in row:
        metrics[NAME] = row["eval/accuracy"]
    return metrics


class PriceSentence(Callback):
    """Says what an episode costs and earns before training; nothing if tokens are free."""

    def on_log(self, run: TrainingRun, row: Row) -> None:
        """Read the evaluation before training. The episodes of an imitation are the teacher's."""
        if run.step or run.imitates:
            return
        evaluated = {
            name.removeprefix("eval/"): value
            for name, value in row.items()
            if name.startswith("eval/")
        }
        charging, schedule = charging_of(run.cfg), run.learner.price
        if isinstance(schedule, PassRate):
            # A learner of a user may have it without a setting.
            charging = replace(charging, power=schedule.power)
        if sentence := price_sentence(evaluated, charging, checked_share(schedule, 1)):
            run.note(sentence)
