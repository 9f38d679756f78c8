"""Measures how many answers a second are graded; part of `experiments.measure_speed`.

Answers are the right ones of generated tasks, since a wrong one is often found sooner. Grading that
waits for other processes is asked for by as many threads as there are cores, as in rollouts.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from laconic import envs
from laconic.envs.task import Task


def committed(task: Task) -> str:
    """The reference answer, as it stands."""
    return task.commitment


def rewritten(task: Task) -> str:
    r"""The reference answer of a `math` task, in other words where these take algebra to judge."""
    single = "\\" in task.answer and not any(
        mark in task.answer for mark in ("(", "[", ",", "matrix")
    )
    number = re.fullmatch(r"-?\\frac\{\d+\}\{\d+\}", task.answer)
    return rf"\boxed{{0+{task.answer}}}" if single and not number else task.commitment


@dataclass(frozen=True, slots=True)
class Grading:
    """A benchmark whose grading takes time."""

    benchmark: str
    """Its name in `envs.benchmark`."""
    label: str
    """How the figure is shown."""
    wanted: float
    """Answers per second, at the least, on two cores."""
    answer: Callable[[Task], str] = committed
    """How a task is answered."""


GRADINGS = {
    "programs_per_second": Grading("humaneval", "HumanEval programs graded per second", 20),
    "math_answers_per_second": Grading("math", "MATH answers graded per second", 200, rewritten),
}
"""One figure each; the key is its name in `benchmark.json`."""

_STARTING = 8
"""Answers per core that go before the measured ones."""


def measure(count: int) -> dict[str, float]:
    """Every figure of `GRADINGS`, in answers per second.

    Args:
        count: answers that each is measured on.
    """
    return {name: per_second(one, count) for name, one in GRADINGS.items()}


def rows(figures: Mapping[str, float]) -> list[tuple[str, str, str]]:
    """Label, figure and what it should be, for the table."""
    return [
        (one.label, f"{figures[name]:.0f}", f">= {one.wanted:g}") for name, one in GRADINGS.items()
    ]


def per_second(grading: Grading, count: int) -> float:
    """Right answers that are recognised per second.

    Args:
        grading: what is graded.
        count: answers, after a few that start what grading needs.
    """
    graded, cores = envs.benchmark(grading.benchmark), os.cpu_count() or 1
    tasks = graded.generate(0, count + _STARTING * cores)

    def solved(task: Task) -> bool:
        return graded.score(task, {f"{graded.roles[0]}_1": grading.answer(task)}).solved

    with ThreadPoolExecutor(cores if graded.slow else 1) as threads:
        list(threads.map(solved, tasks[count:]))
        begun = time.perf_counter()
        right = sum(threads.map(solved, tasks[:count]))
        return right / (time.perf_counter() - begun)
