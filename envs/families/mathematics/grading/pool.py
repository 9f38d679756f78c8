"""Processes that grade, kept alive between answers, and killed when one answer takes too long.

A request goes to an idle process over its pipes; the call waits for the verdict, so any number of
threads may ask at once. Processes are started afresh (never forked), on first need, up to the cores
there are, and end with the program. An answer has a limit of processor time, so that a busy machine
does not change verdicts, and a much longer one of wall time.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Literal

Verdict = Literal["yes", "no", "time-out"]

SECONDS = 2.0
"""Processor time of one answer."""
WALL_SECONDS = 60.0
"""Wall time of one answer, on a machine that is busy with other things."""
_START_SECONDS = 300.0
_MAX_PROCESSES = 8
_PROFILE = int(signal.SIGPROF)
"""What ends a process that has used its processor time."""
_PROGRAM = Path(__file__).with_name("worker.py")
_PACKAGES = Path(__file__).absolute().parents[5]


class GraderError(RuntimeError):
    """A grader process cannot be started."""


class Grader:
    """One process."""

    def __init__(self) -> None:
        """Start the process, without waiting until it is ready."""
        self._ready = False
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_PROGRAM), str(_PACKAGES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            # Its linear algebra is small; threads would only take memory.
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def ask(self, gold: str, given: str, seconds: float, wall_seconds: float) -> Verdict | None:
        """The verdict on an answer; None when the process has ended for a reason of its own.

        Raises:
            GraderError: the process cannot be started.
        """
        if not self._ready:
            self._wait_until_ready()
        request = json.dumps([gold, given, seconds]) + "\n"
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(request.encode())
        except OSError:
            return None
        reply = self._line(wall_seconds)
        if reply in ("yes", "no"):
            return "yes" if reply == "yes" else "no"
        timed_out = reply is None or self.stop() == -_PROFILE
        return "time-out" if timed_out else None

    def stop(self) -> int:
        """End the process; returns how it ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            # One that has ended by itself tells why.
            return self._close(self._process.wait(0 if self._process.poll() is not None else 0.05))
        self._process.kill()
        return self._close(self._process.wait())

    def _close(self, code: int) -> int:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        return code

    def _wait_until_ready(self) -> None:
        said = self._line(_START_SECONDS)
        if said != "ready":
            self.stop()
            raise GraderError(
                "expected a grader process to start within"
                f" {_START_SECONDS:.0f} s; it said {said!r}. Run"
                f" `{sys.executable} -P {_PROGRAM} {_PACKAGES}` to see why"
            )
        self._ready = True

    def _line(self, seconds: float) -> str | None:
        """The next line of the process; empty when it has ended, None when none comes in time."""
        assert self._process.stdout is not None
        poll = select.poll()
        poll.register(self._process.stdout, select.POLLIN | select.POLLHUP)
        until, line = time.monotonic() + seconds, b""
        while not line.endswith(b"\n"):
            left = until - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                return None
            part = self._process.stdout.read(256)
            if not part:
                return ""
            line += part
        return line.decode(errors="replace").strip()


class Pool:
    """Grader processes, lent to one answer at a time."""

    def __init__(
        self,
        processes: int | None = None,
        seconds: float = SECONDS,
        wall_seconds: float = WALL_SECONDS,
    ) -> None:
        """Nothing is started yet.

        Args:
            processes: most processes; None takes one per core there is, at most eight.
            seconds: processor time of one answer.
            wall_seconds: wall time of one answer, waiting for a free process not counted.
        """
        self._processes = processes or min(_cores(), _MAX_PROCESSES)
        self._limits = seconds, wall_seconds
        self._idle: list[Grader] = []
        self._forget()

    def verdict(self, gold: str, given: str) -> Verdict:
        """Whether an answer equals the reference answer, or took too long to tell.

        An answer whose process is killed from outside is put to another one, once.

        Raises:
            GraderError: no process can be started.
        """
        for _ in range(2):
            with self._free:
                grader = self._take()
                verdict = None
                try:
                    verdict = grader.ask(gold, given, *self._limits)
                finally:
                    self._give_back(grader, whole=verdict in ("yes", "no"))
            if verdict is not None:
                return verdict
        return "no"

    @property
    def pids(self) -> tuple[int, ...]:
        """The numbers of the processes that wait for an answer."""
        with self._lock:
            return tuple(grader.pid for grader in self._idle)

    def close(self) -> None:
        """End the processes that wait; the next answer starts new ones."""
        with self._lock:
            idle, self._idle = self._idle, []
        for grader in idle:
            grader.stop()

    def _take(self) -> Grader:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return Grader()

    def _give_back(self, grader: Grader, whole: bool) -> None:
        if not whole:
            grader.stop()
            return
        with self._lock:
            self._idle.append(grader)

    def _forget(self) -> None:
        """Begin without processes; in a forked copy they belong to the original."""
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(self._processes)
        self._idle = []


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


POOL = Pool()
"""The processes that this program's benchmarks share."""
atexit.register(POOL.close)
os.register_at_fork(after_in_child=POOL._forget)
