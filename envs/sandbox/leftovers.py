"""Inspect and remove the folder of a program, which may hold anything afterwards."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count

MAX_ENTRIES = 500
"""Files and folders that a program may have at a time."""


def too_many_files(folder: str, max_bytes: float) -> bool:
    """Return whether a running program has put more into its folder than it may."""
    entries, size, waiting = 0, 0, [folder]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as content:
            for entry in content:
                entries += 1
                if entries > MAX_ENTRIES or size > max_bytes:
                    return True
                with suppress(OSError):
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    return size > max_bytes


def deleted_bytes(pids: Iterable[int]) -> int:
    """Return the bytes of files that running programs have open and have deleted."""
    size = 0
    for pid in pids:
        with suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd"):
                with suppress(OSError):
                    entry = os.stat(f"/proc/{pid}/fd/{name}")
                    if stat.S_ISREG(entry.st_mode) and entry.st_nlink == 0:
                        size += entry.st_blocks * 512
    return size


def remove(folder: str) -> None:
    """Remove a folder, whatever an ended program did to it.

    Folders without rights are given them back; nested folders are moved up one by one instead of
    being walked, so that no depth is too deep.
    """
    os.chmod(folder, 0o700)
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    names = (f"{os.urandom(8).hex()}-{number}" for number in count())
    try:
        while content := os.listdir(top):
            for name in content:
                if _is_folder(name, top):
                    _move_up(name, top, names)
                else:
                    os.unlink(name, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(folder)


def _move_up(name: str, top: int, names: Iterator[str]) -> None:
    """Move the folders of a folder beside it, and remove it with its files."""
    os.chmod(name, 0o700, dir_fd=top)
    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
    try:
        for entry in os.listdir(inner):
            if _is_folder(entry, inner):
                os.chmod(entry, 0o700, dir_fd=inner)
                os.rename(entry, next(names), src_dir_fd=inner, dst_dir_fd=top)
            else:
                os.unlink(entry, dir_fd=inner)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=top)


def _is_folder(name: str, parent: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
