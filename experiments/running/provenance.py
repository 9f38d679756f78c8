"""What wrote a run folder: `provenance.json`, one object for each process that has worked on it.

Each holds the version of this package and, in a clone, its commit; those of Python and torch; the
command; when it started and for how many seconds it ran; and the device.
"""

from __future__ import annotations

import functools
import os
import platform
import shlex
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from laconic.learners.rollout.strange_files import read_json

NAME = "provenance.json"
_ROOT = Path(__file__).resolve().parents[2]


def describe_process() -> dict[str, Any]:
    """Return the entry of this process as it begins."""
    import torch

    name = Path(sys.argv[0]).name
    return {
        "version": package_version(),
        "commit": commit(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "command": " ".join([name, shlex.join(sys.argv[1:])]).strip(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "seconds": 0.0,
        "device": device(),
    }


def read(folder: Path) -> list[dict[str, Any]]:
    """The entries of a run folder, oldest first; empty where none can be read."""
    try:
        found = read_json(folder / NAME)
    except (OSError, ValueError):
        return []
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def writer(folder: Path) -> str:
    """The version that last wrote a run folder, in words for a message."""
    entries = read(folder)
    if not entries:
        return "laconic 0.1.0 or earlier (it recorded no version)"
    noted = entries[-1].get("commit")
    return f"laconic {entries[-1].get('version')}" + (f" (commit {noted})" if noted else "")


def package_version() -> str:
    """The version of the installed package; "unknown" where it is not installed."""
    try:
        return version("laconic")
    except PackageNotFoundError:
        return "unknown"


@functools.cache
def commit() -> str | None:
    """The commit of the clone that this file lies in, with `-dirty` after changes.

    None outside a clone. A package in the folder of another project's repository has no commit.
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


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=_ROOT, capture_output=True, text=True, timeout=10, check=True
    ).stdout.strip()
