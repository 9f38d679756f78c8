"""Processes that grade answers, kept between answers, and killed when one takes too long.

An answer has a limit of processor time, so that a busy machine does not change verdicts, and a much
longer one of wall time. Processes are started on first need, up to the cores there are.
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
"""Processor time of one answer."""
WALL_SECONDS = 60.0
"""Wall time of one answer, on a machine that is busy with other things."""
_START_SECONDS = 300.0
_MAX_PROCESSES = 8
_PROGRAM = Path(__file__).with_name("worker.py")
_PACKAGES = Path(__file__).absolute().parents[5]


class GraderError(RuntimeError):
    """A grader process cannot be started."""


class GraderPool(ProcessPool):
    """Grader processes, lent to one answer at a time."""

    def __init__(
        self,
        processes: int | None = None,
        seconds: float = SECONDS,
        wall_seconds: float = WALL_SECONDS,
    ) -> None:
        """Store the limits; the first answer starts a process.

        Args:
            processes: most processes; None takes one per core there is, at most eight.
            seconds: processor time of one answer.
            wall_seconds: wall time of one answer, waiting for a free process not counted.
        """
        super().__init__(_start, processes or min(cores(), _MAX_PROCESSES))
        self._seconds, self._wall_seconds = seconds, wall_seconds

    def verdict(self, gold: str, answer: str, form: bool = False) -> Equality:
        """Return whether an answer equals the reference answer, or whether grading took too long.

        With `form` it has to have the same form as well (`verify.same_form`).

        An answer whose process is killed from outside is put to another one, once.

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
                # It was ended while it graded; SIGPROF says that it has used its processor time.
                if grader.end() == -signal.SIGPROF:
                    return "time-out"
        return "no"


def _start() -> HelperProcess:
    command = [sys.executable, "-P", str(_PROGRAM), str(_PACKAGES)]
    # Its linear algebra is small; threads would only take memory.
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    grader = HelperProcess(command, {**os.environ, **single})
    try:
        line = grader.line(_START_SECONDS)
    except OSError as error:
        line = str(error)
    if line != "ready":
        grader.end()
        raise GraderError(
            f"expected a grader process to start within {_START_SECONDS:.0f} s; it said {line!r}."
            f" Run `{' '.join(command)}` to see why"
        )
    return grader


POOL = GraderPool()
"""The processes that this program's benchmarks share."""
