"""Report on a training when it ends, and on a sweep; `conf/hook/train.yaml` names both classes.

They import the report late: a callback is looked at before every training, which may end at once.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback as HydraCallback
from omegaconf import DictConfig

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.echo import echo
from laconic.experiments.session.training_run import Callback, TrainingRun


class Report(Callback):
    """Prints the figures before and after training, and writes the report."""

    def on_end(self, run: TrainingRun) -> None:
        """Report on a run that ended in order; `report=false` prints alone."""
        if run.error is None:
            run.processes.main(partial(self._write, run))

    def _write(self, run: TrainingRun) -> None:
        from rich.console import Console

        from laconic.experiments.run_folder.runs import read_run
        from laconic.extras.report.look import LEFT_OUT, can_draw
        from laconic.extras.report.write import print_run, write_report

        print_run(read_run(run.folder.path), Console())
        if run.cfg.get("report", True):
            echo(f"report: {write_report(run.folder.path)}")
            if not can_draw():
                echo(f"pictures: {LEFT_OUT}")


class SweepReport(HydraCallback):
    """Writes the report of a sweep of trainings, unless its runs write none (`report=false`)."""

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Write it when all jobs are done."""
        from laconic.extras.report.write import write_report

        texts = (str(text).lstrip("+") for text in config.hydra.overrides.task)
        typed = {text.partition("=")[0]: text.partition("=")[2] for text in texts}
        if typed.get("report") == "false":
            return
        with suppress(OSError, SettingError):
            folder = Path(config.hydra.runtime.cwd, config.hydra.sweep.dir)
            echo(f"report of the sweep: {write_report(folder)}")
