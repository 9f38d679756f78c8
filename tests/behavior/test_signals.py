"""A program that is asked to stop reacts within seconds, whatever it is waiting for."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from laconic.experiments.command_line import lock
from laconic.learners import checkpoint

SOON = 30.0
"""Seconds from a signal to the end, of which a busy machine takes the most."""
EVALUATED, STEP = 4, 4
"""Episodes of an evaluation, and of a training step."""


@pytest.fixture
def stuck(small, outside, tmp_path):
    """Return the overrides of a run whose environment hangs after some episodes."""

    def overrides(well: int, slow: bool = False) -> list[str]:
        mark = f"+env.mark={tmp_path}/stuck"
        return [
            *(override for override in small if not override.startswith("env.")),
            "env._target_=stuck.Stuck",
            mark,
            f"+env.well={well}",
            f"+env.slow={str(slow).lower()}",
            "logger=none",
            "train.checkpoint_every=10",
        ]

    return overrides


@pytest.fixture
def interrupted(processes, outside, tmp_path):
    """Return a function that starts a program, waits until it hangs, and sends it a signal."""

    def run(*command, how, number):
        wishes = {"environment": {"STUCK": how}, "patience": 0.2, "path": [str(outside)]}
        started = processes.start(*command, **wishes)
        until = time.monotonic() + 120
        while not (tmp_path / "stuck").exists():
            assert time.monotonic() < until, started.err.read_text()
            time.sleep(0.02)
        os.kill(started.pid, number)
        start_time = time.monotonic()
        ended = started.wait(120)
        assert ended.code == 128 + number, ended.err
        assert ended.err.endswith("interrupted\n") and "Traceback" not in ended.err
        assert time.monotonic() - start_time < SOON
        return ended

    return run


def status(folder):
    result = json.loads((folder / "status.json").read_text())
    return result["state"], result["step"]


@pytest.mark.parametrize(
    ("how", "slow", "number"),
    [
        # In threads, as environments that wait for other processes are stepped.
        ("grade", True, signal.SIGINT),
        # As below, where an evaluation hangs.
        pytest.param("sleep", False, signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param("endless", False, signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("sleep", True, signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("grade", False, signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_a_rollout_that_hangs_is_cut_off_and_no_step_is_lost(
    interrupted, processes, outside, stuck, tmp_path, rows, timeless, how, slow, number
):
    folder, whole = tmp_path / "run", tmp_path / "whole"
    # Hangs in its second step, long before a checkpoint is due.
    command = ["train", *stuck(EVALUATED + STEP, slow), "train.evaluate_every=null"]
    ended = interrupted(*command, f"hydra.run.dir={folder}", how=how, number=number)
    assert status(folder) == ("interrupted", 1)
    assert f"resume with: laconic train resume={folder}" in ended.out
    assert checkpoint.latest(folder / "checkpoints").name == "step_00000001"
    assert not lock.is_held(folder)
    for path in (folder, whole):
        completed = processes.run(
            *command, f"hydra.run.dir={path}", "resume=true", path=[str(outside)]
        )
        assert completed.code == 0, completed.err
    assert timeless(folder / "metrics.jsonl") == timeless(whole / "metrics.jsonl")


@pytest.mark.slow
def test_an_evaluation_that_hangs_is_cut_off_and_the_run_can_go_on(
    interrupted, processes, outside, stuck, tmp_path, rows
):
    folder = tmp_path / "run"
    command = ["train", *stuck(EVALUATED + 2 * STEP), f"hydra.run.dir={folder}"]
    interrupted(*command, how="sleep", number=signal.SIGTERM)
    # The second step is not done without its evaluation.
    assert status(folder) == ("interrupted", 1)
    assert processes.run(*command, "resume=true", path=[str(outside)]).code == 0
    assert [row["step"] for row in rows(folder / "metrics.jsonl")] == [0, 1, 2, 3, 4]


def test_an_evaluation_by_itself_keeps_what_was_played(
    interrupted, processes, outside, stuck, tmp_path, rows
):
    folder = tmp_path / "run"
    # One more begins for the prompt that is shown.
    remaining = [
        override
        for override in stuck(3)
        if override.split(".")[0] in ("agent", "env", "+env", "threads=1")
    ]
    command = ["evaluate", *remaining, "evaluation.tasks=6", "evaluation.batch=2"]
    command.append(f"hydra.run.dir={folder}")
    interrupted(*command, how="sleep", number=signal.SIGTERM)
    assert status(folder)[0] == "interrupted"
    assert len(rows(folder / "episodes.jsonl")) == 2
    assert processes.run(*command, "resume=true", path=[str(outside)]).code == 0
    assert len(rows(folder / "episodes.jsonl")) == 6


@pytest.mark.slow
def test_a_sweep_ends_with_the_job_that_was_interrupted(
    interrupted, processes, outside, stuck, tmp_path
):
    folder = tmp_path / "sweep"
    command = ["train", "-m", *stuck(EVALUATED), "seed=0,1", f"hydra.sweep.dir={folder}"]
    interrupted(*command, how="sleep", number=signal.SIGTERM)
    assert status(folder / "0") == ("interrupted", 0)
    assert not (folder / "1").exists()
    completed = processes.run(*command, "resume=true", path=[str(outside)])
    assert completed.code == 0, completed.err
    assert {status(folder / job) for job in "01"} == {("finished", 4)}


@pytest.mark.parametrize("program", ["train", "evaluate"])
def test_an_environment_that_never_ends_is_an_error_that_names_the_key(
    run, stuck, tmp_path, monkeypatch, program
):
    monkeypatch.setenv("STUCK", "endless")
    remaining = [
        override
        for override in stuck(0)
        if program == "train" or override.split(".")[0] in ("agent", "env", "+env", "threads=1")
    ]
    if program == "evaluate":
        remaining += ["evaluation.tasks=2", "evaluation.batch=2"]
    ended = run(program, *remaining, "env.max_rounds=7", f"hydra.run.dir={tmp_path}/run")
    assert ended.code == 1
    assert "did not end within env.max_rounds=7 rounds; let Stuck end" in ended.message
    assert "raise env.max_rounds" in ended.message
    # It ended before its first row, so nothing of the run is left.
    assert not (tmp_path / "run").exists()
