"""What running processes use: processor time, and whether they do anything at all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

ASLEEP = "asleep"
"""How the message of a program begins that was stopped for doing nothing."""
_LONGEST_LOOK = 0.1
_TICKS = os.sysconf("SC_CLK_TCK")


class ProcessUsage:
    """Watches a few processes and all that descend from them; sees nothing where /proc is not."""

    def __init__(self, pids: Collection[int], clock: Callable[[], float] = time.monotonic) -> None:
        """Watch processes.

        Args:
            pids: their numbers.
            clock: gives the time in seconds.
        """
        self._pids, self._clock = pids, clock
        self._looked_at, self._asleep = clock(), 0.0
        self.cpu_seconds = 0.0
        """Processor time so far, of all of them."""

    def look(self) -> float:
        """Look once; returns for how many seconds nothing has run and no time was used.

        The time between two looks counts as 0.1 seconds at most, so that a machine too busy to look
        takes nobody for asleep.
        """
        now = self._clock()
        passed, self._looked_at = now - self._looked_at, now
        found = [_stat(pid) for pid in _with_descendants(self._pids)]
        used = sum(cpu for _, cpu in found)
        if not found or used > self.cpu_seconds or any(state in "RD" for state, _ in found):
            self._asleep = 0.0
        else:
            self._asleep += min(passed, _LONGEST_LOOK)
        self.cpu_seconds = max(self.cpu_seconds, used)
        return self._asleep


def _stat(pid: int) -> tuple[str, float]:
    """State and processor time of a process; that of one that is gone is `Z` and 0."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except OSError:
        return "Z", 0.0
    return fields[0], (int(fields[11]) + int(fields[12])) / _TICKS


def _with_descendants(pids: Collection[int]) -> list[int]:
    found, waiting = [], list(pids)
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        with suppress(OSError):
            text = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
            waiting += map(int, text.split())
    return found
