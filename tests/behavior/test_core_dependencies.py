"""The core trains without the packages of extras, and names missing parts in one line."""

from __future__ import annotations

import ast
import json
import subprocess
import sys

import pytest
from places import ROOT

from laconic.extras.report import look

FLOORS = ("envs", "learners", "experiments")
BLOCKED = ("matplotlib", "PIL", "tensorboard", "math_verify", "scipy")
"""Packages that come with the extras `pictures`, `tensorboard`, `math` and `test`."""

PACKAGES = {
    "antlr4",
    "farama_notifications",
    "gymnasium",
    "hydra",
    "omegaconf",
    "pettingzoo",
    "rich",
}
"""Packages that the default run imports beyond those of torch and a model of transformers."""

FIRST_STEP = """
import os, sys
import transformers.models.llama.modeling_llama
before = {*sys.modules}
from laconic.experiments import train
from laconic.experiments.command_line.console import main
def stop(run, step):
    print(*{*sys.modules} - before, flush=True)
    os._exit(0)
train.update = stop
main()
"""

PROGRAM = f"""
import sys
for name in {BLOCKED}:
    sys.modules[name] = None
from laconic.experiments.command_line.console import main
main()
"""


def imported_at_once(body):
    """Yield the packages that statements import when a module is loaded."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Try | ast.With | ast.ClassDef):
            yield from imported_at_once(node.body)


def test_no_module_of_the_core_imports_an_extra_when_it_is_loaded():
    paths = [path for floor in FLOORS for path in (ROOT / floor).rglob("*.py")]
    assert len(paths) > 200
    needy = {
        path.name
        for path in paths
        if {*imported_at_once(ast.parse(path.read_text("utf-8")).body)} & {*BLOCKED}
    }
    # The grader of math, which is loaded when it is used.
    assert needy == {"verify.py"}


@pytest.fixture
def blocked(monkeypatch):
    """Make the packages of extras impossible to import."""
    for name in BLOCKED:
        monkeypatch.setitem(sys.modules, name, None)
    # Another test may have loaded what imports `tensorboard`.
    for name in [name for name in sys.modules if name.startswith("torch.utils.tensorboard")]:
        monkeypatch.delitem(sys.modules, name)
    look.can_draw.cache_clear()
    yield
    look.can_draw.cache_clear()


def laconic(*arguments, cwd):
    """Run a program with the packages blocked."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, cwd=cwd
    )


def training(small, folder):
    """Return the arguments of a short training with a report."""
    sizes = [text for text in small if not text.startswith(("report=", "train.steps="))]
    return ["train", "train.steps=1", *sizes, f"hydra.run.dir={folder}"]


def assert_pictures_and_events_left_out(output, folder):
    lines = output.splitlines()
    for package, extra in (("tensorboard is missing", "tensorboard"), ("matplotlib", "pictures")):
        notes = [line for line in lines if package in line and f"laconic-marl[{extra}]" in line]
        assert len(notes) == 1, output
    assert json.loads((folder / "status.json").read_text())["state"] == "finished"
    page = (folder / "report.html").read_text()
    assert "Before and after" in page and "<img" not in page
    assert list((folder / "report").iterdir()) == []


def test_a_training_on_the_default_config_leaves_pictures_and_events_out(
    run, blocked, small, tmp_path
):
    outcome = run(*training(small, tmp_path / "run"))
    assert outcome.code == 0, outcome.err
    assert_pictures_and_events_left_out(outcome.out, tmp_path / "run")


@pytest.mark.slow
def test_a_process_without_the_extras_trains(small, tmp_path):
    ended = laconic(*training(small, tmp_path / "run"), cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert_pictures_and_events_left_out(ended.stdout, tmp_path / "run")


def test_nothing_but_what_it_uses_is_imported_before_the_first_step(tmp_path):
    # The package of the events is an extra, which the default run takes where it is installed.
    sizes = ("env.tasks=20", "train.tasks_per_step=2", "evaluation.tasks=2", "logger=none")
    started = subprocess.run(
        [sys.executable, "-c", FIRST_STEP, "train", *sizes, "threads=1"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    imported = started.stdout.splitlines()[-1].split()
    assert "laconic.learners.algorithms.group" in imported, started.stderr
    tops = {name.partition(".")[0] for name in imported} - sys.stdlib_module_names
    # Parts of it may be loaded late, as the tokenizers of a kind of model.
    assert tops - {"laconic", "tokenizers", "transformers"} == PACKAGES
    parts = [name.split(".") for name in imported if name.startswith("laconic.")]
    assert {part[3] for part in parts if part[1:3] == ["envs", "library"] and part[3:]} == {"gsm8k"}
    # What an evaluation measures, and what is asked whether it belongs to the run.
    extras = {".".join(part[2:]) for part in parts if part[1] == "extras" and part[3:]}
    later = {name for name in extras if not name.startswith(("analysis", "methods"))}
    assert later == {"report.callbacks", "share.callback"}
    assert not [name for name in imported if name.startswith(("torch.", "scipy"))]


def test_an_environment_that_needs_an_extra_names_it(tmp_path):
    ended = laconic("evaluate", "env=math", "agent=scripted", cwd=tmp_path)
    assert ended.returncode == 1 and ended.stderr.count("\n") == 1
    assert "needs the package math-verify: pip install 'laconic-marl[math]'" in ended.stderr
    assert list(tmp_path.iterdir()) == []
