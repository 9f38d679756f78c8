"""Base of benchmarks whose answers are programs, tested in the sandbox.

Roles: the coder answers, testers know the examples, tests or conditions. A reply without a program
scores 0 and starts no process. Reward: 1 for a program that passes every test, else 0.

Some reference solutions of a source are run when it is read. Every program would score 0 on a test
that contradicts its solution, or that imports a package which the sandbox lacks.
"""

from __future__ import annotations

import ast
import time
import warnings
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from laconic.envs import sandbox
from laconic.envs.benchmarks.base import SPLIT, FamilyBenchmark, majority, priced
from laconic.envs.benchmarks.generation import DISTRACTORS, Span
from laconic.envs.errors import SourceError
from laconic.envs.families.coding.exam import Exam
from laconic.envs.families.coding.extract import commitment, fenced, fences, plainer
from laconic.envs.families.coding.generate import LEVELS, Item, items
from laconic.envs.families.coding.syntax import parse, under, without_closing_names
from laconic.envs.task import Score, Split, Task

NO_PROGRAM = "no program"
"""Outcome of a reply without a program."""
_NOT_FOUND = "no code that defines the function was found in the answer"


class ProgramBenchmark(FamilyBenchmark):
    """Tasks that ask for a function; `task.details["exam"]` is its `Exam`."""

    separator = "\n"
    slow = True

    def conditions(self) -> Mapping[str, str]:
        """Return how programs are isolated on this machine."""
        return sandbox.conditions()

    def load(
        self, path: str | Path, split: Split = "evaluation", **settings: Any
    ) -> tuple[Task, ...]:
        """Read the rows of a source, and try some of its reference solutions.

        Raises:
            SourceError: the source cannot be read, or no solution passes its tests.
            SandboxError: this machine cannot run a program at the moment.
        """
        tasks = super().load(path, split, **settings)
        try_references(tasks, str(path))
        return tasks

    @abstractmethod
    def pose(self, item: Item) -> Task:
        """Return the task of a generated function, in this benchmark's form."""


class CodingBenchmark(ProgramBenchmark):
    """Tasks whose function is right if it passes every test.

    Settings of `generate`: `level`, steps of a function, 1 to 4; `distractors`, statements about
    other functions (`envs.families.coding.generate`).
    """

    roles = ("coder", "tester")
    defaults = {
        **SPLIT,
        **priced(13),
        "team": {"coder": 1, "tester": 3},
        "schedule": ["tester", "coder"],
        "answer": "coder",
        "budget": {"message": 192, "episode": 768},
        "generator": {"level": 1, "distractors": 1},
    }
    answer_form = (
        "Write the whole function in a fence that opens with ```python and closes with ```."
    )
    duties = {
        "coder": "You write the program: put together what you know and what the testers tell you."
        f" {answer_form}",
        "tester": "You help the coder, who may not know what you know: pass on the conditions and"
        " examples that matter to the function asked for, letter for letter and in few words, and"
        " leave out those that do not matter.",
    }

    def generator(
        self,
        seed: int,
        count: int,
        split: Split,
        level: Span = LEVELS,
        distractors: Span = DISTRACTORS,
    ) -> tuple[Task, ...]:
        """Generate functions to write."""
        return tuple(map(self.pose, items(seed, count, split, level, distractors)))

    def score(self, task: Task, answers: Mapping[str, str]) -> Score:
        """Run the program with most votes against the tests of the task.

        Agents without a program have no vote. Programs are equal if their text is. Among equally
        common ones, that of the earliest agent in the mapping counts.
        """
        exam: Exam = task.details["exam"]
        code = vote(exam.find(text) for text in answers.values())
        if code is None:
            fields = fields_without_run(NO_PROGRAM, _NOT_FOUND, len(exam.tests))
            return Score(0.0, False, "", fields)
        verdict = sandbox.run(exam.sheet(code), exam.limits)
        return Score(float(verdict.passed), verdict.passed, code, fields_of(verdict))

    def committed(self, message: str) -> str | None:
        """Return the last fence with a function or body, or else code with a function, or None."""
        return commitment(message)

    def exempt(self, message: str, task: Task) -> str:
        """Return the code of the answer in a fence, without comments and idle constants."""
        code = "\n".join(block.code for block in fences(commitment(message) or "")[-1:])
        plain_code = working(code or commitment(message) or "")
        return fenced(plain_code) if plain_code else ""


def working(code: str) -> str:
    """Return the working part of a program, without comments, idle constants and closing names.

    It is formatted by `ast.unparse`. Empty if it is not Python.
    """
    code = code if parse(code) else plainer(code)
    module = parse(without_closing_names(code))
    module = module or parse("def body():\n" + indent(dedent(code), "    "))
    if module is None:
        return ""
    for node in ast.walk(module):
        for name, lines in ast.iter_fields(node):
            if isinstance(lines, list) and name in ("body", "orelse", "finalbody"):
                remaining = [line for line in lines if not _idle(line)]
                setattr(node, name, remaining or ([ast.Pass()] if lines and name == "body" else []))
    return ast.unparse(module)


def _idle(line: ast.AST) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant | ast.JoinedStr)


def vote(programs: Iterable[str | None]) -> str | None:
    """Return the most common program by its text, the earliest of equally common ones, or None."""
    texts = [code for code in programs if code is not None]
    commonest = majority(map(str.strip, texts))
    return next((code for code in texts if code.strip() == commonest), None)


def fields_of(verdict: sandbox.Verdict) -> dict[str, Any]:
    """Return the fields of a score's detail for a program that was run."""
    return {
        "outcome": verdict.outcome,
        "form": verdict.form,
        "level": verdict.level,
        "passed": sum(verdict.results),
        "total": len(verdict.results),
        "message": verdict.message,
    }


def fields_without_run(outcome: str, message: str, tests: int) -> dict[str, Any]:
    """Return the same fields for a reply that was never run."""
    fields = {"outcome": outcome, "form": "", "level": "", "passed": 0, "total": tests}
    return {**fields, "message": message}


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
