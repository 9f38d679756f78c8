"""Remove the run folder of a program that stopped at a mistake before its first row.

A folder is removed only if this program made it and it holds only the files that every program
writes at its start.
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
"""Files that a program writes before its first row."""

_outermost: dict[Path, Path] = {}
"""Run folder of this process -> the outermost folder that did not exist before it."""


def expect(folder: str | Path) -> None:
    """Remember the part of a path that does not exist before its folder is made."""
    path = Path(folder).absolute()
    if not path.exists():
        missing = [path, *(parent for parent in path.parents if not parent.exists())]
        _outermost[path] = missing[-1]


def remove(folder: str | Path) -> bool:
    """Remove a folder that this process made and that has no rows yet.

    Its empty parents are removed too, if they were made with it.

    Returns:
        True if the folder is gone.
    """
    path = Path(folder).absolute()
    outermost = _outermost.pop(path, None)
    if outermost is None or not path.is_dir():
        return False
    if not all(map(_is_start, path.iterdir())):
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
    # An empty folder of checkpoints is also made at the start.
    return path.name != "checkpoints" or not any(path.iterdir())
