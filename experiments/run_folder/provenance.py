"""Record the processes that wrote a run folder in `provenance.json`, one object per process.

An object holds the format of the folder; the version of this package and, in a clone, its commit;
the versions of Python and torch; the command; its start and its duration; and the device.
"""

from __future__ import annotations

import functools
import os
import platform
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode

import laconic
from laconic.envs.errors import SettingError
from laconic.experiments.command_line.resuming import flags_of
from laconic.learners.untrusted_files import read_json

NAME = "provenance.json"
FORMAT = 1
"""Format of run folders; raise it when this version cannot read the folders of earlier ones."""
_ROOT = Path(__file__).resolve().parents[2]


def describe_process() -> dict[str, Any]:
    """Return the entry of this process as it begins."""
    import torch

    return {
        "format": FORMAT,
        "version": laconic.__version__,
        "commit": commit(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "command": _command(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "seconds": 0.0,
        "device": device(),
    }


def read(folder: Path) -> list[dict[str, Any]]:
    """Return the entries of a run folder, oldest first; empty if none can be read."""
    try:
        entries = read_json(folder / NAME)
    except (OSError, ValueError):
        return []
    entries = entries if isinstance(entries, list) else []
    return [entry for entry in entries if isinstance(entry, dict)]


def check_format(folder: Path) -> None:
    """Refuse a run folder in a format that this version cannot read.

    Raises:
        SettingError: names both formats and the version that wrote the folder.
    """
    entries = read(folder)
    recorded = entries[-1].get("format", FORMAT) if entries else FORMAT
    if recorded != FORMAT:
        raise SettingError(
            f"expected a run folder of format {FORMAT}; got format {recorded!r} in"
            f" {str(folder)!r}, written by {writer(folder)}: use that version, or start a new run"
            " with hydra.run.dir=<folder>"
        )


def writer(folder: Path) -> str:
    """Return the version that last wrote a run folder, in words for a message."""
    entries = read(folder)
    if not entries:
        return "an unknown version"
    commit = entries[-1].get("commit")
    return f"laconic {entries[-1].get('version')}" + (f" (commit {commit})" if commit else "")


@functools.cache
def commit() -> str | None:
    """Return the commit of the clone with this file, with `-dirty` after changes.

    It is None outside a clone, and for a package inside the repository of another project.
    """
    try:
        top = _git("rev-parse", "--show-toplevel")
        if not top or Path(top).resolve() != _ROOT:
            return None
        return _git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*") or None
    except (OSError, subprocess.SubprocessError):
        return None


def device() -> str:
    """Return the accelerators of this process by name, or the kind of processor."""
    import torch

    if torch.cuda.is_available():
        return f"{torch.cuda.device_count()} x {torch.cuda.get_device_name()}"
    return f"cpu ({platform.machine()}, {os.cpu_count()} cores)"


def _command() -> str:
    """Return the command of this process; of a job of a sweep, the one that makes its run alone."""
    job = HydraConfig.get() if HydraConfig.initialized() else None
    if job is not None and job.mode == RunMode.MULTIRUN:
        # The process has the words of the whole sweep, or those of the launcher that started it.
        program = str(job.job.config_name).replace("_", "-")
        return shlex.join(["laconic", program, *flags_of(job), *job.overrides.task])
    return " ".join([Path(sys.argv[0]).name, shlex.join(sys.argv[1:])]).strip()


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=_ROOT, capture_output=True, text=True, timeout=10, check=True
    ).stdout.strip()
