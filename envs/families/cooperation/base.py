"""Base of `coop_humaneval` and `coop_mbpp`: two agents write one program.

Roles: the auxiliary writes a helper function `aux`; main writes the requested function, which may
call it. Neither reads the other's code. The reward is that of MAGRPO, from 0 to 4
(`envs.families.cooperation.reward`). A task is solved if all tests pass. The last message of each
agent is graded, and all its tokens are charged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from laconic.envs import sandbox
from laconic.envs.dialogue.roster import role_of
from laconic.envs.families.coding.base import (
    NO_PROGRAM,
    ProgramBenchmark,
    fields_of,
    fields_without_run,
)
from laconic.envs.families.coding.exam import SECONDS, Exam
from laconic.envs.families.coding.generate import items
from laconic.envs.families.common.generation import Span, span
from laconic.envs.families.cooperation.assemble import AUXILIARY, assemble
from laconic.envs.families.cooperation.drafts import drafts
from laconic.envs.families.cooperation.findings import spelled, told
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
    max_reward = MAX_REWARD
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
