"""A sweep outlives the runs it loses: what a failed job leaves, and what is said at the end.

A job may run in another process or on another machine, and its exception may not survive the way
back, so a job that fails does not raise: it writes why into its own folder, and the sweeper is told
None. The program that was called looks through the folders when all jobs are done, and ends with
exit code 1 when there is a failed one.

A job that is killed cannot tell of itself; Hydra's joblib and submitit launchers notice and raise.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, open_dict, read_write

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.say import complain
from laconic.experiments.running import lock, new_folder
from laconic.learners.distributed import launcher
from laconic.learners.rollout.strange_files import read_text, read_yaml

ERROR = "error.txt"
"""File in a run folder: why its job failed, until the job runs again."""

_asked = {"traceback": False}
"""Whether the user wants the traceback of a mistake."""
_folders: set[Path] = set()
"""Folders of the sweeps that this process has started or plays jobs of."""


class FolderCallback(Callback):
    """Checks a run's settings, and takes its folder or a sweep's before Hydra writes to it."""

    def on_run_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Check the settings, then take the folder of the run."""
        if launcher.rank() == 0:
            _check(config)
            new_folder.expect(config.hydra.run.dir)
            _take(config.hydra.run.dir)

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Take and remember the folder of the sweep, whose jobs may run in other processes."""
        remember(config.hydra)
        _take(config.hydra.sweep.dir)


@dataclass(frozen=True, slots=True)
class Failure:
    """One job of a sweep that failed."""

    folder: str
    """Its run folder, relative to that of the sweep."""
    overrides: str
    """What it was called with; empty where Hydra did not record it."""
    reason: str
    """What went wrong, in one line."""

    def __str__(self) -> str:
        return f"{self.folder}: {self.overrides}: {self.reason}"


def forget(with_traceback: bool = False) -> None:
    """Begin anew: this process knows of no sweep, and the user may want tracebacks."""
    _folders.clear()
    _asked["traceback"] = with_traceback


def remember(hydra: Any) -> None:
    """Note the folder of the sweep that a configuration of Hydra belongs to."""
    # A job may have changed the working folder (`hydra.job.chdir`).
    _folders.add(Path(hydra.runtime.cwd, hydra.sweep.dir).absolute())


def failures() -> list[Failure]:
    """The jobs marked as failed below the folder of the sweep of this process, if there is one."""
    return [_failure(path, folder) for folder in _folders for path in sorted(folder.rglob(ERROR))]


def end_of(error: BaseException) -> str | None:
    """Words for an error that ended the sweep of this process early; None without a sweep."""
    if not _folders:
        return None
    said = f"{type(error).__name__}: {error}".splitlines()[0]
    return (
        f"the sweep ended early, {said}\nthe same command with resume=true"
        f" hydra.sweep.dir={min(_folders)} goes on with it"
    )


def mark(folder: Path, error: str) -> None:
    """Write into a run folder why its job failed."""
    (folder / ERROR).write_text(error.rstrip() + "\n", encoding="utf-8")


def unmark(folder: Path) -> None:
    """Take away what an earlier try of the same job has left."""
    (folder / ERROR).unlink(missing_ok=True)


def reason(error: str) -> str:
    """The line that says most: the first of a message, the last of a traceback."""
    lines = error.strip().splitlines() or [""]
    return lines[-1] if lines[0].startswith("Traceback") else lines[0]


def objective(result: Any) -> Any:
    """What a sweeper is told of a job's result; None where it is not a number.

    hydra-optuna-sweeper 1.3 counts None as a failed trial and goes on; NaN ends it, because Optuna
    refuses a failed trial with a value.
    """
    values = result if isinstance(result, Sequence) else (result,)
    undefined = any(isinstance(one, float) and math.isnan(one) for one in values)
    return None if undefined else result


def check(config: DictConfig, program: str, overrides: Sequence[str]) -> None:
    """Check a composed configuration before anything is imported or written for it.

    Args:
        config: with Hydra's own part or without; it stays as it is.
        program: its name.
        overrides: what the user typed.

    Raises:
        SettingError: a setting is out of range, or contradicts another.
        HydraException: a part cannot be built of its settings.
    """
    # What it imports is needed by no other command than one that runs a program.
    from laconic.experiments.command_line.targets import settle
    from laconic.experiments.running.early import check_config

    cfg = copy.deepcopy(config)
    with read_write(cfg), open_dict(cfg):
        cfg.pop("hydra", None)
    settle(cfg, overrides)
    check_config(program, cfg, overrides)


def _check(config: DictConfig) -> None:
    """Check the settings of a run; say in one line what is wrong, and end the program."""
    if _asked["traceback"]:
        # The program itself raises it.
        return
    from laconic.experiments.command_line.mistakes import describe

    overrides = list(config.hydra.overrides.task)
    try:
        check(config, str(config.hydra.job.config_name), overrides)
    except Exception as error:
        message = describe(error)
        if message is None:
            # A fault of the program shows its traceback when it runs.
            return
        complain(f"error: {message}")
        raise SystemExit(1) from error


def _take(folder: str) -> None:
    """Hold a folder to the end of this process; ends it when another one writes there."""
    # Whatever else is wrong with the folder Hydra says itself, with the key to change.
    with suppress(OSError):
        try:
            lock.hold(folder)
        except SettingError as error:
            # Hydra turns an exception of a callback into a warning, and goes on.
            complain(f"error: {error}")
            raise SystemExit(1) from error


def _failure(path: Path, sweep: Path) -> Failure:
    recorded = path.parent / ".hydra" / "overrides.yaml"
    overrides = read_yaml(recorded) if recorded.exists() else []
    return Failure(
        folder=path.parent.relative_to(sweep).as_posix(),
        overrides=" ".join(map(str, overrides or ())),
        reason=reason(read_text(path)),
    )
