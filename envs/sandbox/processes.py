"""Helper processes that answer a line with a line; they are reused, and killed if they are late.

The sandbox and the graders of mathematics use them. A helper is a separate program, not a fork of
the caller or an import of its main module, so threads and libraries of the caller do not matter.
Pools may be used from many threads and end with the program. A fork of the program gets empty
pools, because the helpers belong to the original.
"""

from __future__ import annotations

import atexit
import os
import select
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

_LEAVING_SECONDS = 0.05
"""Seconds that a helper gets to end by itself when it is told to."""


def cores() -> int:
    """Return the number of processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class HelperProcess:
    """A program that answers every line on its standard input with a line on its output."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], handles: Sequence[int] = ()
    ) -> None:
        """Start it in a session of its own, out of reach of the terminal's signals.

        Args:
            command: the program and its arguments.
            environment: all its environment variables.
            handles: open files that it inherits under the same numbers.
        """
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            bufsize=0,
            start_new_session=True,
            pass_fds=handles,
        )

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """True while it runs."""
        return self._process.poll() is None

    def ask(self, request: str, seconds: float) -> str:
        """Send a line and wait for the answer.

        Raises:
            TimeoutError: no answer came within this number of seconds.
            OSError: the process has ended.
        """
        assert self._process.stdin is not None
        until = time.monotonic() + seconds
        data = memoryview(request.encode() + b"\n")
        while data:
            data = data[os.write(self._process.stdin.fileno(), data) :]
        return self.line(until - time.monotonic())

    def line(self, seconds: float) -> str:
        """Return the next line it writes; raises as `ask` does."""
        assert self._process.stdout is not None
        until, source, data = time.monotonic() + seconds, self._process.stdout.fileno(), b""
        poll = select.poll()
        poll.register(source, select.POLLIN)
        while not data.endswith(b"\n"):
            if not poll.poll(max(0.0, 1000 * (until - time.monotonic()))):
                raise TimeoutError("no answer in time")
            part = os.read(source, 1 << 16)
            if not part:
                raise OSError("the process ended")
            data += part
        return data.decode(errors="replace").strip()

    def end(self) -> int:
        """End it, by force if necessary; return its exit code, minus the number of a signal."""
        self.release()
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(_LEAVING_SECONDS)
        self._process.kill()
        return self._process.wait()

    def release(self) -> None:
        """Close this process's ends of the pipes; at the end of its input a helper ends itself."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


class ProcessPool:
    """A limited number of helpers, started on demand, each lent to one caller at a time."""

    def __init__(self, start: Callable[[], HelperProcess], size: int) -> None:
        """Start empty.

        Args:
            start: starts a helper.
            size: helpers at a time; further callers wait.
        """
        self._start, self._size = start, size
        self._idle: list[HelperProcess] = []
        self.forget()
        _POOLS.add(self)

    @contextmanager
    def lend(self) -> Iterator[HelperProcess]:
        """Lend a helper; one whose borrower raises is ended and not lent again."""
        with self._free:
            with self._lock:
                helper = self._idle.pop() if self._idle else None
            if helper is not None and not helper.alive:
                helper.end()
                helper = None
            helper = helper or self._start()
            try:
                yield helper
            except BaseException:
                helper.end()
                raise
            with self._lock:
                self._idle.append(helper)

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the helpers that wait for a caller."""
        with self._lock:
            return tuple(helper.pid for helper in self._idle)

    def close(self) -> None:
        """End the helpers that wait; the next caller starts new ones."""
        with self._lock:
            idle, self._idle = self._idle, []
        for helper in idle:
            helper.end()

    def forget(self) -> None:
        """Drop all helpers without ending them; they belong to the process that was forked."""
        for helper in self._idle:
            helper.release()
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(self._size)
        self._idle = []


_POOLS: weakref.WeakSet[ProcessPool] = weakref.WeakSet()


def _of_each(act: Callable[[ProcessPool], None]) -> None:
    for pool in list(_POOLS):
        act(pool)


atexit.register(_of_each, ProcessPool.close)
os.register_at_fork(after_in_child=lambda: _of_each(ProcessPool.forget))
