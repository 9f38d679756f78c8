"""HumanEval and CoopHumanEval by two agents: one writes a helper, one the function asked for.

Sources: HumanEval (`envs.library.humaneval`), and CoopHumanEval of MAGRPO (arXiv 2508.04652),
whose rows are `{"task_id", "prompt", "test", "entry_point"}`, without a solution. Both agents read
the prompt. Reward: 0 to 4 (`envs.families.cooperation.reward`); each assert of `check` is one test.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from laconic.envs.benchmarks.sources import Row, field
from laconic.envs.declarations import Recipe
from laconic.envs.families.coding.exam import Exam
from laconic.envs.families.coding.generate import Item
from laconic.envs.families.cooperation.base import CooperativeCoding
from laconic.envs.families.cooperation.testing import split
from laconic.envs.library.humaneval import benchmark as humaneval
from laconic.envs.task import Task

_SOLUTION = "canonical_solution"


class CoopHumanEval(CooperativeCoding):
    """Functions to be completed by two agents; sources as in `envs.library.humaneval`."""

    name = "coop_humaneval"
    recipe = Recipe(
        Path(__file__).with_name("policy"),
        minutes=15,
        max_reply_tokens=65,
        metric="score",
        target=2.4,
    )

    def read(self, row: Row, where: str, key: str) -> Task:
        """Return the task of a row, whose solution may be missing."""
        solution = field(row, _SOLUTION, where) if _SOLUTION in row else ""
        return _by_assert(humaneval.read(row, where, key, solution))

    def pose(self, item: Item) -> Task:
        """Return a prompt with a docstring of steps and examples, and asserts on other inputs."""
        return _by_assert(humaneval.BENCHMARK.pose(item))


def _by_assert(task: Task) -> Task:
    """Return a task of HumanEval with its check cut into asserts."""
    exam: Exam = task.details["exam"]
    tests = tuple(piece for test in exam.tests for piece in split(test, exam.name))
    return replace(task, details={**task.details, "exam": replace(exam, tests=tests)})


BENCHMARK = CoopHumanEval()
