"""What experiment trackers have in common: one run of theirs for one run folder, resumed with it.

The library of a tracker is imported when its logger is built, and not before. A `Tracker` reads
the configuration from the run folder, keeps there which run of the tracker belongs to it and the
last step that was sent, and sends what is missing. So a resumed run goes on in the same run of the
tracker with every step once: steps that are played again after a kill are not sent again, and
those that a tracker missed are sent from `metrics.jsonl`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import OmegaConf

from laconic.envs.errors import SettingError
from laconic.experiments.running.run_folder import read_rows, write_atomically
from laconic.learners.rollout.strange_files import read_json


class Tracker(ABC):
    """One run of a tracker for one run folder."""

    choice: ClassVar[str]
    """Its option in the config group `logger`, its extra, and the module that is imported."""

    def __init__(
        self,
        folder: str | Path,
        purge_step: int | None = None,
        name: str | None = None,
        group: str | None = None,
    ) -> None:
        """Open the run of the tracker.

        Args:
            folder: the run folder.
            purge_step: the first step of a resumed run; None begins a new run of the tracker.
            name: what it shows the run as; None is the last two parts of the folder.
            group: what it shows the runs of a sweep under; None is the folder of the sweep.

        Raises:
            SettingError: the library is missing, or refuses to begin.
        """
        self.folder = Path(folder).absolute()
        self.name = name or "/".join(self.folder.parts[-2:])
        self.group = group or _sweep()
        self._memory = self.folder / f"{self.choice}.json"
        known = {} if purge_step is None else self._remembered()
        try:
            module = import_module(self.choice)
        except ImportError as error:
            raise SettingError(
                f"logger={self.choice} needs a library: pip install 'laconic[{self.choice}]'"
            ) from error
        try:
            self._id = self.begin(module, known.get("run"))
            self._step = self.confirmed(known.get("step", -1))
            self._remember()
            self._catch_up()
        except Exception as error:
            raise SettingError(
                f"logger={self.choice} cannot begin: {error or type(error).__name__}"
            ) from error

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Send the figures of one step, unless an earlier part of the run has sent them."""
        if step > self._step:
            self.send(step, metrics)
            self._step = step
            self._remember()

    def close(self, state: str = "finished") -> None:
        """End the run of the tracker for now."""
        self.end(state)

    def config(self) -> dict[str, Any]:
        """The composed configuration; empty where the folder holds none."""
        path = self.folder / "config.yaml"
        found = OmegaConf.to_container(OmegaConf.load(path)) if path.exists() else {}
        return {str(key): value for key, value in found.items()} if isinstance(found, dict) else {}

    @abstractmethod
    def begin(self, module: Any, known: str | None) -> str:
        """Begin a run of the tracker, or go on with a known one; returns what to know it by."""

    @abstractmethod
    def send(self, step: int, metrics: Mapping[str, float]) -> None:
        """Hand over the figures of one step."""

    @abstractmethod
    def end(self, state: str) -> None:
        """Hand over what is left, and say how it ended: see `Logger.close`."""

    def confirmed(self, sent: int) -> int:
        """The last step that the tracker is known to have; `sent` was handed over."""
        return sent

    def _catch_up(self) -> None:
        """Send the rows of the run folder that the tracker has not got."""
        for row in read_rows(self.folder / "metrics.jsonl"):
            numbers = {k: v for k, v in row.items() if isinstance(v, int | float) and k != "step"}
            self.log(row["step"], numbers)

    def _remembered(self) -> dict[str, Any]:
        return read_json(self._memory) if self._memory.exists() else {}

    def _remember(self) -> None:
        write_atomically(self._memory, json.dumps({"run": self._id, "step": self._step}) + "\n")


def _sweep() -> str | None:
    """The last two parts of the folder of the sweep that this run is a job of."""
    if not HydraConfig.initialized() or HydraConfig.get().mode != RunMode.MULTIRUN:
        return None
    return "/".join(Path(HydraConfig.get().sweep.dir).absolute().parts[-2:])
