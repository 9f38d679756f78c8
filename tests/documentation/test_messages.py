"""Commands in messages come from one function, and every call of it is listed and composes here."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from places import ROOT

from laconic.envs import names
from laconic.experiments.command_line import programs
from laconic.learners.commands import command as written

PACKAGES = ("envs", "learners", "experiments", "extras")
_TYPED = re.compile(rf"laconic ({'|'.join(programs.names())}) [\w./]+=")

CALLS = {
    ("experiments/command_line/resuming.py", "evaluate"): [{"run": "<folder>"}],
    ("experiments/command_line/resuming.py", "program"): [{"resume": "<folder>"}],
    ("experiments/session/early.py", "evaluate"): [{"agent": "scripted"}],
    ("experiments/session/header.py", "train"): [
        {"env": name, "agent.model": "<folder>"} for name in names()
    ],
    ("experiments/session/header.py", "warm-start"): [
        {"env": name, "threads": 1, "hydra.run.dir": "<folder>"} for name in names()
    ],
    ("experiments/session/setup.py", "evaluate"): [{"agent": "scripted"}],
    ("extras/analysis/prediction.py", "evaluate"): [
        {"env.information": "split", "env.budget.message": 24, "evaluation.samples": 4},
        {"env.information": "full", "env.rounds": 1, "env.schedule": "all"},
    ],
    ("extras/benchmark/card.py", "card"): [{}],
    ("extras/init/write.py", "train"): [{"learner": "grpo"}],
    ("extras/interop/export.py", "evaluate"): [{"evaluation.tokens": True}],
    ("learners/rollout/collectors/demonstrations.py", "evaluate"): [
        {"evaluation.split": "train", "evaluation.tasks": 1000}
    ],
}
"""File and program of each call of `command` -> the overrides that it is called with."""


@pytest.fixture(scope="module")
def files() -> dict[str, ast.Module]:
    """Return the syntax tree of each file of the packages."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text("utf-8")) for path in paths}


def calls(files: dict[str, ast.Module]) -> Iterator[tuple[str, str]]:
    """Yield the file and the program of each call; a program that is no literal by its name."""
    for name, tree in files.items():
        imported = "laconic.learners.commands" in (
            getattr(node, "module", "") for node in ast.walk(tree)
        )
        for node in ast.walk(tree):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called == "commands.command" or (called == "command" and imported):
                if name == "experiments/command_line/resuming.py" and called == "command":
                    continue
                program = node.args[0]
                yield name, str(program.value if isinstance(program, ast.Constant) else program.id)


def lines_with_commands(tree: ast.Module) -> set[int]:
    """Return the lines on which texts begin that spell a command with a setting."""
    return {
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and _TYPED.search(node.value)
    }


def docstrings(tree: ast.Module) -> set[int]:
    """Return the lines on which texts begin that no program says."""
    return {
        node.value.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def test_every_call_is_listed(files):
    assert set(calls(files)) == set(CALLS)


def test_no_message_spells_a_command_by_itself(files):
    # The list of programs shows an example of a sweep.
    spelled = [
        (name, line)
        for name, tree in files.items()
        if name != "experiments/command_line/console.py"
        for line in lines_with_commands(tree) - docstrings(tree)
    ]
    assert spelled == []


@pytest.mark.parametrize(
    ("program", "overrides"),
    [
        ("train" if program == "program" else program, overrides)
        for (_, program), listed in CALLS.items()
        for overrides in listed
    ],
    ids=str,
)
def test_every_command_of_a_message_composes(command, check_program, program, overrides):
    filled = {key: "folder" if value == "<folder>" else value for key, value in overrides.items()}
    check_program(command(shlex.split(written(program, **filled))), Path("."))
