"""Measure running processes: processor time, and whether they are active at all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

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
