"""Lock a folder, so that one process at a time writes to it; the file `.lock` names the process.

The system holds the lock (POSIX record locks), so a lock ends with its process, however that ends.
The next process overwrites the file. On a file system without locks, the named process holds the
lock as long as it lives on this machine.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import time
from pathlib import Path
from typing import Any

from laconic.envs.errors import SettingError
from laconic.learners.untrusted_files import find_unsafe_path

NAME = ".lock"

_held: dict[Path, int] = {}
"""Folders that this process holds -> the open file."""


def hold(folder: str | Path) -> bool:
    """Lock a folder before anything is written to it; a missing folder is made.

    Returns:
        True if the folder was locked now; False if this process holds it already.

    Raises:
        SettingError: another process holds the folder; or it contains a link out of it, a pipe or a
            device, through which a program would write elsewhere.
        OSError: the folder cannot be made or written to.
    """
    path = Path(folder).resolve()
    if path in _held:
        return False
    path.mkdir(parents=True, exist_ok=True)
    refuse_links(path)
    while True:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.open(path / NAME, flags, 0o644)
        if not _lock(file):
            holder = _read(file)
            os.close(file)
            raise SettingError(_busy(path, holder))
        if _is_in_place(file, path / NAME):
            break
        os.close(file)
    started = time.strftime("%Y-%m-%d %H:%M:%S %z")
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "started": started}
    os.ftruncate(file, 0)
    os.pwrite(file, (json.dumps(holder) + "\n").encode(), 0)
    _held[path] = file
    return True


def refuse_links(folder: Path) -> None:
    """Refuse a folder that programs would write out of.

    Raises:
        SettingError: names the entry that is a link out of the folder, a pipe or a device.
    """
    if strange := find_unsafe_path(folder):
        raise SettingError(
            f"nothing is written to {str(folder)!r}: {strange}, through which output would go"
            " elsewhere; remove it, or pass another folder with hydra.run.dir=<folder>"
        )


def release(folder: str | Path | None = None) -> None:
    """Unlock a folder; without one, all folders that this process holds."""
    for path in list(_held) if folder is None else [Path(folder).resolve()]:
        file = _held.pop(path, None)
        if file is not None:
            # The folder may have been removed, and made again by another process.
            if _is_in_place(file, path / NAME):
                (path / NAME).unlink(missing_ok=True)
            os.close(file)


def is_held(folder: str | Path) -> bool:
    """Return whether this or another process holds a folder."""
    path = Path(folder).resolve()
    if path in _held:
        return True
    try:
        file = os.open(path / NAME, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return not _lock(file)
    finally:
        os.close(file)


def _lock(file: int) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            return False
        return not _lives(_read(file))
    return True


def _is_in_place(file: int, path: Path) -> bool:
    """Check that the path still leads to the file, which its last holder may have removed."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _read(file: int) -> dict[str, Any]:
    try:
        holder = json.loads(os.pread(file, 4096, 0))
    except ValueError:
        return {}
    return holder if isinstance(holder, dict) else {}


def _lives(holder: dict[str, Any]) -> bool:
    if holder.get("host") != socket.gethostname() or not isinstance(holder.get("pid"), int):
        return bool(holder)
    try:
        os.kill(holder["pid"], 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return bool(holder["pid"] != os.getpid())


def _busy(path: Path, holder: dict[str, Any]) -> str:
    who = f"process {holder.get('pid', '?')} on {holder.get('host', '?')!r}"
    return (
        f"{str(path)!r} is locked by {who}, which has been writing to it since"
        f" {holder.get('started', '?')}; pass another folder with hydra.run.dir=<folder>"
        " (hydra.sweep.dir for a sweep), or wait for its end. If that process is gone, delete"
        f" {str(path / NAME)!r}"
    )
