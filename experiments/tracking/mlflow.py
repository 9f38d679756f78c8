"""Figures to MLflow, https://mlflow.org/docs."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from laconic.experiments.running.run_folder import flatten
from laconic.experiments.tracking.base import Tracker


class MLflow(Tracker):
    """One run of MLflow, by its client, which leaves no run active in the process."""

    choice = "mlflow"

    _STATES: ClassVar = {"finished": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}
    _AT_ONCE, _LONGEST = 100, 6000
    """Parameters in one call, and characters of a value, that a server takes."""

    def __init__(
        self,
        folder: str | Path,
        purge_step: int | None = None,
        uri: str | None = None,
        experiment: str = "laconic",
        **shown: str | None,
    ) -> None:
        """Open a run; `conf/logger/mlflow.yaml` tells of the settings, `Tracker` of the others."""
        self._uri = uri or os.environ.get("MLFLOW_TRACKING_URI") or "mlruns"
        self._experiment = experiment
        super().__init__(folder, purge_step, **shown)

    def begin(self, module: Any, known: str | None) -> str:
        """Begin with the configuration as parameters, or go on with a known run."""
        if "://" not in self._uri:
            self._uri = Path(self._uri).absolute().as_uri()
        # A folder needs no server, database or lock; MLflow 3 wants to be told that it is meant.
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        self._client = module.MlflowClient(self._uri)
        self._entities = module.entities
        if known is not None:
            self._client.update_run(known, status="RUNNING")
            return known
        tags = {"group": self.group} if self.group else {}
        run = self._client.create_run(self._experiment_id(), run_name=self.name, tags=tags)
        parameters = [
            module.entities.Param(key, str(value)[: self._LONGEST])
            for key, value in flatten(self.config()).items()
        ]
        for first in range(0, len(parameters), self._AT_ONCE):
            self._client.log_batch(
                run.info.run_id, params=parameters[first : first + self._AT_ONCE]
            )
        return str(run.info.run_id)

    def send(self, step: int, metrics: Mapping[str, float]) -> None:
        """Send the figures in one call."""
        now = round(1000 * time.time())
        entries = [
            self._entities.Metric(metric_name(name), float(value), now, step)
            for name, value in metrics.items()
        ]
        self._client.log_batch(self._id, metrics=entries)

    def end(self, state: str) -> None:
        """Say how the run ended."""
        self._client.set_terminated(self._id, self._STATES[state])

    def _experiment_id(self) -> str:
        found = self._client.get_experiment_by_name(self._experiment)
        if found is None:
            try:
                return str(self._client.create_experiment(self._experiment))
            except Exception:
                # Another job of the sweep may have been faster; if not, this is the reason.
                found = self._client.get_experiment_by_name(self._experiment)
                if found is None:
                    raise
        return str(found.experiment_id)


def metric_name(name: str) -> str:
    """A metric's name with one slash at most: `learner/clip_fraction.9-32`.

    In a folder each metric is a file, and none can be the folder of another.
    """
    group, slash, rest = name.partition("/")
    return group + slash + rest.replace("/", ".")
