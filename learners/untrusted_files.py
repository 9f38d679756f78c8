"""Reads and writes files of folders that others have written to, and takes none of them on trust.

A name there may be a link, a pipe, a device, a folder, or a file without end. Opened is what lies
in the folder itself, without following links and without waiting; read is a regular file, and of
that no more than was asked for. Nothing is written through a name that somebody else put there.
JSON and yaml are read without what could keep a reader busy: aliases, and nesting without end.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any

import yaml

from laconic.envs.errors import SettingError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

MAX_ROWS = 2**30
"""Most bytes of a file of rows."""
MAX_SETTINGS = 2**22
"""Most bytes of a file that is read as a whole: settings, a manifest, a status."""
MAX_DEPTH = 100
"""Most brackets of JSON inside one another."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Mark = tuple[int, ...]
"""What changes with a file: its number, kind, size and times."""


class UntrustedFileError(OSError):
    """What lies there is no regular file, or a larger one than is read."""


@contextmanager
def opened_folder(folder: Path, part: str) -> Iterator[int]:
    """Open one part of a shared folder and yield its descriptor; links are not followed.

    Raises:
        OSError: there is no such folder, or it may not be entered.
    """
    number = os.open(folder / part, _FOLDER)
    try:
        yield number
    finally:
        os.close(number)


def mark(folder: int, name: str) -> Mark:
    """Return a mark that changes when a file changes, without opening the file.

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
    with open(os.open(name, _READ, dir_fd=folder), "rb", buffering=0) as file:
        return _read(file, name, max_bytes)


def open_regular(path: Path, max_bytes: int = MAX_ROWS) -> FileIO:
    """Open a regular file that is no link and not larger than that.

    Raises:
        OSError: it is missing, may not be read, or is anything else.
    """
    try:
        file = open(os.open(path, _READ), "rb", buffering=0)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise UntrustedFileError(errno.ELOOP, "a link is not followed", str(path)) from error
    try:
        _check(file, str(path), max_bytes)
    except OSError:
        file.close()
        raise
    return file


def read_text(path: Path, max_bytes: int = MAX_SETTINGS) -> str:
    """Return the text of a regular file that is no link; what is not UTF-8 in it is replaced.

    Raises:
        OSError: it is missing, may not be read, or is anything else.
    """
    with open_regular(path, max_bytes) as file:
        return _read(file, str(path), max_bytes).decode("utf-8", errors="replace")


def parse_json(text: str | bytes) -> Any:
    """Return what a text of JSON holds.

    Raises:
        ValueError: it is none, or is nested too deeply to be handled.
    """
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    level, depth = [value], 0
    while level := [inner for one in level for inner in _inner(one)]:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError("nested too deeply")
    return value


def read_json(path: Path) -> Any:
    """Return what a file of JSON holds.

    Raises:
        OSError: it is missing, may not be read, or is no regular file.
        ValueError: it is no JSON, or is nested too deeply to be handled.
    """
    return parse_json(read_text(path))


def read_yaml(path: Path) -> Any:
    """Return what a file of yaml holds as plain values.

    Raises:
        SettingError: it is missing, no regular file or no yaml, is nested too deeply, or has
            aliases, of which a few lines can stand for more than any memory holds.
    """
    try:
        text = read_text(path)
        depth = 0
        for event in yaml.parse(text, _LOADER):
            if isinstance(event, yaml.AliasEvent):
                raise SettingError(f"{str(path)!r} has an alias (*name), which is not read")
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise SettingError(f"{str(path)!r} is nested too deeply to be read")
        return yaml.load(text, _LOADER)
    except SettingError:
        raise
    except OSError as error:
        raise SettingError(f"{str(path)!r} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, ValueError) as error:
        words = " ".join(str(error).split())[:200]
        raise SettingError(f"{str(path)!r} is no yaml: {words}") from error


def find_strange(folder: Path) -> str | None:
    """Say which entry of a folder is a link that leads out of it, a pipe or a device; else None.

    Programs that write into a folder would write through such an entry.
    """
    root = os.path.realpath(folder)
    for path, folders, files in os.walk(root):
        for name in (*folders, *files):
            whole = os.path.join(path, name)
            mode = os.lstat(whole).st_mode
            shown = os.path.relpath(whole, root)
            if stat.S_ISLNK(mode):
                target = os.path.realpath(whole)
                if not target.startswith(root + os.sep):
                    return f"{shown!r} is a link to {target!r}"
            elif not any(kind(mode) for kind in (stat.S_ISREG, stat.S_ISDIR, stat.S_ISSOCK)):
                return f"{shown!r} is no regular file"
    return None


def _inner(value: Any) -> Iterable[Any]:
    """Values inside a value of JSON."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _read(file: FileIO, name: str, max_bytes: int) -> bytes:
    """Return all of an open file if it is a regular one of at most that size."""
    _check(file, name, max_bytes)
    data = bytearray()
    while part := file.read(min(1 << 20, max_bytes + 1 - len(data))):
        data += part
        if len(data) > max_bytes:
            raise UntrustedFileError(errno.EFBIG, f"larger than {max_bytes:,} bytes", name)
    return bytes(data)


def _check(file: FileIO, name: str, max_bytes: int) -> None:
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise UntrustedFileError(errno.EINVAL, "no regular file", name)
    if status.st_size > max_bytes:
        raise UntrustedFileError(errno.EFBIG, f"larger than {max_bytes:,} bytes", name)


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
