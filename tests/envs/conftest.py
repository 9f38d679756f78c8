"""A hand-made benchmark whose numbers can be worked out on paper, and environments on it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from laconic.envs.dialogue import DialogueEnv
from laconic.envs.task import Benchmark, Score, Split, Style, Task

TASKS = (
    Task(
        key="fruit",
        question="How many fruits are there?",
        statements=("There are 3 apples.", "It rains.", "There are 4 pears.", "Tom sings."),
        answer="7",
        relevant=(True, False, True, False),
    ),
    Task(
        key="birds",
        question="How many birds are there?",
        statements=("There are 5 robins.", "There are 8 crows."),
        answer="13",
        relevant=(True, True),
    ),
    Task(
        key="unknown", question="What is two and two?", statements=("Add two and two.",), answer="4"
    ),
)


class Sums(Benchmark):
    """Add up small numbers; `#5` commits to an answer, and the last number counts."""

    name = "sums"
    roles = ("solver", "helper")

    def load(self, path: str | Path, split: Split = "evaluation") -> tuple[Task, ...]:
        return TASKS

    def generate(
        self, seed: int, count: int, *, split: Split = "train", **settings: Any
    ) -> tuple[Task, ...]:
        return TASKS[:count]

    def score(self, task: Task, answers: Mapping[str, str]) -> Score:
        numbers = [all_of[-1] for text in answers.values() if (all_of := re.findall(r"\d+", text))]
        # The first of equally common answers wins, in the order of agents.
        answer = Counter(numbers).most_common(1)[0][0] if numbers else ""
        solved = answer == task.answer
        return Score(float(solved), solved, answer)

    def committed(self, message: str) -> str | None:
        marks = re.findall(r"#\d+", message)
        return marks[-1] if marks else None

    def instructions(self, role: str, style: Style = "full") -> str:
        return f"A {role} adds up." if style == "full" else ""


@pytest.fixture
def sums() -> Sums:
    """Return the benchmark."""
    return Sums()


@pytest.fixture
def tasks() -> tuple[Task, ...]:
    """Return its three tasks: `fruit` (7), `birds` (13), `unknown` (4, without relevance flags)."""
    return TASKS


@pytest.fixture
def make_env() -> Callable[..., DialogueEnv]:
    """Make an environment in which a character is a token, so lengths can be counted by eye."""

    def make(kind: type[DialogueEnv] = DialogueEnv, **settings: Any) -> DialogueEnv:
        return kind(Sums(), **{"tasks": TASKS, "tokenize": list, **settings})

    return make


@pytest.fixture
def start(make_env: Callable[..., DialogueEnv]) -> Callable[..., DialogueEnv]:
    """Start a task with solver_0, helper_0 and helper_1, and at most three rounds."""

    def begin(*, seed: int = 0, task: str = "fruit", **settings: Any) -> DialogueEnv:
        env = make_env(**{"team": {"solver": 1, "helper": 2}, "rounds": 3, **settings})
        env.reset(seed=seed, options={"task": task})
        return env

    return begin
