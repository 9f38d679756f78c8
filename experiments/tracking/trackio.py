"""Figures to trackio, https://huggingface.co/docs/trackio."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from laconic.experiments.tracking.base import Tracker


class Trackio(Tracker):
    """One run of trackio; `trackio show` draws what is kept on this machine."""

    choice = "trackio"

    def __init__(
        self,
        folder: str | Path,
        purge_step: int | None = None,
        project: str = "laconic",
        space_id: str | None = None,
        **shown: str | None,
    ) -> None:
        """Open a run; `conf/logger/trackio.yaml` tells of the settings, `Tracker` of the others."""
        self._settings = {"project": project, "space_id": space_id}
        super().__init__(folder, purge_step, **shown)

    def begin(self, module: Any, known: str | None) -> str:
        """Begin, or go on under the same name, which has an end of its own: trackio knows no id."""
        name = known or f"{self.name}-{secrets.token_hex(3)}"
        self._run = module.init(
            **self._settings,
            name=name,
            group=self.group,
            config=self.config(),
            resume="allow" if known else "never",
            embed=False,
            # Figures of the machine are not of the run, and would have a clock for steps.
            auto_log_gpu=False,
            auto_log_cpu=False,
        )
        return name

    def confirmed(self, sent: int) -> int:
        """What its storage held when the run was opened: a kill takes what its thread still had."""
        return min(sent, getattr(self._run, "_next_step", sent + 1) - 1)

    def send(self, step: int, metrics: Mapping[str, float]) -> None:
        """Hand the figures to the library's own thread."""
        self._run.log(dict(metrics), step=step)

    def end(self, state: str) -> None:
        """Wait until everything is written; trackio keeps no state of a run."""
        self._run.finish()
