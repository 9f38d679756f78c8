"""How a program is told to stop: in good order where it can, and within seconds in any case.

A signal sets a flag that the loop polls, so that a short step is played to its end. What may last
for ever (an environment of others, a grader, a server) runs inside `cuttable`: there the program is
cut off within two seconds of the signal. Outside of it nothing is: neither an optimiser step nor a
file is left half-way.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

PATIENCE_SECONDS = 0.7
"""How long what is played may go on after a signal, in the hope that its step ends by itself."""
_AGAIN_SECONDS = 0.5
"""Between two attempts to cut it off: it may not be playing at the moment, or catch all."""

received: list[int] = []
"""Signals that an `Interrupt` of this process has taken, oldest first."""


class Interrupt:
    """Turns the first SIGINT, SIGTERM or SIGHUP into a flag that a loop polls.

    The second one ends at once. A SIGHUP that is ignored (`nohup`) stays so. Outside the main
    thread signals cannot be taken and the flag is never set. It uses the alarm of the process
    (SIGALRM) once a signal has come, and not before.
    """

    def __init__(self) -> None:
        """Prepare; signals are taken while the context is open."""
        self.signal: int | None = None
        self._overdue = self._cuttable = False
        self._before: dict[int, Any] = {}

    def is_set(self) -> bool:
        """Whether the user or the system has asked to stop."""
        return self.signal is not None

    @contextmanager
    def cuttable(self) -> Iterator[None]:
        """What runs in this context is cut off by KeyboardInterrupt when it outlasts a signal."""
        try:
            self._cuttable = True
            if self._overdue:
                raise KeyboardInterrupt
            yield
        finally:
            self._cuttable = False

    def __enter__(self) -> Interrupt:
        """Take the signals."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue
            try:
                self._before[number] = signal.signal(number, self._take)
            except ValueError:
                break
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """Give the signals back to whoever had them."""
        if signal.SIGALRM in self._before:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = number
        # Not by `print`, which the signal may have come into the middle of.
        os.write(2, b"stopping in good order; once more ends at once\n")
        received.append(number)
        self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._press)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_SECONDS, _AGAIN_SECONDS)

    def _press(self, number: int, frame: FrameType | None) -> None:
        """The time is up: cut off what may be cut, or come back later."""
        self._overdue = True
        if self._cuttable:
            raise KeyboardInterrupt
