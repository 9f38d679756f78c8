"""Settings of a launcher, read from the environment."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from places import ROOT

from laconic.learners.distributed import launcher

NAMES = ("WORLD_SIZE", "LOCAL_RANK", "RANK", "ACCELERATE_MIXED_PRECISION")


@pytest.mark.parametrize(
    ("variables", "started", "rank"),
    [
        ({}, 1, 0),
        # A scheduler's own variables start nobody: torch's launchers always say a local rank.
        ({"WORLD_SIZE": "4", "RANK": "2"}, 1, 0),
        ({"WORLD_SIZE": "1", "RANK": "0", "LOCAL_RANK": "0"}, 1, 0),
        ({"WORLD_SIZE": "4", "RANK": "2", "LOCAL_RANK": "0"}, 4, 2),
    ],
)
def test_processes_are_those_that_a_launcher_names(monkeypatch, variables, started, rank):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (launcher.started(), launcher.rank()) == (started, rank)
    assert not launcher.left_alone()


@pytest.mark.parametrize("gpus", (False, True))
def test_one_process_of_accelerate_is_alone_where_there_is_no_gpu(monkeypatch, gpus):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "no")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus)
    assert launcher.left_alone() != gpus
    for name, value in (("WORLD_SIZE", "2"), ("RANK", "0"), ("LOCAL_RANK", "0")):
        monkeypatch.setenv(name, value)
    assert not launcher.left_alone()


def test_a_program_can_ask_before_it_imports_torch():
    code = "import sys, laconic.learners.distributed.launcher; print('torch' in sys.modules)"
    completed = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert completed.stdout.strip() == "False"
