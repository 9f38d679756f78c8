"""Starts and ends the two interpreters of a program; part of the warden."""

from __future__ import annotations

import fcntl
import json
import marshal
import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from laconic.envs.sandbox import guards, jail, syscalls
from laconic.envs.sandbox.judge import judge
from laconic.envs.sandbox.link import Link

Job = Mapping[str, Any]

PATIENCE = 3.0
"""Seconds that killed processes are waited for."""
_SPARE = 20
"""File descriptors from here on are free while a child arranges its own."""


def _sources() -> tuple[Any, ...]:
    folder = Path(__file__).parent
    return tuple(
        compile((folder / name).read_text("utf-8"), f"<{name}>", "exec", dont_inherit=True)
        for name in ("wire.py", "program_side.py")
    )


_SOURCES = marshal.dumps(_sources())


def start_program(job: Job, folder: str, *, requests: int, replies: int) -> int:
    """Start the interpreter of the program, shut in; returns its process id.

    Args:
        job: `level` and `limits`.
        folder: an empty folder to run in; empty inside bubblewrap, which has its own.
        requests: the pipe it reads.
        replies: the pipe it writes.
    """
    child = os.fork()
    if child:
        return child
    try:
        _become_program(job, folder, requests, replies)
    finally:
        os._exit(127)


def _become_program(job: Job, folder: str, requests: int, replies: int) -> NoReturn:
    os.setsid()
    for number in range(1, signal.NSIG):
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    guards.die_with_parent()
    inside = job["level"] == "bubblewrap"
    blocked = syscalls.refusals(syscalls.machine(), None if inside else os.getpid())
    null = os.open(os.devnull, os.O_RDWR)
    wanted = {0: null, 1: null, 2: null, jail.REQUESTS: requests, jail.REPLIES: replies}
    if inside and blocked:
        reading, writing = os.pipe()
        os.write(writing, blocked)
        wanted[jail.FILTER] = reading
    _arrange(wanted)
    cpu = job["limits"]["cpu_seconds"] * job["limits"].get("times", 1.0)
    guards.limit({**job["limits"], "cpu_seconds": cpu}, job["limits"]["memory_mb"])
    if inside:
        command = [*jail.bubblewrap(job["limits"], filtered=bool(blocked)), *jail.python()]
    else:
        command = jail.python()
        os.chdir(folder)
        guards.drop_capabilities()
        guards.allow_no_new_privileges()
        guards.restrict_files(jail.libraries(), [folder, os.devnull])
        syscalls.install(blocked)
    os.execve(command[0], command, {})


def start_tests(job: Job, *, requests: int, replies: int, report: int) -> int:
    """Start the interpreter of the tests, a copy of this clean one; returns its process id.

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
        guards.limit(limits, job["limits"]["memory_mb"] + 256)
        link = Link(3, 4, int(job["limits"]["output_kb"] * 1024))
        link.send_code(_SOURCES)
        judge(job, link, _report)
    finally:
        os._exit(0)


def _report(event: Mapping[str, Any]) -> None:
    data = json.dumps(event).encode() + b"\n"
    while data:
        data = data[os.write(5, data) :]


def _arrange(wanted: Mapping[int, int]) -> None:
    """Give file descriptors their final numbers and close all others."""
    moved = {number: fcntl.fcntl(old, fcntl.F_DUPFD, _SPARE) for number, old in wanted.items()}
    for number, old in moved.items():
        os.dup2(old, number)
    last = max(wanted)
    os.closerange(last + 1, os.sysconf("SC_OPEN_MAX"))


class Children:
    """The processes of one program, and whatever they have left behind."""

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
    """Children of this process, those it adopted among them."""
    try:
        text = Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii")
    except OSError:
        return []
    return [int(word) for word in text.split()]
