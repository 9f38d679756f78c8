"""The warden, a process that grades one program at a time.

It starts both interpreters, measures their processor time and activity, ends them, and cleans up.
It is separate from the caller, so that it may fork, wait for any child and be killed. Jobs and
verdicts are lines of JSON on its standard input and output; at the end of its input it exits.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from laconic.envs.sandbox import guards, namespaces
from laconic.envs.sandbox.interpreters import (
    Children,
    Workspace,
    prepare,
    start_program,
    start_tests,
)
from laconic.envs.sandbox.leftovers import deleted_bytes, remove, too_many_files
from laconic.envs.sandbox.runtime import runtime

TICK = 0.05
"""Seconds between checks of the program's folder and of both interpreters' resources."""
SHOWN = 200
"""Characters of a message."""

Job = Mapping[str, Any]


class TroubleError(Exception):
    """The sandbox failed, independent of the program."""


def main() -> None:
    """Grade until the input ends; arguments after the first are those of `prepare`."""
    guards.close_to_others()
    guards.adopt_orphans()
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    place = prepare(*sys.argv[2:])
    tasks = guards.tasks_of_user()
    while line := _line():
        job = json.loads(line)
        job["limits"]["processes"] += tasks
        try:
            answer = grade(job, place)
        except (OSError, TroubleError) as error:
            answer = {"trouble": str(error)}
        os.write(1, json.dumps(answer).encode() + b"\n")


def make_root() -> None:
    """Make a root in memory, report the outcome, and wait until the input ends."""
    try:
        namespaces.make_root(runtime())
        answer = {"work": runtime().work}
    except OSError as error:
        answer = {"reason": str(error)}
    os.write(1, json.dumps(answer).encode() + b"\n")
    os.read(0, 1)


def grade(job: Job, place: Workspace) -> dict[str, Any]:
    """Run one program and its tests.

    Returns:
        The fields of a `Verdict` except `level`.

    Raises:
        OSError: the program could not be started.
        TroubleError: its interpreter did not begin.
    """
    own_folder = job["level"] == "process" and not place.in_memory
    folder = tempfile.mkdtemp(prefix="program-") if own_folder else ""
    finding = Result(len(job["tests"]), job["limits"])
    children = Children()
    try:
        if place.resident:
            place.resident.touch()
        events = start(job, place, folder, children)
        watch(events, folder, finding, children.leaders)
        os.close(events)
    finally:
        children.end()
        if folder:
            remove(folder)
    return finding.verdict()


def start(job: Job, place: Workspace, folder: str, children: Children) -> int:
    """Start both interpreters, joined by pipes, and return where the tests report."""
    (requests_out, requests_in), (replies_out, replies_in) = os.pipe(), os.pipe()
    events, report = os.pipe()
    children.add(start_program(job, place, folder, requests=requests_out, replies=replies_in))
    children.add(start_tests(job, requests=requests_in, replies=replies_out, report=report))
    for end in (requests_out, requests_in, replies_out, replies_in, report):
        os.close(end)
    return events


def watch(events: int, folder: str, finding: Result, pids: Collection[int]) -> None:
    """Read the reports of the tests until they end, the time is up, or nothing happens."""
    data, usage = b"", ProcessUsage(pids)
    poll = select.poll()
    poll.register(events, select.POLLIN)
    poll.register(0, select.POLLIN)
    while (seconds := finding.seconds_left()) > 0:
        ready = dict(poll.poll(1000 * min(seconds, TICK)))
        if 0 in ready:  # Only the end of input comes while a job is on.
            raise SystemExit
        if events in ready:
            part = os.read(events, 1 << 16)
            if not part:
                return
            *lines, data = (data + part).split(b"\n")
            for line in lines:
                finding.note(json.loads(line))
            finding.begin_piece(usage)
        elif folder and too_many_files(folder, finding.max_bytes - deleted_bytes(pids)):
            finding.stop("error", "the program wrote more than its limit")
            return
        elif finding.is_over(usage):
            return
    finding.stop("timeout", f"no end within {finding.seconds:g} seconds")


class Result:
    """Results of a program so far."""

    def __init__(self, count: int, limits: Mapping[str, float]) -> None:
        """Start the clock.

        Args:
            count: number of pieces of tests.
            limits: `seconds`, `cpu_seconds`, `times`, `idle_seconds`, `file_kb`.
        """
        self._results: list[bool] = []
        self._count = count
        self._failure: tuple[str, str] | None = None
        self._form = "separate"
        self._begun = self._piece_begun = time.monotonic()
        self._cpu_seconds = limits["cpu_seconds"]
        self._idle_seconds = limits["idle_seconds"]
        self._times = limits.get("times", 1.0)
        self._used = self._used_before_piece = 0.0
        self._pieces = 0
        self.seconds = limits["seconds"]
        self.max_bytes = limits["file_kb"] * 1024

    def seconds_left(self) -> float:
        """Wall time left to the present piece of tests."""
        until = min(self._begun + self._times * self.seconds, self._piece_begun + self.seconds)
        return until - time.monotonic()

    def begin_piece(self, usage: ProcessUsage) -> None:
        """Count the time of a piece from now on, if one has ended; not where all share one time."""
        if self._times > 1.0 and len(self._results) > self._pieces:
            usage.look()
            self._used = self._used_before_piece = usage.cpu_seconds
            self._piece_begun, self._pieces = time.monotonic(), len(self._results)

    def is_over(self, usage: ProcessUsage) -> bool:
        """Return whether processor time is used up, or the processes have slept for too long."""
        asleep = usage.look()
        self._used = usage.cpu_seconds
        of_all, of_piece = self._used, self._used - self._used_before_piece
        if of_all > self._times * self._cpu_seconds or of_piece > self._cpu_seconds:
            self.stop("timeout", f"more than {self._cpu_seconds:g} seconds of processor time")
        elif asleep > self._idle_seconds:
            self.stop("timeout", f"{ASLEEP} for more than {self._idle_seconds:g} seconds")
        else:
            return False
        return True

    def note(self, event: Mapping[str, Any]) -> None:
        """Take in one event of `judge`."""
        if "trouble" in event:
            raise TroubleError(event["trouble"])
        if "form" in event:
            self._form = event["form"]
            return
        self._results += [event["result"]] * (self._count if event.get("all") else 1)
        if not event["result"]:
            self.stop(event["kind"], event["message"])

    def stop(self, kind: str, message: str) -> None:
        """Note a failure; the first one counts, except that a time limit replaces it."""
        if message == "the program ended" and time.monotonic() - self._begun >= (
            self._times * self._cpu_seconds
        ):
            # The kernel ends it at the second after its processor time.
            kind = "timeout"
        if self._failure is None or kind == "timeout":
            self._failure = (kind, message)

    def verdict(self) -> dict[str, Any]:
        """Return the verdict; pieces that were not reached have failed."""
        results = (self._results + [False] * self._count)[: self._count]
        if not results:
            self.stop("failed", "there are no tests")
        elif not all(results):
            self.stop("error", "the tests ended early")
        kind, message = self._failure or ("passed", "")
        printable = "".join(mark if mark.isprintable() else " " for mark in message)
        return {
            "results": results,
            "outcome": kind,
            "form": self._form,
            "cpu_seconds": self._used,
            "message": printable.encode("ascii", "replace").decode()[:SHOWN],
        }


_PENDING = bytearray()


def _line() -> bytes:
    while b"\n" not in _PENDING:
        part = os.read(0, 1 << 16)
        if not part:
            sys.exit()
        _PENDING.extend(part)
    line, _, rest = bytes(_PENDING).partition(b"\n")
    _PENDING[:] = rest
    return line


ASLEEP = "asleep"
"""First word of the message about a program that was stopped for sleeping too long."""
_LONGEST_LOOK = 0.1
_TICKS = os.sysconf("SC_CLK_TCK")


class ProcessUsage:
    """Measures processes and their descendants; without /proc it measures nothing."""

    def __init__(self, pids: Collection[int], clock: Callable[[], float] = time.monotonic) -> None:
        """Watch processes.

        Args:
            pids: process ids.
            clock: returns the time in seconds.
        """
        self._pids, self._clock = pids, clock
        self._looked_at, self._asleep = clock(), 0.0
        self.cpu_seconds = 0.0
        """Processor time of all processes so far."""

    def look(self) -> float:
        """Measure once; return the seconds in which nothing ran and no processor time was used.

        The time between two measurements counts as at most 0.1 seconds, so that a process does not
        seem asleep on a machine too busy to measure.
        """
        now = self._clock()
        passed, self._looked_at = now - self._looked_at, now
        stats = [_stat(pid) for pid in _with_descendants(self._pids)]
        used = sum(cpu for _, cpu in stats)
        if not stats or used > self.cpu_seconds or any(state in "RD" for state, _ in stats):
            self._asleep = 0.0
        else:
            self._asleep += min(passed, _LONGEST_LOOK)
        self.cpu_seconds = max(self.cpu_seconds, used)
        return self._asleep


def _stat(pid: int) -> tuple[str, float]:
    """Return state and processor time of a process; `Z` and 0 for one that is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except OSError:
        return "Z", 0.0
    return fields[0], (int(fields[11]) + int(fields[12])) / _TICKS


def _with_descendants(pids: Collection[int]) -> list[int]:
    descendants, waiting = [], list(pids)
    while waiting:
        pid = waiting.pop()
        descendants.append(pid)
        with suppress(OSError):
            text = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
            waiting += map(int, text.split())
    return descendants
