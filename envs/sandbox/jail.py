"""How a fresh interpreter is shut in: the commands, and the files it may read.

Inside bubblewrap there are only the interpreter, its standard library, the system's shared
libraries and a small empty temporary folder in memory: no `/proc`, no devices, no network, no other
process. Without it the interpreter runs where the project runs, under `guards`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from functools import cache
from pathlib import Path

INTERPRETER = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
"""The interpreter that a virtual environment stands on."""
SYSTEM = ("/usr/lib", "/usr/lib64", "/lib", "/lib64")
"""Folders of shared libraries."""
REQUESTS, REPLIES, FILTER = 3, 4, 5
"""File descriptors of the program's interpreter; the last is bubblewrap's to read."""

_LOADER = f"""\
import marshal, posix, sys
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
names["Side"]({REQUESTS}, {REPLIES}).serve()
"""


def python() -> list[str]:
    """The command of a fresh interpreter that becomes what it is sent."""
    return [INTERPRETER, "-I", "-S", "-B", "-c", _LOADER]


@cache
def libraries() -> list[str]:
    """Folders and files that the interpreter needs in order to start and import."""
    home = Path(sys.base_prefix)
    own = [home / "lib", home / "lib64", Path(sysconfig.get_path("stdlib"))]
    paths: list[str] = []
    for path in (*SYSTEM, *map(str, own), INTERPRETER):
        inside = any(path == found or path.startswith(found + "/") for found in paths)
        if os.path.exists(path) and not inside:
            paths.append(path)
    return paths


def bubblewrap(limits: Mapping[str, float], *, filtered: bool) -> list[str]:
    """The command that shuts in the command it is followed by.

    Args:
        limits: `file_kb`, the size of the temporary folder.
        filtered: whether a seccomp filter is to be read from `FILTER`.
    """
    command = [_bwrap(), "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net"]
    command += ["--unshare-uts", "--unshare-cgroup-try", "--die-with-parent", "--new-session"]
    command += ["--cap-drop", "ALL", "--uid", "65534", "--gid", "65534"]
    for path in libraries():
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
        else:
            command += ["--ro-bind", path, path]
    for path in _packages():
        command += ["--tmpfs", path, "--remount-ro", path]
    size = ["--size", str(int(limits["file_kb"] * 1024))] if _knows_size() else []
    command += [*size, "--tmpfs", "/tmp", "--chdir", "/tmp", "--remount-ro", "/"]
    return [*command, *(("--seccomp", str(FILTER)) if filtered else ())]


@cache
def _packages() -> list[str]:
    """Folders of installed packages within the libraries; the project may be among them."""
    found = []
    for folder in filter(os.path.isdir, libraries()):
        if not os.path.islink(folder):
            for pattern in ("site-packages", "dist-packages"):
                found += sorted(Path(folder).glob(f"python*/{pattern}"))
                found += sorted(Path(folder).glob(pattern))
    return [str(path) for path in dict.fromkeys(found)]


@cache
def _bwrap() -> str:
    return shutil.which("bwrap", path=f"{os.defpath}:/usr/local/bin") or "bwrap"


@cache
def _knows_size() -> bool:
    """Whether this bubblewrap can bound a folder in memory."""
    said = subprocess.run([_bwrap(), "--help"], capture_output=True, text=True, check=False)
    return "--size" in said.stdout + said.stderr
