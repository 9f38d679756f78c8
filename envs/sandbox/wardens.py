"""The caller's side: a warden per core, started when first needed and kept.

Safe to use from many threads at once; a job waits for a free warden. A process forked from this
one starts wardens of its own.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

GRACE = 10.0
"""Seconds past a program's limit after which its warden is given up."""

_START = """\
import sys
for name in ("laconic", "laconic.envs", "laconic.envs.sandbox"):
    package = sys.modules[name] = type(sys)(name)
    package.__path__ = [sys.argv[1] + name[len("laconic"):].replace(".", "/")]
from laconic.envs.sandbox.warden import main
main()
"""
"""Imports the warden without the packages' own starts, which import much more."""


class WardenError(Exception):
    """A warden ended or did not answer."""


def cores() -> int:
    """Processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Warden:
    """One warden process."""

    def __init__(self) -> None:
        """Start it, with nothing of this process's environment but where temporary files go."""
        kept = {name: os.environ[name] for name in ("TMPDIR",) if name in os.environ}
        folder = str(Path(__file__).resolve().parents[2])
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=kept,
            bufsize=0,
            start_new_session=True,
        )

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def grade(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Have a program graded.

        Raises:
            WardenError: no verdict came in time.
        """
        sending, receiving = self._process.stdin, self._process.stdout
        if sending is None or receiving is None:
            raise WardenError("the warden has no pipes")
        until = time.monotonic() + job["limits"]["seconds"] + GRACE
        try:
            data = memoryview(json.dumps(job).encode() + b"\n")
            while data:
                data = data[os.write(sending.fileno(), data) :]
            return dict(json.loads(_line(receiving.fileno(), until)))
        except (OSError, ValueError) as error:
            raise WardenError(str(error)) from error

    def end(self) -> None:
        """Kill it; its children die with it."""
        with suppress(OSError):
            self._process.kill()
        self._process.wait()
        self.release()

    def release(self) -> None:
        """Close this process's ends of the pipes; at the end of its input a warden exits."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


class Pool:
    """At most one warden per core, lent to one caller at a time."""

    def __init__(self, size: int) -> None:
        """Start empty.

        Args:
            size: wardens at a time.
        """
        self._free = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._idle: list[Warden] = []

    @contextmanager
    def warden(self) -> Iterator[Warden]:
        """Lend a warden; one that failed its borrower is ended and not lent again."""
        with self._free:
            with self._lock:
                warden = self._idle.pop() if self._idle else None
            if warden is None or not warden.alive:
                if warden is not None:
                    warden.end()
                warden = Warden()
            try:
                yield warden
            except BaseException:
                warden.end()
                raise
            with self._lock:
                self._idle.append(warden)

    def close(self) -> None:
        """End the idle wardens."""
        with self._lock:
            idle, self._idle = self._idle, []
        for warden in idle:
            warden.end()

    def forget(self) -> None:
        """Leave the wardens to the process this one was forked from."""
        for warden in self._idle:
            warden.release()


_POOLS: list[Pool] = []
_MAKING = threading.Lock()


def pool() -> Pool:
    """The pool of this process."""
    with _MAKING:
        if not _POOLS:
            _POOLS.append(Pool(cores()))
        return _POOLS[0]


def _end() -> None:
    for one in _POOLS:
        one.close()


def _after_fork() -> None:
    global _MAKING
    _MAKING = threading.Lock()
    for one in _POOLS:
        one.forget()
    _POOLS.clear()


atexit.register(_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _line(source: int, until: float) -> bytes:
    data = b""
    poll = select.poll()
    poll.register(source, select.POLLIN)
    while not data.endswith(b"\n"):
        if not poll.poll(max(0.0, 1000 * (until - time.monotonic()))):
            raise TimeoutError("no verdict in time")
        part = os.read(source, 1 << 16)
        if not part:
            raise EOFError("the warden ended")
        data += part
    return data
