"""Where figures go besides the run folder's own JSON Lines, which are always written.

Each option of the config group `logger` adds one entry to `cfg.logger`, so that several are chosen
as `logger=[tensorboard,other]` and none as `logger=none`. A logger is a class with the methods of
`Logger` whose constructor takes `folder` and `purge_step` besides the settings of its yaml.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from hydra.utils import instantiate
from torch.utils.tensorboard import SummaryWriter


class Logger(Protocol):
    """Takes the flat figures of a step."""

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Record the figures of one step; names are `group/name`."""
        ...

    def close(self) -> None:
        """Bring everything to its place; nothing is logged afterwards."""
        ...


class TensorBoard:
    """TensorBoard events in the run folder."""

    def __init__(self, folder: str | Path, purge_step: int | None = None) -> None:
        """Open an events file.

        Args:
            folder: where events go, beside those of earlier parts of the run.
            purge_step: the first step of a resumed run; what earlier parts wrote of this and later
                steps is not shown. None: a new run.
        """
        self._writer = SummaryWriter(str(folder), purge_step=purge_step)

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write the figures and bring them to the file, so that a kill loses none."""
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def close(self) -> None:
        """Close the events file."""
        self._writer.close()


class Several:
    """Passes everything on to several loggers; to none when there is none."""

    def __init__(self, loggers: Sequence[Logger]) -> None:
        """Take the loggers in the order in which they are called."""
        self.loggers = tuple(loggers)

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Log with every one."""
        for logger in self.loggers:
            logger.log(step, metrics)

    def close(self) -> None:
        """Close every one."""
        for logger in self.loggers:
            logger.close()


def open_loggers(
    cfg: Mapping[str, Any] | None, folder: str | Path, purge_step: int | None = None
) -> Several:
    """Build the loggers of a configuration.

    Args:
        cfg: `cfg.logger`, one entry per logger; empty or None for none.
        folder: the run folder.
        purge_step: the first step of a resumed run, None for a new one.
    """
    return Several(
        [
            instantiate(entry, folder=str(folder), purge_step=purge_step, _convert_="all")
            for entry in (cfg or {}).values()
        ]
    )
