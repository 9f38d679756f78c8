"""Everything about a file but its contents, and copies of files that may be marked without harm."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import sysconfig
from pathlib import Path

GET_FLAGS, SET_FLAGS = 0x80086601, 0x40086602
LIBRARY = Path(sysconfig.get_path("stdlib")) / "os.py"
"""A file of the interpreter."""


def marks(path: str | Path) -> tuple[object, ...]:
    """Mode, owner, size, times, attributes and flags; not when it was read last."""
    status = os.lstat(path)
    names = ("st_ino", "st_mode", "st_rdev", "st_uid", "st_gid", "st_size")
    fields = tuple(getattr(status, name) for name in names)
    flags = bytearray(8)
    try:
        attributes = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    except OSError:
        attributes = {}
    with open(path, "rb") as file:
        try:
            fcntl.ioctl(file, GET_FLAGS, flags)
        except OSError:
            pass
    # Every change of the rest sets the time of change.
    return *fields, status.st_mtime_ns, status.st_ctime_ns, attributes, bytes(flags)


def copies(folder: Path) -> list[Path]:
    """Make a victim, a copy of the interpreter's `os.py`, and a null device where possible."""
    folder.mkdir()
    victim, library, null = folder / "victim.txt", folder / "os.py", folder / "null"
    victim.write_text("kept")
    shutil.copyfile(LIBRARY, library)
    try:
        os.mknod(null, 0o666 | stat.S_IFCHR, os.stat(os.devnull).st_rdev)
        null.read_bytes()
    except OSError:
        # Only root makes devices, and nobody else could mark the one there is.
        null.unlink(missing_ok=True)
        return [victim, library]
    return [victim, library, null]
