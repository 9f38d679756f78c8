"""Measure the time since the steps of the present training began."""

from __future__ import annotations

import time

_began, _computed = time.monotonic(), time.process_time()


def restart() -> None:
    """Let the steps begin now."""
    global _began, _computed
    _began, _computed = time.monotonic(), time.process_time()


def elapsed() -> float:
    """Return the seconds since the steps began."""
    return time.monotonic() - _began


def slowdown() -> float:
    """Return the seconds per second of processor time since the steps began, at least 1.

    It is above 1 where other programs share the processor.
    """
    return max(elapsed() / max(time.process_time() - _computed, 1e-9), 1.0)
