"""HumanEval and CoopHumanEval by two agents: one writes a helper, one the function asked for.

Sources: HumanEval (`envs.benchmarks.humaneval`), and CoopHumanEval of MAGRPO (arXiv 2508.04652),
whose rows are `{"task_id", "prompt", "test", "entry_point"}`, without a solution. Both agents read
the prompt. Reward: 0 to 4 (`envs.families.cooperation.reward`); each assert of `check` is one test.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from laconic.envs.benchmarks import humaneval
from laconic.envs.families.coding.exam import Exam
from laconic.envs.families.coding.generate import Item
from laconic.envs.families.common.sources import Row, field, numbered, rows, title
from laconic.envs.families.cooperation.base import CooperativeCoding
from laconic.envs.families.cooperation.testing import split
from laconic.envs.task import Split, Task

_SOLUTION = "canonical_solution"


class CoopHumanEval(CooperativeCoding):
    """Functions to be completed by two agents."""

    name = "coop_humaneval"

    def load(self, path: str | Path, split: Split = "evaluation") -> tuple[Task, ...]:
        """Read `test.jsonl`, its `.gz`, or `hub:openai/openai_humaneval`; none are for training."""
        return numbered(title(path, split), rows(path, split), _read)

    def pose(self, item: Item) -> Task:
        """A prompt with a docstring of steps and examples, and asserts on other inputs."""
        return _by_assert(humaneval.BENCHMARK.pose(item))


def _read(row: Row, where: str, key: str) -> Task:
    solution = field(row, _SOLUTION, where) if _SOLUTION in row else ""
    return _by_assert(humaneval.read(row, where, key, solution))


def _by_assert(task: Task) -> Task:
    """A task of HumanEval whose check is cut into its asserts."""
    exam: Exam = task.details["exam"]
    tests = tuple(piece for test in exam.tests for piece in split(test, exam.name))
    return replace(task, details={**task.details, "exam": replace(exam, tests=tests)})


BENCHMARK = CoopHumanEval()
