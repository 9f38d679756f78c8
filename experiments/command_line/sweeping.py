"""Let a sweep outlive its failed jobs: record each failure in its folder, and list them at the end.

A job may run in another process or on another machine, and its exception may not survive the way
back. So a failed job does not raise: it writes the reason into its own folder and returns None to
the sweeper. When all jobs are done, the program reads the folders and exits with 1 if a job failed.

A killed job records nothing; Hydra's joblib and submitit launchers notice and raise.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, open_dict, read_write

from laconic.envs.errors import SettingError
from laconic.experiments.command_line import lock, new_folder
from laconic.experiments.command_line.echo import echo_error
from laconic.experiments.command_line.programs import SETTINGS_CHECK
from laconic.experiments.command_line.resuming import flags_of
from laconic.learners.commands import repeat_flags
from laconic.learners.distributed import launcher
from laconic.learners.untrusted_files import read_text, read_yaml

ERROR = "error.txt"
"""File in a run folder with the reason why its job failed, until the job runs again."""

_options = {"traceback": False}
"""Options of this process: "traceback", to show the traceback of a user's mistake."""
_folders: set[Path] = set()
"""Folders of the sweeps that this process started or runs jobs of."""


class FolderCallback(Callback):
    """Checks the settings of a run, and locks its folder or a sweep's before Hydra writes there."""

    def on_run_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Check the settings, then lock the folder of the run."""
        if launcher.rank() == 0:
            _check(config)
            new_folder.expect(config.hydra.run.dir)
            _lock(config.hydra.run.dir)

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Lock and remember the folder of the sweep, whose jobs may run in other processes."""
        remember(config.hydra)
        _lock(config.hydra.sweep.dir)


@dataclass(frozen=True, slots=True)
class Failure:
    """One job of a sweep that failed."""

    folder: str
    """Run folder, relative to that of the sweep."""
    overrides: str
    """Overrides of the job; empty where Hydra did not record them."""
    reason: str
    """Reason in one line."""

    def __str__(self) -> str:
        return f"{self.folder}: {self.overrides}: {self.reason}"


def forget(with_traceback: bool = False) -> None:
    """Forget all sweeps, and set whether the user wants tracebacks."""
    _folders.clear()
    _options["traceback"] = with_traceback


def remember(hydra: Any) -> None:
    """Remember the folder of the sweep that a configuration of Hydra belongs to."""
    # A job may change the working folder (`hydra.job.chdir`).
    _folders.add(Path(hydra.runtime.cwd, hydra.sweep.dir).absolute())


def failures() -> list[Failure]:
    """Return the failed jobs of this process's sweep; none without a sweep."""
    return [_failure(path, folder) for folder in _folders for path in sorted(folder.rglob(ERROR))]


def describe_end(error: BaseException) -> str | None:
    """Return a message for an error that ended this process's sweep; None without a sweep."""
    if not _folders:
        return None
    line = f"{type(error).__name__}: {error}".splitlines()[0]
    return (
        f"the sweep ended early, {line}\nthe same command with resume=true"
        f" hydra.sweep.dir={min(_folders)} continues it"
    )


def mark(folder: Path, error: str) -> None:
    """Write the reason why a job failed into its run folder."""
    (folder / ERROR).write_text(error.rstrip() + "\n", encoding="utf-8")


def unmark(folder: Path) -> None:
    """Remove the reason that an earlier attempt at the same job left."""
    (folder / ERROR).unlink(missing_ok=True)


def reason(error: str) -> str:
    """Return the most telling line: the first of a message, the last of a traceback."""
    lines = error.strip().splitlines() or [""]
    return lines[-1] if lines[0].startswith("Traceback") else lines[0]


def sweeper_value(result: Any) -> Any:
    """Return a job's result for the sweeper; None if a part of it is not a number.

    hydra-optuna-sweeper 1.3 counts None as a failed trial and continues. NaN ends it, because
    Optuna refuses a failed trial with a value.
    """
    values = result if isinstance(result, Sequence) else (result,)
    undefined = any(isinstance(value, float) and math.isnan(value) for value in values)
    return None if undefined else result


def check(config: DictConfig, program: str, overrides: Sequence[str]) -> None:
    """Check a composed configuration before anything is imported or written for it.

    Args:
        config: with or without Hydra's own part; it is not changed.
        program: name of the program.
        overrides: overrides that the user typed.

    Raises:
        SettingError: a setting is out of range, or contradicts another.
        HydraException: a part cannot be built from its settings.
    """
    # Imported here because only a command that runs a program needs them.
    from laconic.experiments.command_line.targets import finalize_config

    check_config = resolve_name(SETTINGS_CHECK)

    cfg = copy.deepcopy(config)
    with read_write(cfg), open_dict(cfg):
        cfg.pop("hydra", None)
    finalize_config(cfg, overrides)
    check_config(program, cfg, overrides)


def _check(config: DictConfig) -> None:
    """Check the settings of a run; print a mistake in one line and end the program."""
    if _options["traceback"]:
        # The program itself raises the error.
        return
    from laconic.experiments.command_line.mistakes import describe

    repeat_flags(flags_of(config.hydra))
    overrides = list(config.hydra.overrides.task)
    try:
        check(config, str(config.hydra.job.config_name), overrides)
    except Exception as error:
        message = describe(error)
        if message is None:
            # A fault of the program raises again when it runs.
            return
        echo_error(f"error: {message}")
        raise SystemExit(1) from error


def _lock(folder: str) -> None:
    """Lock a folder until this process ends; end the process if another one writes there."""
    # Hydra reports any other problem with the folder, with the key to change.
    with suppress(OSError):
        try:
            lock.hold(folder)
        except SettingError as error:
            # Hydra turns an exception of a callback into a warning, and continues.
            echo_error(f"error: {error}")
            raise SystemExit(1) from error


def _failure(path: Path, sweep: Path) -> Failure:
    recorded = path.parent / ".hydra" / "overrides.yaml"
    overrides = read_yaml(recorded) if recorded.exists() else []
    return Failure(
        folder=path.parent.relative_to(sweep).as_posix(),
        overrides=" ".join(map(str, overrides or ())),
        reason=reason(read_text(path)),
    )
