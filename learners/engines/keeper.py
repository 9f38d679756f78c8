"""Keeps a program running for as long as the process that started this one lives.

    python keeper.py vllm serve <model> ...

Whoever starts it holds the other end of its standard input and never writes: when that end is
closed, be it by a clean end or by SIGKILL, the program and all that it started are told to end, and
killed ten seconds later. Imports nothing but the standard library, because it is run as a file.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time

GRACE = 10.0
"""Seconds between SIGTERM and SIGKILL."""
_LOOK = 0.2


def main(words: list[str]) -> int:
    """Run the program; returns its exit code."""
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(end(child)))
    while child.poll() is None:
        ready, _, _ = select.select([sys.stdin.fileno()], [], [], _LOOK)
        if ready and not os.read(sys.stdin.fileno(), 1):
            return end(child)
    end(child)
    return child.returncode


def end(child: subprocess.Popen[bytes]) -> int:
    """End the program's whole process group."""
    _send(child, signal.SIGTERM)
    until = time.monotonic() + GRACE
    while child.poll() is None and time.monotonic() < until:
        time.sleep(_LOOK / 4)
    # Whatever it started and did not take along.
    _send(child, signal.SIGKILL)
    return child.wait()


def _send(child: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(child.pid, number)
    except (ProcessLookupError, PermissionError):
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
