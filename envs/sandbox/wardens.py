"""The caller's side: a warden per core (`envs.sandbox.warden`), started when first needed."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from laconic.envs.errors import SandboxError
from laconic.envs.sandbox import namespaces
from laconic.envs.sandbox.processes import HelperProcess, ProcessPool, cores

ROOT_SECONDS = 60.0
"""Seconds that making a root in memory may take."""
GRACE = 10.0
"""Seconds past a program's limit after which its warden is given up."""

_START = """\
import sys
for name in ("laconic", "laconic.envs", "laconic.envs.sandbox"):
    package = sys.modules[name] = type(sys)(name)
    package.__path__ = [sys.argv[1] + name[len("laconic"):].replace(".", "/")]
from laconic.envs.sandbox import warden
"""
"""Source that imports the warden without running its packages' `__init__`."""
_FOLDER = str(Path(__file__).resolve().parents[2])
_MAKING = threading.Lock()
_ROOTS: list[Root | None] = []


@dataclass(frozen=True, slots=True)
class Root:
    """Namespaces that hold the interpreter's files in memory, for every warden to join."""

    work: str
    """The folder in it that programs work in."""
    handles: tuple[int, ...]
    """Open files of the namespaces, which live as long as one of these is open."""


class WardenError(Exception):
    """A warden ended, did not answer, or could not start a program."""


def start() -> HelperProcess:
    """Start a warden with no environment variable except the folder of temporary files."""
    environment = {name: os.environ[name] for name in ("TMPDIR",) if name in os.environ}
    memory = root()
    handles = memory.handles if memory else ()
    command = [sys.executable, "-I", "-S", "-c", f"{_START}warden.main()", _FOLDER]
    return HelperProcess(
        [*command, memory.work if memory else "", *map(str, handles)], environment, handles
    )


def root() -> Root | None:
    """Return the root in memory, which is made once and disappears with this process.

    None if the kernel does not allow it.
    """
    with _MAKING:
        if not _ROOTS:
            _ROOTS.append(_make_root())
        return _ROOTS[0]


def _make_root() -> Root | None:
    if sys.platform != "linux":
        return None
    command = [sys.executable, "-I", "-S", "-c", f"{_START}warden.make_root()", _FOLDER]
    maker = HelperProcess(command, {})
    try:
        answer = json.loads(maker.line(ROOT_SECONDS))
        return Root(answer["work"], tuple(namespaces.handles(maker.pid)))
    except (OSError, ValueError, KeyError):
        return None
    finally:
        maker.end()


def grade(job: Mapping[str, Any]) -> dict[str, Any]:
    """Have a program graded, once a warden is free; a second time where the sandbox failed.

    Args:
        job: the fields of a `Program`, its `limits` and `level`.

    Raises:
        SandboxError: there was no verdict either time.
    """
    try:
        return _grade(job)
    except WardenError:
        WARDENS.close()  # Those that wait may be as old as the one that failed.
    try:
        return _grade(job)
    except WardenError as error:
        raise SandboxError(
            f"the sandbox failed twice to run a program: {error}. Is there room in the folder of"
            # Asking Python for its name would write a file there, for which nothing may be left.
            f" temporary files (TMPDIR={os.environ.get('TMPDIR', '')!r}), are there memory, file"
            " descriptors and processes left?"
        ) from error


def _grade(job: Mapping[str, Any]) -> dict[str, Any]:
    seconds = job["limits"]["seconds"] * job["limits"].get("times", 1.0) + GRACE
    try:
        with WARDENS.lend() as warden:
            answer = dict(json.loads(warden.ask(json.dumps(job), seconds)))
            if "trouble" in answer:
                raise WardenError(answer["trouble"])
            return answer
    except (OSError, ValueError) as error:
        raise WardenError(str(error)) from error


WARDENS = ProcessPool(start, cores())
"""The wardens of this program."""
