"""Commands that isolate a fresh interpreter, and the files that it may read.

There are two levels. Inside bubblewrap the interpreter has no other process, no network and no
device. Without bubblewrap it runs under `guards`. If the kernel allows, it reads a copy of its own
files in memory (`namespaces`), and otherwise the files themselves.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache

from laconic.envs.sandbox import namespaces
from laconic.envs.sandbox.runtime import INTERPRETER, Runtime, is_left_out, runtime

REQUESTS, REPLIES, FILTER = 3, 4, 5
"""File descriptors of the program's interpreter; the last is bubblewrap's to read."""
STARTED = b"+"
"""Bytes that the interpreter writes first, before it has read anything of the program."""
_LOADER = f"""\
import marshal, posix, sys
posix.write({REPLIES}, {STARTED!r})
def exactly(size):
    data = b""
    while len(data) < size:
        data += posix.read({REQUESTS}, size - len(data)) or posix._exit(0)
    return data
wire, side = marshal.loads(exactly(int.from_bytes(exactly(4), "big")))
module = sys.modules["laconic.envs.sandbox.wire"] = type(sys)("laconic.envs.sandbox.wire")
exec(wire, module.__dict__)
names = {{"__name__": "program_side"}}
exec(side, names)
del sys.modules["laconic.envs.sandbox.wire"]
names["ProgramProcess"]({REQUESTS}, {REPLIES}).serve()
"""


def python() -> list[str]:
    """Return the command of a fresh interpreter that runs the source it is sent."""
    return [INTERPRETER, "-I", "-S", "-B", "-c", _LOADER]


@cache
def readable() -> list[str]:
    """Return the files and folders that a program may read where there is no copy of them."""
    needed = runtime()
    entries = [entry for folder in needed.folders for entry in _entries(folder)]
    return [*entries, *_outside(needed)]


def bubblewrap(
    limits: Mapping[str, float], work: str, *, filtered: bool, in_memory: bool
) -> list[str]:
    """Return the command of bubblewrap; the command that it runs must follow.

    Args:
        limits: `file_kb`, the size of the work folder.
        work: the folder that the program works in.
        filtered: whether a seccomp filter is to be read from `FILTER`.
        in_memory: whether `namespaces.ROOT` holds a copy of the interpreter's files.
    """
    command = [find_bubblewrap() or "bwrap", "--unshare-user", "--unshare-ipc", "--unshare-pid"]
    command += ["--unshare-net", "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent"]
    command += ["--new-session", "--cap-drop", "ALL", "--uid", "65534", "--gid", "65534"]
    command += ["--ro-bind", namespaces.ROOT, "/"] if in_memory else _binds(runtime())
    size = ["--size", str(int(limits["file_kb"] * 1024))] if knows_size() else []
    command += [*size, "--tmpfs", work, "--chdir", work, "--remount-ro", "/"]
    return [*command, *(("--seccomp", str(FILTER)) if filtered else ())]


@cache
def find_bubblewrap() -> str | None:
    """Return the path of bubblewrap; None where it is not installed."""
    return shutil.which("bwrap", path=f"{os.defpath}:/usr/local/bin")


def _binds(needed: Runtime) -> list[str]:
    """Return options that show the files themselves, with empty folders in place of packages."""
    options: list[str] = []
    for path in needed.links:
        options += ["--symlink", os.readlink(path), path]
    for path in (*needed.folders, *_outside(needed)):
        options += ["--ro-bind", path, path]
    for folder in needed.folders:
        for name in sorted(filter(is_left_out, os.listdir(folder))):
            path = os.path.join(folder, name)
            options += ["--tmpfs", path, "--remount-ro", path] if os.path.isdir(path) else []
    return options


def _entries(folder: str) -> Iterator[str]:
    for name in sorted(os.listdir(folder)):
        if not is_left_out(name):
            yield os.path.join(folder, name)


def _outside(needed: Runtime) -> list[str]:
    """Return the files that lie in none of the standard library's folders."""
    folders = tuple(folder + "/" for folder in needed.folders)
    return [path for path in needed.files if not path.startswith(folders)]


@cache
def knows_size() -> bool:
    """Return whether this bubblewrap can bound a folder in memory."""
    program = find_bubblewrap()
    if program is None:
        return False
    command = [program, "--help"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return "--size" in ran.stdout + ran.stderr
