"""Removes the run folder of a program that ended by a mistake before its first row.

Only a folder that the program itself made goes, and only while nothing is in it but what every
program writes when it starts. What else is there (rows, the log of a server) stays.
"""

from __future__ import annotations

import shutil
from fnmatch import fnmatch
from pathlib import Path

STARTING = (
    ".hydra",
    ".lock",
    ".probe.*",
    "*.log",
    "checkpoints",
    "config.yaml",
    "error.txt",
    "events.out.tfevents.*",
    "provenance.json",
    "status.json",
    "tensorboard",
)
"""What a program writes before its first row."""

_made: dict[Path, Path] = {}
"""Run folder of this process -> the outermost folder that did not exist before it."""


def expect(folder: str | Path) -> None:
    """Remember what does not exist yet of a folder that is about to be made."""
    path = Path(folder).absolute()
    if not path.exists():
        missing = [path, *(parent for parent in path.parents if not parent.exists())]
        _made[path] = missing[-1]


def remove(folder: str | Path) -> bool:
    """Remove a folder that this process made and that has no rows yet; return whether it went.

    Parents that were made for it go with it where they are empty.
    """
    path = Path(folder).absolute()
    outermost = _made.pop(path, None)
    if outermost is None or not path.is_dir():
        return False
    if not all(_is_start(one) for one in path.iterdir()):
        return False
    shutil.rmtree(path, ignore_errors=True)
    for parent in (path, *path.parents):
        if parent != path and (not parent.is_dir() or any(parent.iterdir())):
            break
        if parent != path:
            parent.rmdir()
        if parent == outermost:
            break
    return not path.exists()


def _is_start(path: Path) -> bool:
    if not any(fnmatch(path.name, pattern) for pattern in STARTING):
        return False
    # Checkpoints and logs of trackers count once they hold something.
    return path.name not in ("checkpoints",) or not any(path.iterdir())
