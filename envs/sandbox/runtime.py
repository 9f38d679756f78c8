"""Find the files that a fresh interpreter needs, the only ones a program under test may read.

These are the interpreter, the parts of its standard library that programs need, and the shared
libraries that the interpreter and its extension modules load. Installed packages are left out.
"""

from __future__ import annotations

import mmap
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

INTERPRETER = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
"""The interpreter that a virtual environment stands on."""
_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
"""Folders in which the loader looks for libraries; links among them are copied."""
_LOADER_CACHE = "/etc/ld.so.cache"
_LEFT_OUT = frozenset(
    ("site-packages", "dist-packages", "test", "tests", "idlelib", "turtledemo", "ensurepip")
)
_DAY = 24 * 3600.0
_WORK_FOLDERS = ("/tmp", "/var/tmp", "/laconic")
_UNUSED_EXTENSIONS = ("_test", "_tkinter", "_ctypes_test", "_xx", "xx")
_PROBE = f"""\
import os, sys
for folder in sys.path:
    names = os.listdir(folder) if os.path.isdir(folder) else ()
    for name in names:
        if name.endswith(".so") and not name.startswith({_UNUSED_EXTENSIONS!r}):
            try:
                __import__(name.partition(".")[0])
            except Exception:
                pass
print("\\0".join(sys.path))
names = set()
if os.path.exists("/proc/self/maps"):
    with open("/proc/self/maps") as maps:
        names = {{line[line.index("/"):].strip() for line in maps if "/" in line}}
print("\\0".join(names))
"""
"""Prints where the interpreter imports from, and the files that it has mapped."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """Files of the interpreter, by absolute paths."""

    folders: tuple[str, ...]
    """Folders of the standard library; installed packages may lie within them."""
    files: tuple[str, ...]
    """Files to read: sources and compiled modules, extension modules, shared libraries."""
    links: tuple[str, ...]
    """Symbolic links by which the loader finds shared libraries."""

    @property
    def work(self) -> str:
        """Folder for programs to work in that holds none of the files."""
        return next(
            folder
            for folder in _WORK_FOLDERS
            if not any(path.startswith(folder + "/") for path in self.files)
        )

    def copy(self, root: str) -> None:
        """Copy every file to the same place below another root, with its time of change."""
        for path in self.links:
            os.makedirs(root + os.path.dirname(path), exist_ok=True)
            if not os.path.lexists(root + path):
                os.symlink(os.readlink(path), root + path)
        for path in self.files:
            os.makedirs(root + os.path.dirname(path), exist_ok=True)
            shutil.copyfile(path, root + path)
            os.chmod(root + path, 0o555)
            changed = os.stat(path).st_mtime_ns  # Compiled modules hold that of their source.
            os.utime(root + path, ns=(changed, changed))


class ResidentFiles:
    """Keeps files in the page cache, so that reading one leaves no trace for a later program.

    A file system may note the first access of a day. Whenever a note would be due, all files are
    read here first.
    """

    def __init__(self, runtime: Runtime) -> None:
        """Read the files of a runtime and the folders that hold them."""
        self._paths = runtime.files
        self._maps: list[mmap.mmap] = []
        self._due = 0.0
        for folder in {os.path.dirname(path) for path in self._paths}:
            with suppress(OSError):
                os.listdir(folder)

    def touch(self) -> None:
        """Read every page, so that all of them are in memory."""
        if time.time() >= self._due:
            self._map_again()
        for each in self._maps:
            each[:: mmap.PAGESIZE]

    def _map_again(self) -> None:
        self._maps, now = [], time.time()
        self._due = now + _DAY
        for path in self._paths:
            with suppress(OSError, ValueError), open(path, "rb") as file:  # Some are empty.
                self._maps.append(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
                if hasattr(mmap, "MADV_DONTFORK"):  # Copies of a thousand maps take time.
                    self._maps[-1].madvise(mmap.MADV_DONTFORK)
                due = os.fstat(file.fileno()).st_atime + _DAY
                if due > now:  # Otherwise accesses of this file are not noted.
                    self._due = min(self._due, due)


@cache
def runtime() -> Runtime:
    """Find the files of this machine's interpreter, by running it once.

    Raises:
        OSError: the interpreter cannot be run.
    """
    command = [INTERPRETER, "-I", "-S", "-B", "-c", _PROBE]
    ran = subprocess.run(command, env={}, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise OSError(f"{INTERPRETER} does not run: {ran.stderr.strip()[-200:]}")
    searched, mapped = (line.split("\0") for line in ran.stdout.splitlines()[:2])
    folders = tuple(filter(os.path.isdir, searched))
    files = dict.fromkeys([INTERPRETER, *filter(os.path.isfile, (*searched, *mapped))])
    for folder in folders:
        files.update(dict.fromkeys(_modules(folder)))
    links = tuple(_links({path for path in mapped if os.path.isfile(path)}))
    extra = [_LOADER_CACHE] if os.path.isfile(_LOADER_CACHE) else []
    return Runtime(folders, tuple([*files, *extra]), links)


def _modules(folder: str) -> Iterator[str]:
    compiled = f".{sys.implementation.cache_tag}.pyc"
    for path, inner, names in os.walk(folder):
        inner[:] = [name for name in inner if not is_left_out(name)]
        for name in names:
            if name.endswith(".so") and name.startswith(_UNUSED_EXTENSIONS):
                continue
            if not name.endswith((".pyc", ".a", ".o")) or name.endswith(compiled):
                yield os.path.join(path, name)


def is_left_out(name: str) -> bool:
    """Return whether an entry of the standard library's folder is installed packages or unused."""
    return name in _LEFT_OUT or name.startswith("config-")


def _links(libraries: set[str]) -> Iterator[str]:
    """Yield links that lead to the libraries, and links among the loader's own folders."""
    yield from filter(os.path.islink, _SYSTEM)
    folders = dict.fromkeys([*_SYSTEM, *map(os.path.dirname, sorted(libraries))])
    for folder in folders:
        if os.path.islink(folder) or not os.path.isdir(folder):
            continue
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if ".so" in name and os.path.islink(path) and os.path.realpath(path) in libraries:
                yield path
