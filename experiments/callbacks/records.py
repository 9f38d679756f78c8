"""Write what a training leaves beside its rows: a group, rows of trackers, and its status."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from laconic.experiments.command_line.echo import echo
from laconic.experiments.run_folder.folder import TOPOLOGY, write_atomically
from laconic.experiments.run_folder.group_log import log_group
from laconic.experiments.session.run_state import write_status
from laconic.experiments.session.training_run import Callback, Row, TrainingRun
from laconic.experiments.tracking.loggers import Several, open_loggers
from laconic.learners.episode import Graph


class GroupLog(Callback):
    """Writes a group of some updates, from which every advantage can be computed by hand."""

    def on_step(self, run: TrainingRun, row: Row) -> None:
        """Write a group, if the step is due."""
        run.processes.main(partial(log_group, run.folder, run.learner, run.groups, run.step))


class Trackers(Callback):
    """Sends the rows to the loggers of the config group `logger`."""

    def __init__(self, settings: Mapping[str, Any] | None) -> None:
        """Take the nodes of the loggers."""
        self._settings, self._loggers = settings, Several(())

    def on_start(self, run: TrainingRun) -> None:
        """Open the loggers; one that cannot begin ends the run."""
        first = run.step + 1 if run.resumed else None

        def open_all() -> None:
            self._loggers = open_loggers(self._settings, run.folder.path, first)

        run.processes.main(open_all)

    def on_log(self, run: TrainingRun, row: Row) -> None:
        """Send the row; a logger that fails gets no more."""
        for warning in self._loggers.log(run.step, row):
            run.warn(warning)

    def on_end(self, run: TrainingRun) -> None:
        """Close the loggers."""
        run.warnings += self._loggers.close(run.state)


class Status(Callback):
    """Writes the state of a run that ended in order, with all warnings, and a learned topology."""

    def on_end(self, run: TrainingRun) -> None:
        """Write both files, of which the report reads the first."""
        if run.error is None:
            run.processes.main(partial(self._write, run))

    def _write(self, run: TrainingRun) -> None:
        write_status(run)
        if graph := run.learner.collector.graph:
            override = topology_override(graph)
            write_atomically(run.folder.path / TOPOLOGY, f"{override}\n")
            echo(f"learned topology: {override}")


def topology_override(graph: Graph) -> str:
    """Return the override that sets a graph as the topology of an environment."""
    rounds = (
        ",".join(f"{listener}:[{','.join(speakers)}]" for listener, speakers in hears.items())
        for hears in graph
    )
    return f"env.topology=[{','.join(f'{{{links}}}' for links in rounds)}]"
