"""Grading of an answer: letter for letter, then by exact numbers, then by algebra.

Algebra runs in processes that are reused, and killed if an answer takes too long. An answer has a
limit on processor time, so that a busy machine does not change verdicts, and a much longer limit on
wall time. Processes start on first need, up to one per core.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from laconic.envs.errors import install
from laconic.envs.library.math.grading.compare import same, value_of
from laconic.envs.library.math.grading.latex import squeezed, tidy
from laconic.envs.library.math.grading.quantity import quantity
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


# Graders import it in their own processes, where an import error would come in mid-run.
if find_spec("math_verify") is None:
    raise ImportError(f"the environment 'math' needs the package math-verify: {install('math')}")

How = Literal["unread", "rules", "math-verify", "time-out"]
_KEPT = 65_536


@dataclass(frozen=True, slots=True)
class Comparison:
    """Result of comparing an answer with the reference answer."""

    right: bool
    """True if the answer equals the reference answer."""
    how: How
    """Deciding step. `unread`: the answer is too long or nested too deeply. `rules`: letters,
    numbers and structure. `math-verify`: algebra. `time-out`: it took too long and counts as
    wrong."""


@lru_cache(maxsize=_KEPT)
def grade(gold: str, answer: str) -> Comparison:
    r"""Compare an answer to a reference answer, both in LaTeX and without `\boxed`.

    No text raises. The function may be called from many threads at a time.

    Raises:
        envs.library.math.grading.grade.GraderError: no grader process can be started.
    """
    expected, got = tidy(gold), tidy(answer)
    if expected is None or got is None or not squeezed(got):
        return Comparison(False, "unread")
    questions: list[tuple[str, str]] = []

    def suppose(first: str, second: str) -> bool:
        questions.append((first, second))
        return True

    # First suppose that all expressions for math-verify are equal; most wrong answers fail here.
    if not same(expected, got, suppose):
        return Comparison(False, "rules")
    if not questions:
        return Comparison(True, "rules")
    verdict = POOL.verdict(expected, got)
    return Comparison(verdict == "yes", "time-out" if verdict == "time-out" else "math-verify")


@lru_cache(maxsize=_KEPT)
def same_form(first: str, second: str) -> bool:
    """Return whether two answers are one expression up to trivial terms (`+ 0`, `2x/2`)."""
    tidy_first, tidy_second = tidy(first), tidy(second)
    if not tidy_first or not tidy_second:
        return False
    return POOL.verdict(tidy_first, tidy_second, form=True) == "yes"


def plain(answer: str) -> str:
    """Return an answer in a standard form, for counting votes."""
    tidied = tidy(answer)
    if tidied is None:
        return answer.strip()[:100]
    value = value_of(tidied)
    read = quantity(value)
    return str(read.number) if read.number is not None else squeezed(value)
