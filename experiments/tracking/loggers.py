"""Log the figures of a run to further places, in addition to `metrics.jsonl`.

Each option of the config group `logger` adds one entry to `cfg.logger`, so several are chosen as
`logger=[tensorboard,wandb]` and none as `logger=none`. A logger is a class with the methods of
`Logger`. Its constructor takes `folder`, `purge_step` and the settings of its yaml. Trackers with a
library of their own are in `experiments.tracking.trackers`.

A logger that cannot begin stops the run before its first step. If one fails later, the run warns
and continues without it, because `metrics.jsonl` has every row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from hydra.utils import instantiate

from laconic.envs.errors import install
from laconic.experiments.command_line.echo import echo


class Logger(Protocol):
    """Records the flat figures of a step."""

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Record the figures of one step; names are `group/name`."""
        ...

    def close(self, state: str = "finished") -> None:
        """Flush everything; no figures follow.

        The state is "finished", "interrupted" (the run may be resumed) or "failed".
        """
        ...


class TensorBoard:
    """TensorBoard events in the run folder; without the library, it only prints a note."""

    def __init__(self, folder: str | Path, purge_step: int | None = None) -> None:
        """Open an events file.

        Args:
            folder: where events go, beside those of earlier parts of the run.
            purge_step: the first step of a resumed run, which hides this and later steps of
                earlier parts; None for a new run.
        """
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            self._writer = None
            echo(
                "note: no TensorBoard events, because tensorboard is missing;"
                f" {install('tensorboard')} brings it (logger=none leaves this note out)"
            )
        else:
            self._writer = SummaryWriter(str(folder), purge_step=purge_step)

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write the figures to the file at once, so that a kill loses none."""
        if self._writer is not None:
            for name, value in metrics.items():
                self._writer.add_scalar(name, value, step)
            self._writer.flush()

    def close(self, state: str = "finished") -> None:
        """Close the events file."""
        if self._writer is not None:
            self._writer.close()


class Several:
    """Calls several loggers in turn, and drops one that fails."""

    def __init__(self, loggers: Sequence[Logger]) -> None:
        """Take the loggers in the order in which they are called."""
        self.loggers = tuple(loggers)

    def log(self, step: int, metrics: Mapping[str, float]) -> list[str]:
        """Log with every logger; return a warning for each that failed and is dropped."""
        return self._call_each(lambda logger: logger.log(step, metrics), f"at step {step}")

    def close(self, state: str = "finished") -> list[str]:
        """Close every logger; return a warning for each that failed."""
        return self._call_each(lambda logger: logger.close(state), "at the end")

    def _call_each(self, call: Callable[[Logger], None], when: str) -> list[str]:
        working, warnings = [], []
        for logger in self.loggers:
            try:
                call(logger)
                working.append(logger)
            except Exception as error:
                warnings.append(
                    f"{type(logger).__name__} failed {when} and gets no more figures:"
                    f" {type(error).__name__}: {error} (metrics.jsonl has all of them)"
                )
        self.loggers = tuple(working)
        return warnings


def open_loggers(
    cfg: Mapping[str, Any] | None, folder: str | Path, purge_step: int | None = None
) -> Several:
    """Build the loggers of `cfg.logger`; `purge_step` is the first step of a resumed run."""
    loggers: list[Logger] = []
    try:
        for entry in (cfg or {}).values():
            loggers.append(
                instantiate(entry, folder=str(folder), purge_step=purge_step, _convert_="all")
            )
    except Exception:
        Several(loggers).close("failed")
        raise
    return Several(loggers)
