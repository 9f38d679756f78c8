"""Start and end the two interpreters of a program; part of the warden."""

from __future__ import annotations

import fcntl
import json
import marshal
import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from laconic.envs.sandbox import guards, jail, namespaces, syscalls
from laconic.envs.sandbox.judge import judge
from laconic.envs.sandbox.leftovers import MAX_ENTRIES
from laconic.envs.sandbox.link import Link
from laconic.envs.sandbox.runtime import ResidentFiles, runtime

Job = Mapping[str, Any]

PATIENCE = 3.0
"""Seconds that killed processes are waited for."""
_MAPPED_MB = 512
"""MiB of address space that a copy of a warden has at most before it has done anything."""
_SPARE = 20
"""File descriptors from here on are free while a child arranges its own."""


def _sources() -> tuple[Any, ...]:
    folder = Path(__file__).parent
    return tuple(
        compile((folder / name).read_text("utf-8"), f"<{name}>", "exec", dont_inherit=True)
        for name in ("wire.py", "program_side.py")
    )


_SOURCES = marshal.dumps(_sources())


@dataclass(frozen=True, slots=True)
class Workspace:
    """The place where the programs of a warden run."""

    in_memory: bool
    """True where programs read a copy of the interpreter's files in memory."""
    work: str
    """Folder that programs work in, as they see it, where each has its own file system."""
    resident: ResidentFiles | None
    """The interpreter's own files, kept in memory where there is no copy of them; or None."""


def prepare(work: str = "", *handles: str) -> Workspace:
    """Prepare this process for starting programs.

    Args:
        work: the folder that programs work in.
        handles: namespaces with a root in memory (`namespaces.handles`); none where there is none.

    Raises:
        OSError: the namespaces cannot be joined, or the interpreter does not run.
    """
    jail.knows_size()  # Cached here, programs are started by copies of this process.
    if handles:
        namespaces.join([int(handle) for handle in handles])
        return Workspace(True, work, None)
    return Workspace(False, runtime().work, ResidentFiles(runtime()))


def start_program(job: Job, place: Workspace, folder: str, *, requests: int, replies: int) -> int:
    """Start the interpreter of the program, shut in, and return its process id.

    It writes `jail.STARTED` first. Where it cannot be started, it writes why.

    Args:
        job: `level` and `limits`.
        place: where programs run.
        folder: an empty folder to run in; empty where the level has its own.
        requests: the pipe it reads.
        replies: the pipe it writes.
    """
    apart = place.in_memory and job["level"] == "process"
    child = namespaces.fork_first_process() if apart else os.fork()
    if child:
        return child
    try:
        blocked = _arrange_program(job, place, requests, replies)
        try:
            _become_program(job, place, folder, blocked)
        except BaseException as error:
            os.write(jail.REPLIES, f"{type(error).__name__}: {error}".encode()[:500])
    finally:
        os._exit(127)


def _arrange_program(job: Job, place: Workspace, requests: int, replies: int) -> bytes:
    """Give this process the signals and descriptors of a program; return its seccomp filter."""
    os.setsid()
    guards.die_with_parent()
    inside = job["level"] == "bubblewrap"
    for number in range(1, signal.NSIG):
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    alone = inside or place.in_memory
    own_pid = None if alone else os.getpid()
    blocked = syscalls.refusals(syscalls.machine(), own_pid, on_disk=not alone)
    null = os.open(os.devnull, os.O_RDWR)
    places = {0: null, 1: null, 2: null, jail.REQUESTS: requests, jail.REPLIES: replies}
    if inside and blocked:
        reading, writing = os.pipe()
        os.write(writing, blocked)
        places[jail.FILTER] = reading
    _arrange(places)
    return blocked


def _become_program(job: Job, place: Workspace, folder: str, blocked: bytes) -> NoReturn:
    limits = job["limits"]
    cpu = limits["cpu_seconds"] * limits.get("times", 1.0)
    guards.limit({**limits, "cpu_seconds": cpu}, limits["memory_mb"])
    command = jail.python()
    if job["level"] == "bubblewrap":
        options = {"filtered": bool(blocked), "in_memory": place.in_memory}
        command = [*jail.bubblewrap(limits, place.work, **options), *command]
    else:
        _shut_in(limits, place, folder, blocked)
    os.execve(command[0], command, {})


def _shut_in(limits: Mapping[str, float], place: Workspace, folder: str, blocked: bytes) -> None:
    """Take everything from this process that a program does not need, without bubblewrap."""
    if place.in_memory:
        folder = place.work
        namespaces.enter_root(folder, int(limits["file_kb"] * 1024), MAX_ENTRIES)
    else:
        os.chdir(folder)
    guards.drop_capabilities()
    guards.allow_no_new_privileges()
    if place.in_memory:
        guards.restrict_files(["/"], [folder, os.devnull])
    else:
        guards.restrict_files(jail.readable(), [folder, os.devnull], runtime().folders)
    syscalls.install(blocked)


def start_tests(job: Job, *, requests: int, replies: int, report: int) -> int:
    """Start the interpreter of the tests, a copy of this clean one, and return its process id.

    Args:
        job: the program, its tests and `limits`.
        requests: the pipe to the program.
        replies: the pipe from the program.
        report: the pipe to the warden.
    """
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        guards.die_with_parent()
        null = os.open(os.devnull, os.O_RDWR)
        _arrange({0: null, 1: null, 2: null, 3: requests, 4: replies, 5: report})
        cpu = job["limits"]["seconds"] * job["limits"].get("times", 1.0)
        limits = {**job["limits"], "cpu_seconds": cpu, "file_kb": 0}
        # The copy begins with what this process has mapped.
        guards.limit(limits, job["limits"]["memory_mb"] + _MAPPED_MB)
        link = Link(3, 4, int(job["limits"]["output_kb"] * 1024))
        if reason := link.start(_SOURCES):
            _report({"trouble": reason})
        else:
            judge(job, link, _report)
    finally:
        os._exit(0)


def _report(event: Mapping[str, Any]) -> None:
    data = json.dumps(event).encode() + b"\n"
    while data:
        data = data[os.write(5, data) :]


def _arrange(places: Mapping[int, int]) -> None:
    """Give file descriptors their final numbers and close all others."""
    moved = {number: fcntl.fcntl(old, fcntl.F_DUPFD, _SPARE) for number, old in places.items()}
    for number, old in moved.items():
        os.dup2(old, number)
    last = max(places)
    os.closerange(last + 1, os.sysconf("SC_OPEN_MAX"))


class Children:
    """The processes of one program, and those they left behind."""

    def __init__(self) -> None:
        """Start with none."""
        self.leaders: set[int] = set()
        """Those that lead a group of their own."""

    def add(self, pid: int) -> None:
        """Note a child that leads a group of its own."""
        self.leaders.add(pid)

    def end(self) -> None:
        """Kill and collect every descendant of this process."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for pid in self.leaders:
                with suppress(OSError):
                    os.killpg(pid, signal.SIGKILL)
            for pid in (*self.leaders, *_children()):
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            try:
                ended, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            self.leaders.discard(ended)
            if ended == 0:
                time.sleep(0.0005)


def _children() -> list[int]:
    """Return the children of this process, adopted ones included."""
    try:
        text = Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii")
    except OSError:
        return []
    return [int(word) for word in text.split()]
