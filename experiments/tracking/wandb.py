"""Figures to Weights & Biases, https://docs.wandb.ai."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from laconic.experiments.tracking.base import Tracker


class WandB(Tracker):
    """One run of Weights & Biases."""

    choice = "wandb"

    def __init__(
        self,
        folder: str | Path,
        purge_step: int | None = None,
        project: str = "laconic",
        entity: str | None = None,
        mode: str | None = None,
        **shown: str | None,
    ) -> None:
        """Open a run; `conf/logger/wandb.yaml` tells of the settings, `Tracker` of the others."""
        self._settings = {"project": project, "entity": entity, "mode": mode}
        super().__init__(folder, purge_step, **shown)

    def begin(self, module: Any, known: str | None) -> str:
        """Begin, or go on under the same id."""
        self._run = module.init(
            **self._settings,
            id=known or secrets.token_hex(4),
            name=self.name,
            group=self.group,
            dir=str(self.folder),
            config=self.config(),
            resume="allow",
            # The jobs of a sweep may follow each other in one process.
            reinit="create_new",
            # The screen is the progress display's.
            settings=module.Settings(console="off"),
        )
        return str(self._run.id)

    def confirmed(self, sent: int) -> int:
        """What the server has; offline nothing, so that the last part of a run is a whole one.

        A kill takes what the library has not written yet, and a part that is synchronised takes the
        place of earlier ones.
        """
        return min(sent, int(self._run.step) - 1)

    def send(self, step: int, metrics: Mapping[str, float]) -> None:
        """Hand the figures to the library's own process."""
        self._run.log(dict(metrics), step=step)

    def end(self, state: str) -> None:
        """Finish; any exit code but 0 shows as failed."""
        self._run.finish(exit_code=0 if state == "finished" else 1)
