"""Gold solutions of the real rows pass, and corrupted ones do not."""

from __future__ import annotations

import ast
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from places import DATA

from laconic import envs
from laconic.envs import sandbox
from laconic.envs.families.coding.extract import fenced
from laconic.envs.families.coding.syntax import parse
from laconic.envs.sandbox.processes import cores
from laconic.envs.task import Task

pytestmark = pytest.mark.skipif(
    not (DATA / "humaneval").is_dir() or not (DATA / "mbpp").is_dir(),
    reason=f"no HumanEval and MBPP files in {DATA}",
)
SOURCES = {
    "humaneval": ("humaneval/test.jsonl",),
    "mbpp": ("mbpp/prompt.jsonl", "mbpp/train.jsonl", "mbpp/validation.jsonl", "mbpp/test.jsonl"),
}
CHANGED = """
_gold = {name}
def {name}(*given, **named):
    found = _gold(*given, **named)
    if isinstance(found, bool):
        return not found
    if isinstance(found, (int, float)):
        return found + 1
    return [found]
"""


def every(name: str) -> list[Task]:
    loaded = [envs.benchmark(name).load(DATA / file) for file in SOURCES[name]]
    return [task for tasks in loaded for task in tasks]


def passed(tasks: list[Task], replies: list[str]) -> list[bool]:
    """Return whether each reply solves its task; a reply without a program does not."""
    exams = [task.details["exam"] for task in tasks]
    results = [exam.find(reply) for exam, reply in zip(exams, replies, strict=True)]
    right = dict.fromkeys(range(len(tasks)), False)
    # Slow solutions have limits of their own.
    for limits in {exam.limits for exam in exams}:
        places = [at for at, exam in enumerate(exams) if exam.limits == limits and results[at]]
        sheets = [exams[at].sheet(str(results[at])) for at in places]
        with ThreadPoolExecutor(cores()) as threads:
            verdicts = list(threads.map(sandbox.run, sheets, [limits] * len(sheets)))
        for at, verdict in zip(places, verdicts, strict=True):
            right[at] = verdict.passed
    return list(right.values())


def corrupted(task: Task) -> dict[str, str]:
    """Yield the gold solution of a task, broken in several ways."""
    name, code = task.details["exam"].name, task.answer
    return {
        "wrong name": re.sub(rf"\b{name}\b", f"{name}_", code),
        "gives nothing": f"{code}\ndef {name}(*given, **named):\n    pass\n",
        "raises": f"{code}\ndef {name}(*given, **named):\n    raise ValueError\n",
        "another result": code + CHANGED.format(name=name),
        "lists for results": ast.unparse(Wrapped().visit(parse(code))),
    }


class Wrapped(ast.NodeTransformer):
    """Puts whatever is returned into a list."""

    def visit_Return(self, node: ast.Return) -> ast.AST:
        return ast.Return(ast.List([node.value or ast.Constant(None)], ast.Load()))


def check(tasks: list[Task]) -> None:
    gold = passed(tasks, [task.answer_text for task in tasks])
    assert [task.key for task, fine in zip(tasks, gold, strict=True) if not fine] == []
    broken = [(task, way, code) for task in tasks for way, code in corrupted(task).items()]
    fooled = passed([task for task, _, _ in broken], [fenced(code) for _, _, code in broken])
    wrong = [(task.key, way) for (task, way, _), fine in zip(broken, fooled, strict=True) if fine]
    assert wrong == []


@pytest.mark.parametrize("name", SOURCES)
def test_real_solutions_pass_and_corrupted_ones_fail_on_a_sample(name):
    tasks = every(name)
    check(tasks[:: len(tasks) // 10])


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_all_real_solutions_pass_and_corrupted_ones_fail(name):
    tasks = every(name)
    assert len(tasks) == {"humaneval": 82, "mbpp": 724}[name]
    check(tasks)
