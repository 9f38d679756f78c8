"""Measure the time since the present program began, its imports included.

The first job of a process begins with the process. Later jobs of a sweep, and trainings from
Python, begin when they are called.
"""

from __future__ import annotations

import time

# Until this import the process has mostly computed, so its processor time is its age.
_began, _computed = time.monotonic() - time.process_time(), 0.0


def restart() -> None:
    """Let the present program begin now."""
    global _began, _computed
    _began, _computed = time.monotonic(), time.process_time()


def elapsed() -> float:
    """Return the seconds since the present program began."""
    return time.monotonic() - _began


def slowdown() -> float:
    """Return the seconds per second of processor time since the program began, at least 1.

    It is above 1 where other programs share the processor.
    """
    return max(elapsed() / max(time.process_time() - _computed, 1e-9), 1.0)
