"""Send figures to experiment trackers: one run of the tracker for one run folder, resumed with it.

The library of a tracker is imported when its logger is built. A `Tracker` saves the id of its run
and the last step that it sent in the run folder. So a resumed run continues the same run of the
tracker and sends every step once. Steps that are repeated after a kill are skipped, and steps that
the tracker missed are sent from `metrics.jsonl`. The trackers of `accelerate` cannot do this.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import OmegaConf

from laconic.envs.errors import SettingError, install
from laconic.experiments.run_folder.folder import flatten, read_rows, write_atomically
from laconic.learners.untrusted_files import read_json


class Tracker(ABC):
    """One run of a tracker for one run folder."""

    choice: ClassVar[str]
    """Name of its option in the config group `logger`, of its extra, and of its library."""

    def __init__(
        self,
        folder: str | Path,
        purge_step: int | None = None,
        name: str | None = None,
        group: str | None = None,
    ) -> None:
        """Open the run of the tracker and send the steps that it missed.

        Args:
            folder: the run folder.
            purge_step: the first step of a resumed run; None begins a new run of the tracker.
            name: title of the run; None takes the last two parts of the folder.
            group: title of the runs of a sweep; None takes the folder of the sweep.

        Raises:
            SettingError: the library is missing, or refuses to begin.
        """
        self.folder = Path(folder).absolute()
        self.name = name or "/".join(self.folder.parts[-2:])
        self.group = group or _sweep()
        self._memory = self.folder / f"{self.choice}.json"
        resumed = purge_step is not None and self._memory.exists()
        memory: dict[str, Any] = read_json(self._memory) if resumed else {}
        try:
            module = import_module(self.choice)
        except ImportError as error:
            raise SettingError(
                f"logger={self.choice} needs a library: {install(self.choice)}"
            ) from error
        try:
            self._id = self.begin(module, memory.get("run"))
            self._step = self.confirmed(memory.get("step", -1))
            self._remember()
            for row in read_rows(self.folder / "metrics.jsonl"):
                numbers = {key: x for key, x in row.items() if isinstance(x, int | float)}
                self.log(int(numbers.pop("step")), numbers)
        except Exception as error:
            raise SettingError(
                f"logger={self.choice} cannot begin: {error or type(error).__name__}"
            ) from error

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Send the figures of one step, unless an earlier part of the run sent them."""
        if step > self._step:
            self.send(step, metrics)
            self._step = step
            self._remember()

    def close(self, state: str = "finished") -> None:
        """End the run of the tracker; a resumed run opens it again."""
        self.end(state)

    def config(self) -> dict[str, Any]:
        """Return the composed configuration; empty where the folder holds none."""
        path = self.folder / "config.yaml"
        cfg = OmegaConf.to_container(OmegaConf.load(path)) if path.exists() else {}
        return {str(key): value for key, value in cfg.items()} if isinstance(cfg, dict) else {}

    @abstractmethod
    def begin(self, module: Any, run_id: str | None) -> str:
        """Begin a run of the tracker, or continue the one with an id; return its id."""

    @abstractmethod
    def send(self, step: int, metrics: Mapping[str, float]) -> None:
        """Hand the figures of one step to the library."""

    @abstractmethod
    def end(self, state: str) -> None:
        """Flush the figures and record how the run ended; see `Logger.close`."""

    def confirmed(self, sent: int) -> int:
        """Return the last step that the tracker has; `sent` is the last one handed over."""
        return sent

    def _remember(self) -> None:
        write_atomically(self._memory, json.dumps({"run": self._id, "step": self._step}) + "\n")


class WandB(Tracker):
    """Weights & Biases, https://docs.wandb.ai."""

    choice = "wandb"

    def __init__(
        self,
        folder: str | Path,
        purge_step: int | None = None,
        project: str = "laconic",
        entity: str | None = None,
        mode: str | None = None,
        **titles: str | None,
    ) -> None:
        """Open a run; settings as in `conf/logger/wandb.yaml` and `Tracker`."""
        self._settings = {"project": project, "entity": entity, "mode": mode}
        super().__init__(folder, purge_step, **titles)

    def begin(self, module: Any, run_id: str | None) -> str:
        """Begin a run, or continue it under its id."""
        self._run = module.init(
            **self._settings,
            id=run_id or secrets.token_hex(4),
            name=self.name,
            group=self.group,
            dir=str(self.folder),
            config=self.config(),
            resume="allow",
            # The jobs of a sweep may follow each other in one process.
            reinit="create_new",
            # The progress display owns the terminal.
            settings=module.Settings(console="off"),
        )
        # A run folder with links out of it is not resumed, and the library leaves one to its log.
        for link in self.folder.glob("wandb/*/logs/debug-core.log"):
            link.unlink()
        return str(self._run.id)

    def confirmed(self, sent: int) -> int:
        """Return the last step of the server; -1 offline, where a part replaces earlier ones."""
        return min(sent, int(self._run.step) - 1)

    def send(self, step: int, metrics: Mapping[str, float]) -> None:
        """Hand the figures to the library's own process."""
        self._run.log(dict(metrics), step=step)

    def end(self, state: str) -> None:
        """Finish; any exit code but 0 shows as failed."""
        self._run.finish(exit_code=0 if state == "finished" else 1)


class Trackio(Tracker):
    """Trackio, https://huggingface.co/docs/trackio; `trackio show` draws it."""

    choice = "trackio"

    def __init__(
        self,
        folder: str | Path,
        purge_step: int | None = None,
        project: str = "laconic",
        space_id: str | None = None,
        **titles: str | None,
    ) -> None:
        """Open a run; settings as in `conf/logger/trackio.yaml` and `Tracker`."""
        self._settings = {"project": project, "space_id": space_id}
        super().__init__(folder, purge_step, **titles)

    def begin(self, module: Any, run_id: str | None) -> str:
        """Begin or continue a run; trackio has no ids, so its name ends in a random one."""
        name = run_id or f"{self.name}-{secrets.token_hex(3)}"
        self._run = module.init(
            **self._settings,
            name=name,
            group=self.group,
            config=self.config(),
            resume="allow" if run_id else "never",
            embed=False,
            # Figures of the machine would be logged by the clock, not by the step.
            auto_log_gpu=False,
            auto_log_cpu=False,
        )
        return name

    def confirmed(self, sent: int) -> int:
        """Return the last step in its storage; a kill loses what its thread still held."""
        return min(sent, getattr(self._run, "_next_step", sent + 1) - 1)

    def send(self, step: int, metrics: Mapping[str, float]) -> None:
        """Hand the figures to the library's own thread."""
        self._run.log(dict(metrics), step=step)

    def end(self, state: str) -> None:
        """Wait until everything is written; trackio keeps no state of a run."""
        self._run.finish()


class MLflow(Tracker):
    """MLflow, https://mlflow.org/docs, by its client, which leaves no run active."""

    choice = "mlflow"

    _STATES: ClassVar = {"finished": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}
    _BATCH, _LONGEST = 100, 6000
    """Limits of a server: parameters in one call, and characters of a value."""

    def __init__(
        self,
        folder: str | Path,
        purge_step: int | None = None,
        uri: str | None = None,
        experiment: str = "laconic",
        **titles: str | None,
    ) -> None:
        """Open a run; settings as in `conf/logger/mlflow.yaml` and `Tracker`."""
        self._uri = uri or os.environ.get("MLFLOW_TRACKING_URI") or "mlruns"
        self._experiment = experiment
        super().__init__(folder, purge_step, **titles)

    def begin(self, module: Any, run_id: str | None) -> str:
        """Begin a run with the configuration as parameters, or continue it."""
        if "://" not in self._uri:
            self._uri = Path(self._uri).absolute().as_uri()
        # A folder needs no server, database or lock, but MLflow 3 asks for this consent.
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        self._client = module.MlflowClient(self._uri)
        self._entities = module.entities
        if run_id is not None:
            self._client.update_run(run_id, status="RUNNING")
            return run_id
        tags = {"group": self.group} if self.group else {}
        run = self._client.create_run(self._experiment_id(), run_name=self.name, tags=tags)
        parameters = [
            module.entities.Param(key, str(value)[: self._LONGEST])
            for key, value in flatten(self.config()).items()
        ]
        for first in range(0, len(parameters), self._BATCH):
            batch = parameters[first : first + self._BATCH]
            self._client.log_batch(run.info.run_id, params=batch)
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
        """Record how the run ended."""
        self._client.set_terminated(self._id, self._STATES[state])

    def _experiment_id(self) -> str:
        experiment = self._client.get_experiment_by_name(self._experiment)
        if experiment is None:
            try:
                return str(self._client.create_experiment(self._experiment))
            except Exception:
                # Another job of the sweep may have created it meanwhile.
                experiment = self._client.get_experiment_by_name(self._experiment)
                if experiment is None:
                    raise
        return str(experiment.experiment_id)


def metric_name(name: str) -> str:
    """Return a metric's name with one slash at most: `learner/clip_fraction.9-32`.

    MLflow keeps a metric as a file, which cannot be the folder of another metric.
    """
    group, slash, rest = name.partition("/")
    return group + slash + rest.replace("/", ".")


def _sweep() -> str | None:
    """Return the last two parts of the folder of the sweep that this run is a job of."""
    if not HydraConfig.initialized() or HydraConfig.get().mode != RunMode.MULTIRUN:
        return None
    return "/".join(Path(HydraConfig.get().sweep.dir).absolute().parts[-2:])
