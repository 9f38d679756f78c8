"""Base of `coop_humaneval` and `coop_mbpp`: two agents write one program.

Roles: the auxiliary writes a helper function `aux`; main writes the requested function, which may
call it. Neither reads the other's code. The reward is that of MAGRPO, from 0 to 4
(`envs.families.cooperation.reward`). A task is solved if all tests pass. The last message of each
agent is graded, and all its tokens are charged.

Level feedback tells each agent in plain words which levels its own function reached. Generated
tasks have drafts of a few lines, so that small policies can learn from them. In the best pair the
auxiliary does the first step, and main calls it and does the rest.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from laconic.envs import sandbox
from laconic.envs.benchmarks.base import JOINT
from laconic.envs.benchmarks.generation import Span, span
from laconic.envs.dialogue.messages import indented
from laconic.envs.dialogue.roster import role_of
from laconic.envs.families.coding.base import (
    NO_PROGRAM,
    ProgramBenchmark,
    fields_of,
    fields_without_run,
)
from laconic.envs.families.coding.exam import SECONDS, Exam
from laconic.envs.families.coding.function import Chain, neighbors
from laconic.envs.families.coding.generate import Item, items
from laconic.envs.families.cooperation.assemble import AUXILIARY, assemble
from laconic.envs.families.cooperation.reward import MAX_REWARD, LevelPoints, grade
from laconic.envs.families.cooperation.schemes import schemes
from laconic.envs.task import Score, Split, Task

LEVELS = (2, 4)
"""Minimum and maximum steps of a function; two agents need at least two steps."""
NO_SYNTAX = "no syntax"
"""Outcome of functions that together are not Python."""


class CooperativeCoding(ProgramBenchmark):
    """Tasks whose function two agents write together.

    Settings of `generate`: `level`, steps of a function, 2 to 4; `distractors`, statements about
    other functions; `seconds`, processor time that one test may take
    (`envs.families.coding.generate`).
    """

    roles = ("auxiliary", "main")
    defaults = {
        **JOINT,
        "reward": {"paid": "round", "normalizer": 49},
        "team": {"auxiliary": 1, "main": 1},
        "budget": {"message": 256},
        "generator": {"level": 2, "distractors": 0},
    }
    max_reward = MAX_REWARD
    graded = True
    answer_form = "Write it in a fence that opens with ```python and closes with ```."
    goal = "You and another agent write one Python program together, at the same time."
    duties = {
        "auxiliary": f"You write a helper function {AUXILIARY}(...) that does a part of the work"
        " and returns it. The other agent writes the function asked for, and may call yours; do"
        f" not write that one. {answer_form}",
        "main": "You write the function asked for, under the name it has there. The other agent"
        f" writes a helper function {AUXILIARY}(...) that does a part of the work and returns it;"
        " call it, use what it returns, and do the rest yourself. Do not write it."
        f" {answer_form}",
    }

    def generator(
        self,
        seed: int,
        count: int,
        split: Split,
        level: Span = LEVELS,
        distractors: Span = 0,
        seconds: float = SECONDS,
    ) -> tuple[Task, ...]:
        """Generate functions to write, with drafts for both agents."""
        sandbox.Limits(seconds=seconds, cpu_seconds=seconds)
        drawn_items = items(seed, count, split, span("level", level, LEVELS), distractors)
        return tuple(
            replace(timed(self.pose(item), seconds), drafts=drafts(item)) for item in drawn_items
        )

    def score(self, task: Task, answers: Mapping[str, str]) -> Score:
        """Grade the program of the first auxiliary and the first main agent, from 0 to 4."""
        exam: Exam = task.details["exam"]
        written = {role: _words(answers, role) for role in self.roles}
        auxiliary, main = written.values()
        work = assemble(auxiliary, main, exam.name, exam.preamble)
        levels = grade(work, exam)
        scheme_names = schemes(work.code, exam.name) if levels.points.get("calls") else ()
        detail = {"points": dict(levels.points), "schemes": scheme_names, **_fields(levels, exam)}
        detail["spelled_by"] = spelled(detail["message"], written)
        solved = levels.verdict is not None and levels.verdict.passed
        return Score(levels.total, solved, work.code, detail)

    def findings(self, task: Task, score: Score, agents: Sequence[str]) -> Mapping[str, str]:
        """Return feedback for each agent on the levels that its function reached."""
        name = task.details["exam"].name
        return {agent: told(role_of(agent), name, score.detail) for agent in agents}


def timed(task: Task, seconds: float) -> Task:
    """Return a coding task with another time limit for each of its tests."""
    exam = replace(task.details["exam"], seconds=seconds)
    return replace(task, details={**task.details, "exam": exam})


def _words(answers: Mapping[str, str], role: str) -> str:
    return next((text for agent, text in answers.items() if role_of(agent) == role), "")


def _fields(grade: LevelPoints, exam: Exam) -> dict[str, Any]:
    if grade.verdict is not None:
        failed = [number for number, right in enumerate(grade.verdict.results, 1) if not right]
        return fields_of(grade.verdict) | ({"first_failed": failed[0]} if failed else {})
    if "syntax" in grade.points:
        message = "the functions together are not Python"
        return fields_without_run(NO_SYNTAX, message, len(exam.tests))
    message = f"no function {exam.name} was found in what main wrote"
    return fields_without_run(NO_PROGRAM, message, len(exam.tests))


_LONGEST = 200
"""Characters of an exception's text that its author is told."""


def told(role: str, name: str, detail: Mapping[str, Any]) -> str:
    """Return feedback on a graded program: one or two sentences for each level reached.

    The roles are `auxiliary` and `main`; others read about both functions together. `name` is the
    requested function, `detail` that of the score.
    """
    points: Mapping[str, float] = detail["points"]
    own, lacking = {
        "auxiliary": (AUXILIARY, " that returns something"),
        "main": (name, ", so nothing was tested"),
    }.get(role, ("", ""))
    sentences = []
    if own:
        success, missing = (
            f"Your function {own} was found.",
            f"You wrote no function {own}{lacking}.",
        )
        sentences.append(success if points[role] else missing)
    sentences += _together(points, detail, role)
    if role == "main":
        sentences += _cooperation(name, points)
    return " ".join(sentences)


def _together(points: Mapping[str, float], detail: Mapping[str, Any], role: str) -> Iterator[str]:
    if not points["main"]:
        return
    if not points["syntax"]:
        yield "The two functions together are not valid Python, so nothing was tested."
        return
    yield f"{detail['passed']} of {detail['total']} tests passed."
    if detail["passed"] < detail["total"]:
        number, outcome = detail["first_failed"], detail["outcome"]
        yield f"The first failure, test {number}: {outcome}{_kind(detail)}{_text(detail, role)}."


def spelled(message: str, written: Mapping[str, str]) -> list[str]:
    """Return the roles whose messages contain the text of an exception, letter for letter.

    The program writes the text, so it could carry a message to an agent that may not hear the
    author. A program can forge which function raised the exception, but not an agent's message.
    """
    text = _said(message)
    return [role for role, words in written.items() if text and text in words]


def _kind(detail: Mapping[str, Any]) -> str:
    """Return the built-in exception that was raised, which all agents may know."""
    name = str(detail["message"]).partition(":")[0]
    raised = getattr(builtins, name, None)
    is_exception = isinstance(raised, type) and issubclass(raised, BaseException)
    return f", {name}" if is_exception else ""


def _text(detail: Mapping[str, Any], role: str) -> str:
    """Return the text of the exception, for its author only; further lines are indented."""
    if role not in detail.get("spelled_by", ()):
        return ""
    return f", {indented(_said(detail['message']))}"


def _said(message: str) -> str:
    return message.partition(": ")[2][:_LONGEST].strip()


def _cooperation(name: str, points: Mapping[str, float]) -> Iterator[str]:
    if points.get("calls") == 0:
        yield f"Your {name} does not call {AUXILIARY}."
    if points.get("substance") == 0:
        yield f"Your {name} only passes on what {AUXILIARY} returns; do part of the work in it."
    if points.get("ignored"):
        yield f"Your {name} ignores what {AUXILIARY} returns; use it."


_VALUE = "v"
"""Name of the variable in all drafts; no expression of a step binds it."""
_CALL = f"{AUXILIARY}({_VALUE})"


def drafts(item: Item) -> dict[str, tuple[str, ...]]:
    """Return the drafts of each role.

    Auxiliary: the first step; a step easily mistaken for it, or none; the first step, but
    nothing is returned; words. Main: the other steps on the auxiliary's result; all steps, and
    a call whose result is ignored; all steps by itself; a thin wrapper; invalid Python; words.
    The function has at least two steps.
    """
    chain, name = item.puzzle.chain, item.puzzle.name
    first, rest = chain[:1], chain[1:]
    words = f"I begin with: {first[0].words}.", f"I go on with: {rest[0].words}."
    silent = _define(AUXILIARY, [f"{_VALUE} = {first[0].code(_VALUE)}"])
    shared = [f"{_VALUE} = {_CALL}", *_lines(rest)]
    return {
        "auxiliary": (
            _define(AUXILIARY, _lines(first)),
            _define(AUXILIARY, _mistaken(first, item.key)),
            silent,
            words[0],
        ),
        "main": (
            _define(name, shared),
            _define(name, [_CALL, *_lines(chain)]),
            _define(name, _lines(chain)),
            _define(name, [f"return {_CALL}"]),
            _define(name, [f"{_VALUE} = {_CALL}", "return ("]),
            words[1],
        ),
    }


def _define(name: str, lines: Sequence[str]) -> str:
    return "\n    ".join([f"def {name}({_VALUE}):", *lines])


def _lines(chain: Chain) -> list[str]:
    """Return the body of a function, one line per step."""
    *before, last = (step.code(_VALUE) for step in chain)
    return [*(f"{_VALUE} = {code}" for code in before), f"return {last}"]


def _mistaken(chain: Chain, key: str) -> list[str]:
    """Return the body of a neighbor that is written differently; empty for a step without one."""
    right = _lines(chain)
    others = (_lines(other) for other in neighbors(chain, Random(key)))
    return next((lines for lines in others if lines != right), [f"return {_VALUE}"])
