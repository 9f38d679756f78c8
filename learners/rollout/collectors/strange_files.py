"""Reads and writes files of a folder that others write to as well, and takes none of them on trust.

A name there may be a link, a pipe, a device, a folder, or a file without end. Opened is what lies
in the folder itself, without following links and without waiting; read is a regular file, and of
that no more than was asked for. Nothing is written through a name that somebody else put there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Mark = tuple[int, ...]
"""What changes with a file: its number, kind, size and times."""


class StrangeFileError(OSError):
    """What lies there is no regular file, or a larger one than is read."""


@contextmanager
def opened_folder(folder: Path, part: str) -> Iterator[int]:
    """The descriptor of one part of a shared folder; a link in its place is not followed.

    Raises:
        OSError: there is no such folder, or it may not be entered.
    """
    number = os.open(folder / part, _FOLDER)
    try:
        yield number
    finally:
        os.close(number)


def mark(folder: int, name: str) -> Mark:
    """What tells whether a file has changed since, without opening it.

    Raises:
        OSError: it is missing.
    """
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def read(folder: int, name: str, max_bytes: int) -> bytes:
    """All of a regular file.

    Args:
        folder: descriptor of the folder it lies in.
        name: its name there.
        max_bytes: a larger file is refused, whether it says so or grows meanwhile.

    Raises:
        OSError: it is missing, may not be read, or is anything else.
    """
    number = os.open(name, _READ, dir_fd=folder)
    with open(number, "rb", buffering=0) as file:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode):
            raise StrangeFileError("no regular file")
        if found.st_size > max_bytes:
            raise StrangeFileError(f"larger than {max_bytes} bytes")
        data = bytearray()
        while part := file.read(min(1 << 20, max_bytes + 1 - len(data))):
            data += part
            if len(data) > max_bytes:
                raise StrangeFileError(f"larger than {max_bytes} bytes")
    return bytes(data)


def write(folder: int, name: str, data: bytes) -> None:
    """Write a file aside and put it in its place, so that a reader finds all of it or nothing.

    Raises:
        OSError: the folder cannot be written to, or something else than a file has that name.
    """
    aside = f".{name}.{os.getpid()}.tmp"
    with suppress(FileNotFoundError):
        os.unlink(aside, dir_fd=folder)
    try:
        with open(os.open(aside, _WRITE, 0o666, dir_fd=folder), "wb") as file:
            file.write(data)
        os.replace(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(aside, dir_fd=folder)
        raise
