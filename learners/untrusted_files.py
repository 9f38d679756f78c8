"""Safe reading and writing of files in folders that others can write to, and of servers' answers.

A name in such a folder may be a link, a pipe, a device, a folder or an endless file. Files are
opened without following links and without waiting. Only regular files are read, up to a size limit.
Nothing is written through a name that another program created. JSON and YAML are refused if they
are nested too deeply, and YAML if it has aliases: both could exhaust time or memory. Answers of
servers are read up to a size limit too.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any

import yaml

from laconic.envs.errors import SettingError
from laconic.learners.errors import ServerError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

MAX_ROWS = 2**30
"""Maximum bytes of a file of rows."""
MAX_SETTINGS = 2**22
"""Maximum bytes of a file that is read as a whole: settings, a manifest, a status."""
MAX_BYTES = 16 * 2**20
"""Maximum bytes of a body; the longest replies with token ids take a tenth of it."""
ENCODING = {"accept-encoding": "identity"}
"""Header that asks for bodies as they are: a small compressed body may fill any memory."""
MAX_DEPTH = 100
"""Maximum nesting depth of JSON and YAML."""

_ASIDE = re.compile(r"\..+\.(\d{1,9})\.tmp")
"""Names of `aside_of`, with the number of the process."""
_SWEPT: set[tuple[int, ...]] = set()
"""Folders that were swept, by device, inode and the process that did it."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Mark = tuple[int, ...]
"""Inode, mode, size, and times of modification and change; differs after a file changes."""


async def read_body(response: Any) -> bytes:
    """Return the body of a streamed response of httpx.

    Raises:
        ServerError: it is larger than `MAX_BYTES`, or encoded although `ENCODING` was sent.
    """
    encoding = response.headers.get("content-encoding", "identity")
    if encoding.lower() not in ("identity", ""):
        raise ServerError(f"a body encoded as {encoding[:40]!r}, which was not asked for")
    body = bytearray()
    async for part in response.aiter_raw():
        body += part
        if len(body) > MAX_BYTES:
            raise ServerError(f"a body of more than {MAX_BYTES:,} bytes")
    return bytes(body)


class UntrustedFileError(OSError):
    """The file is not a regular file, or is too large."""


@contextmanager
def opened_folder(folder: Path, part: str) -> Iterator[int]:
    """Open one part of a shared folder and yield its descriptor; links are not followed.

    Raises:
        OSError: the folder does not exist, or access is denied.
    """
    number = os.open(folder / part, _FOLDER)
    try:
        yield number
    finally:
        os.close(number)


def mark(folder: int, name: str) -> Mark:
    """Return a mark that differs after the file has changed, without opening the file.

    Raises:
        OSError: the file is missing.
    """
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    return status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def read(folder: int, name: str, max_bytes: int) -> bytes:
    """Return the content of a regular file.

    Args:
        folder: descriptor of its folder.
        name: name of the file in the folder.
        max_bytes: size limit; a larger file is refused, even if it grows while it is read.

    Raises:
        OSError: the file is missing, unreadable, not regular or too large.
    """
    with open(os.open(name, _READ, dir_fd=folder), "rb", buffering=0) as file:
        return _read(file, name, max_bytes)


def open_regular(path: Path, max_bytes: int = MAX_ROWS) -> FileIO:
    """Open a regular file of at most `max_bytes`; a link is refused.

    Raises:
        OSError: the file is missing, unreadable, a link, not regular or too large.
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
    """Return the text of a regular file; bytes that are not UTF-8 are replaced.

    Raises:
        OSError: the file is missing, unreadable, a link, not regular or too large.
    """
    with open_regular(path, max_bytes) as file:
        return _read(file, str(path), max_bytes).decode("utf-8", errors="replace")


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: the text is not JSON, or is nested deeper than `MAX_DEPTH`.
    """
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    level, depth = [value], 0
    while level := [child for parent in level for child in _children(parent)]:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError("nested too deeply")
    return value


def read_json(path: Path) -> Any:
    """Return the value of a JSON file.

    Raises:
        OSError: the file is missing, unreadable, a link, not regular or too large.
        ValueError: the file is not JSON, or is nested deeper than `MAX_DEPTH`.
    """
    return parse_json(read_text(path))


def read_yaml(path: Path) -> Any:
    """Return the value of a YAML file, without custom types.

    Raises:
        SettingError: the file is missing, not regular, not YAML or nested deeper than `MAX_DEPTH`,
            or has aliases, which let a few lines stand for more than any memory holds.
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


def find_unsafe_path(folder: Path) -> str | None:
    """Describe an entry of a folder that is a link out of it, a pipe or a device; else None.

    A program that writes into the folder would write through such an entry.
    """
    root = os.path.realpath(folder)
    for path, folders, files in os.walk(root):
        for name in (*folders, *files):
            absolute = os.path.join(path, name)
            mode = os.lstat(absolute).st_mode
            relative = os.path.relpath(absolute, root)
            if stat.S_ISLNK(mode):
                target = os.path.realpath(absolute)
                if not target.startswith(root + os.sep):
                    return f"{relative!r} is a link to {target!r}"
            elif not any(kind(mode) for kind in (stat.S_ISREG, stat.S_ISDIR, stat.S_ISSOCK)):
                return f"{relative!r} is no regular file"
    return None


def _children(value: Any) -> Iterable[Any]:
    """Return the direct children of a JSON value."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _read(file: FileIO, name: str, max_bytes: int) -> bytes:
    """Return the content of an open file if it is regular and has at most `max_bytes`."""
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


def aside_of(name: str) -> str:
    """Return the name under which this process writes a file before it is renamed."""
    return f".{name}.{os.getpid()}.tmp"


def sweep(folder: int) -> None:
    """Remove what killed processes left of their writing; only the first call for a folder looks.

    Args:
        folder: descriptor of the folder.
    """
    status = os.fstat(folder)
    key = (status.st_dev, status.st_ino, os.getpid())
    if key in _SWEPT:
        return
    _SWEPT.add(key)
    for name in os.listdir(folder):
        match = _ASIDE.fullmatch(name)
        # A run that writes here now keeps its file.
        if match and not is_running(int(match[1])):
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)


def is_running(process: int) -> bool:
    """Return whether a process of this number runs on this machine."""
    try:
        os.kill(process, 0)
    except (OSError, OverflowError) as error:
        return isinstance(error, PermissionError)
    return True


def write(folder: int, name: str, data: bytes) -> None:
    """Write a file atomically: readers see the old content or the new, never a part.

    Raises:
        OSError: the folder cannot be written to, or the name belongs to a folder.
    """
    aside = aside_of(name)
    sweep(folder)
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
