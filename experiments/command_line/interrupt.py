"""Stop a program after a signal: after the present step if it is short, else within seconds.

A signal sets a flag that the loop polls, so that a short step can end. Work that may take forever
(a user's environment, a grader, a server) runs inside `cuttable`, and is interrupted within two
seconds of the signal. All other work is never interrupted, so that no optimizer step and no file is
left incomplete.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

PATIENCE_SECONDS = 0.7
"""Time after a signal in which a cuttable step may still end by itself, seconds."""
_AGAIN_SECONDS = 0.5
"""Time between two attempts to interrupt, seconds; code may catch the first exception."""

received: list[int] = []
"""Signals that an `Interrupt` of this process has handled, oldest first."""


class Interrupt:
    """Turns the first SIGINT, SIGTERM or SIGHUP into a flag that a loop polls.

    The second signal ends the program at once. An ignored SIGHUP (`nohup`) stays ignored. Outside
    the main thread signals cannot be handled, and the flag is never set. The alarm of the process
    (SIGALRM) is used only after a signal.
    """

    def __init__(self) -> None:
        """Prepare; signals are handled while the context is open."""
        self.signal: int | None = None
        self._overdue = self._cuttable = False
        self._before: dict[int, Any] = {}

    def is_set(self) -> bool:
        """Return whether a signal has asked the program to stop."""
        return self.signal is not None

    @contextmanager
    def cuttable(self) -> Iterator[None]:
        """Raise KeyboardInterrupt in this context if it is still open some time after a signal."""
        try:
            self._cuttable = True
            if self._overdue:
                raise KeyboardInterrupt
            yield
        finally:
            self._cuttable = False

    def __enter__(self) -> Interrupt:
        """Install the handlers of the signals."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue
            try:
                self._before[number] = signal.signal(number, self._handle)
            except ValueError:
                break
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """Restore the earlier handlers."""
        if signal.SIGALRM in self._before:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = number
        # Not `print`, which the signal may have interrupted.
        os.write(2, b"stopping after this step; a second signal stops at once\n")
        received.append(number)
        self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._interrupt)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_SECONDS, _AGAIN_SECONDS)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Interrupt a cuttable context; the alarm repeats until one is open."""
        self._overdue = True
        if self._cuttable:
            raise KeyboardInterrupt
