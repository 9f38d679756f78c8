"""Check of a code benchmark's tests: its reference solutions are run in the sandbox.

Every program would score 0 on a test that contradicts the solution, or that imports a package which
the sandbox lacks.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from laconic.envs import sandbox
from laconic.envs.errors import SourceError
from laconic.envs.families.coding.exam import Exam
from laconic.envs.families.coding.syntax import under
from laconic.envs.task import Task

MAX_TRIED = 20
"""Maximum number of reference solutions to run, spread evenly over a source."""
MAX_SECONDS = 5.0
"""Maximum seconds for all of them together."""
_SHOWN = 3
_STUB = "def {name}(*_, **__):\n    raise NotImplementedError\n"
_REACHED = "NotImplementedError"
_ADVICE = "Programs and tests can import the standard library only."


def try_references(tasks: Sequence[Task], source: str) -> None:
    """Run reference solutions against their tests, and warn of those that fail.

    For a task without a solution, check that its tests call the requested function.

    Args:
        tasks: tasks with an exam.
        source: source of the tasks, for messages.

    Raises:
        SourceError: no solution that was run passes.
        SandboxError: this machine cannot run a program at the moment.
    """
    until = time.monotonic() + MAX_SECONDS
    reasons, count = Counter[str](), 0
    for task in tasks[:: -(-len(tasks) // MAX_TRIED)]:
        seconds = until - time.monotonic()
        reason = _why_not(task.details["exam"], task.answer, seconds) if seconds > 0 else None
        if reason is None:
            break
        count += 1
        if reason:
            reasons[f"{reason} ({task.key})"] += 1
    failed = reasons.total()
    if not failed:
        return
    examples = "; ".join(list(reasons)[:_SHOWN])
    if failed == count:
        raise SourceError(
            f"{source}: expected reference solutions that pass their own tests; none of the {count}"
            f" that were run does: {examples}. {_ADVICE}"
        )
    warnings.warn(
        f"{source}: {failed} of {count} reference solutions that were run fail their own tests:"
        f" {examples}. No program can solve these tasks. {_ADVICE}",
        stacklevel=2,
    )


def _why_not(exam: Exam, solution: str, seconds: float) -> str | None:
    """Return why a solution fails, empty if it passes, and None if time ran out."""
    if seconds < exam.limits.seconds:
        limits = replace(exam.limits, seconds=seconds)
        verdict = _run(exam, solution, limits)
        return None if verdict.outcome == "timeout" else _reason(verdict, solution)
    return _reason(_run(exam, solution, exam.limits), solution)


def _reason(verdict: sandbox.Verdict, solution: str) -> str:
    reached = not solution and verdict.message.startswith(_REACHED)
    return "" if verdict.passed or reached else verdict.message or verdict.outcome


@lru_cache(maxsize=1024)
def _run(exam: Exam, solution: str, limits: sandbox.Limits) -> sandbox.Verdict:
    code = solution or under(_STUB.format(name=exam.name), exam.preamble)
    return sandbox.run(exam.sheet(code), limits)
