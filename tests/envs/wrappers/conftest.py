"""Small environments of several benchmarks with different kinds of messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from laconic import envs
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.task import Task

SETTINGS: dict[str, dict[str, Any]] = {
    # Many answers.
    "gsm8k": {"information": "split", "schedule": ["helper", "solver"], "topology": "star"},
    # Few answers; every agent answers, and most messages do not fit.
    "strategyqa": {
        "information": "full",
        "answer": "majority",
        "rounds": 3,
        "budget": {"message": 12, "episode": 40},
    },
    # Answers in LaTeX.
    "math": {"information": "split", "rounds": 3, "reward": {"price": 0.5}},
    # No statements and no answers, but drafts.
    "tldr": {"team": {"concise": 1, "detailed": 1}, "answer": "joint", "topology": "none"},
    # What numeric agents learn.
    "signal": {"information": "split", "schedule": ["helper", "solver"], "topology": "star"},
}
TASK = Task(
    key="own",
    question="What colour is the cup?",
    statements=("The ball is blue.", "The cup is red.", "The key is green."),
    answer="red",
    relevant=(False, True, False),
)


@pytest.fixture(params=SETTINGS)
def make_text(request: pytest.FixtureRequest) -> Callable[..., DialogueEnv]:
    """Make an environment of each benchmark."""
    name = request.param
    return lambda **more: envs.make(name, free=True, tasks=12, **(SETTINGS[name] | more))


@pytest.fixture
def make_signal() -> Callable[..., DialogueEnv]:
    """Make an environment with one task, a red cup, whose three helpers hold one statement each.

    A message of a statement has five tokens, an answer five, silence none.
    """

    def make(**more: Any) -> DialogueEnv:
        return DialogueEnv(
            envs.benchmark("signal"), (TASK,), **({**SETTINGS["signal"], "rounds": 3} | more)
        )

    return make
