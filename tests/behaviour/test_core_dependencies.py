"""The core trains without the packages of extras, and names missing parts in one line."""

from __future__ import annotations

import json
import subprocess
import sys

BLOCKED = ("matplotlib", "PIL", "tensorboard", "math_verify", "scipy")
"""Packages that come with the extras `pictures`, `tensorboard`, `math` and `test`."""

PROGRAM = f"""
import sys
for name in {BLOCKED}:
    sys.modules[name] = None
from laconic.experiments.command_line.console import main
main()
"""


def laconic(*arguments, cwd):
    """Run a program with the packages blocked."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, cwd=cwd
    )


def test_a_training_on_the_default_config_leaves_pictures_and_events_out(small, tmp_path):
    sizes = [text for text in small if not text.startswith(("report=", "train.steps="))]
    folder = tmp_path / "run"
    ended = laconic("train", "train.steps=1", *sizes, f"hydra.run.dir={folder}", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    for package, extra in (("tensorboard is missing", "tensorboard"), ("matplotlib", "pictures")):
        notes = [line for line in lines if package in line and f"laconic[{extra}]" in line]
        assert len(notes) == 1, ended.stdout
    assert json.loads((folder / "status.json").read_text())["state"] == "finished"
    page = (folder / "report.html").read_text()
    assert "Before and after" in page and "<img" not in page
    assert list((folder / "report").iterdir()) == []


def test_an_environment_that_needs_an_extra_names_it(tmp_path):
    ended = laconic("evaluate", "env=math", "agent=scripted", cwd=tmp_path)
    assert ended.returncode == 1 and ended.stderr.count("\n") == 1
    assert "needs the package math-verify: pip install 'laconic[math]'" in ended.stderr
    assert list(tmp_path.iterdir()) == []
