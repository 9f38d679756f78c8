"""Processes that grade answers; they are reused, and killed if an answer takes too long.

An answer has a limit on processor time, so that a busy machine does not change verdicts, and a much
longer limit on wall time. Processes start on first need, up to one per core.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Literal

from laconic.envs.sandbox.processes import HelperProcess, ProcessPool, cores

Equality = Literal["yes", "no", "time-out"]

SECONDS = 2.0
"""Maximum processor time of one answer, in seconds."""
WALL_SECONDS = 60.0
"""Maximum wall time of one answer, in seconds; long, for busy machines."""
_START_SECONDS = 300.0
_MAX_PROCESSES = 8
_PROGRAM = Path(__file__).with_name("worker.py")
_PACKAGES = Path(__file__).absolute().parents[5]


class GraderError(RuntimeError):
    """A grader process cannot be started."""


class GraderPool(ProcessPool):
    """Pool of grader processes; each grades one answer at a time."""

    def __init__(
        self,
        processes: int | None = None,
        seconds: float = SECONDS,
        wall_seconds: float = WALL_SECONDS,
    ) -> None:
        """Store the limits; the first answer starts a process.

        Args:
            processes: maximum number of processes; None: one per core, at most eight.
            seconds: maximum processor time of one answer.
            wall_seconds: maximum wall time of one answer, without waiting for a free process.
        """
        super().__init__(_start, processes or min(cores(), _MAX_PROCESSES))
        self._seconds, self._wall_seconds = seconds, wall_seconds

    def verdict(self, gold: str, answer: str, form: bool = False) -> Equality:
        """Return whether an answer equals the reference answer, or that grading took too long.

        With `form` it must also have the same form (`verify.same_form`). If the process is killed
        from outside, the answer is graded once more by another process.

        Raises:
            GraderError: no process can be started.
        """
        request = json.dumps([gold, answer, self._seconds, form])
        for _ in range(2):
            try:
                with self.lend() as grader:
                    return "yes" if grader.ask(request, self._wall_seconds) == "yes" else "no"
            except TimeoutError:
                return "time-out"
            except OSError:
                # The process ended while it graded; SIGPROF means that its processor time ran out.
                if grader.end() == -signal.SIGPROF:
                    return "time-out"
        return "no"


def _start() -> HelperProcess:
    command = [sys.executable, "-P", str(_PROGRAM), str(_PACKAGES)]
    # Its linear algebra is small; more threads would only use memory.
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    grader = HelperProcess(command, {**os.environ, **single})
    try:
        line = grader.line(_START_SECONDS)
    except OSError as error:
        line = str(error)
    if line != "ready":
        grader.end()
        raise GraderError(
            f"expected a grader process to start within {_START_SECONDS:.0f} s; it wrote {line!r}."
            f" Run `{' '.join(command)}` to see why"
        )
    return grader


POOL = GraderPool()
"""Pool that all benchmarks of this program share."""
