"""A run that is killed, stopped or out of disk goes on as if nothing had happened.

The reference is the session's undisturbed training: four steps, an evaluation and a checkpoint at
every second one. Disturbed runs live in processes of their own.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from omegaconf import OmegaConf
from places import ROOT
from states import alike

from laconic.learners import checkpoint

# Function, which of its calls, and whether to die before it, after it or half-way.
DURING_THE_ROLLOUT = ("laconic.learners.agents.hf.HFPolicy.reply", 9, "before")
BETWEEN_MINIBATCHES = ("laconic.learners.training.trainer.Trainer._step", 6, "after")
IN_THE_FIRST_EVALUATION = ("laconic.learners.agents.hf.HFPolicy.reply", 2, "before")
IN_A_ROW = ("laconic.experiments.run_folder.folder._append", 10, "torn")
IN_AN_EVALUATION_ROW = ("laconic.experiments.run_folder.folder._append", 5, "torn")
BETWEEN_EVALUATION_AND_TRANSCRIPTS = (
    "laconic.experiments.run_folder.folder.RunFolder.append_transcripts",
    3,
    "before",
)
BETWEEN_TRANSCRIPTS_AND_METRICS = (
    "laconic.experiments.run_folder.folder.RunFolder.append_metrics",
    3,
    "before",
)
BEFORE_A_CHECKPOINT = ("laconic.learners.checkpoint.save", 2, "before")
BEFORE_ITS_MANIFEST = ("laconic.learners.checkpoint._sha256", 2, "before")
BEFORE_IT_IS_IN_PLACE = ("laconic.learners.checkpoint._put_in_place", 1, "before")
ONCE_IT_IS_IN_PLACE = ("laconic.learners.checkpoint._put_in_place", 2, "after")
BEFORE_THE_FIRST_CHECKPOINT = (
    "laconic.experiments.run_folder.folder.RunFolder.append_metrics",
    2,
    "after",
)
WHILE_THE_POLICY_IS_SAVED = ("laconic.learners.agents.hf.HFPolicy.save", 1, "before")
BEFORE_THE_REPORT = ("laconic.extras.report.write.write_report", 1, "before")

# Rows of two steps are there that no checkpoint has.
QUICK = [BEFORE_ITS_MANIFEST]
SLOW = [
    DURING_THE_ROLLOUT,
    BETWEEN_EVALUATION_AND_TRANSCRIPTS,
    IN_A_ROW,
    BETWEEN_MINIBATCHES,
    IN_THE_FIRST_EVALUATION,
    IN_AN_EVALUATION_ROW,
    BETWEEN_TRANSCRIPTS_AND_METRICS,
    BEFORE_A_CHECKPOINT,
    BEFORE_IT_IS_IN_PLACE,
    ONCE_IT_IS_IN_PLACE,
    BEFORE_THE_FIRST_CHECKPOINT,
    WHILE_THE_POLICY_IS_SAVED,
    BEFORE_THE_REPORT,
]


@pytest.fixture
def assert_equal(trained, timeless):
    """Fails where a folder differs from that of the undisturbed run in anything but seconds."""

    def call(folder: Path, steps: int = 4) -> None:
        reference, _ = trained
        for name in ("metrics.jsonl", "evaluations.jsonl", "transcripts.jsonl"):
            assert timeless(folder / name) == timeless(reference / name), name
        weights = Path("policy", "model.safetensors")
        assert (folder / weights).read_bytes() == (reference / weights).read_bytes()
        result, expected = (
            checkpoint.load(place / "checkpoints" / f"step_{steps:08d}")
            for place in (folder, reference)
        )
        assert alike(result, expected)
        status = json.loads((folder / "status.json").read_text())
        assert status == json.loads((reference / "status.json").read_text())

    return call


@pytest.mark.parametrize(
    "die", [*QUICK, *(pytest.param(moment, marks=pytest.mark.slow) for moment in SLOW)]
)
def test_a_killed_run_resumes_and_ends_bit_for_bit_like_one_that_was_not(
    processes, small, tmp_path, assert_equal, die
):
    report = f"report={str(die == BEFORE_THE_REPORT).lower()}"
    command = ["train", *small, report, f"hydra.run.dir={tmp_path}/run"]
    assert processes.run(*command, die=die).code == -signal.SIGKILL
    resumed = processes.run(*command, "resume=true")
    assert resumed.code == 0, resumed.err
    assert_equal(tmp_path / "run")


def test_a_run_killed_after_its_first_update_goes_on_from_there_and_says_so(
    processes, small, tmp_path, assert_equal
):
    folder = tmp_path / "run"
    command = ["train", *small, f"hydra.run.dir={folder}"]
    # The rows are of steps 0, 1 and 2; checkpoints are due after every second update.
    append = "laconic.experiments.run_folder.folder.RunFolder.append_metrics"
    assert processes.run(*command, die=(append, 1, "after")).code == -signal.SIGKILL
    assert json.loads((folder / "status.json").read_text())["step"] == 0
    again = processes.run(*command, "resume=true", die=(append, 3, "after"))
    assert again.code == -signal.SIGKILL
    words = "resume=true: there is no checkpoint yet, so the run begins at its start\n"
    assert words in again.out
    assert json.loads((folder / "status.json").read_text())["step"] == 1
    resumed = processes.run(*command, "resume=true")
    assert resumed.code == 0, resumed.err
    assert "continues after update 1 of 4; 1 later updates are made again\n" in resumed.out
    assert_equal(folder)


@pytest.mark.slow
def test_a_run_may_be_killed_again_and_again(processes, small, tmp_path, assert_equal):
    command = ["train", *small, f"hydra.run.dir={tmp_path}/run"]
    first = processes.run(*command, die=IN_A_ROW)
    second = processes.run(*command, "resume=true", die=BEFORE_IT_IS_IN_PLACE)
    third = processes.run(*command, "resume=true", die=WHILE_THE_POLICY_IS_SAVED)
    assert {first.code, second.code, third.code} == {-signal.SIGKILL}
    assert processes.run(*command, "resume=true").code == 0
    assert_equal(tmp_path / "run")


def test_a_damaged_checkpoint_is_passed_over(run, trained, small, tmp_path, assert_equal):
    shutil.copytree(trained[0], tmp_path / "run")
    state = tmp_path / "run" / "checkpoints" / "step_00000004" / "state.pt"
    state.write_bytes(state.read_bytes()[:-100])
    resumed = run("train", *small, f"hydra.run.dir={tmp_path}/run", "resume=true")
    assert resumed.code == 0
    assert "step_00000004 is damaged and passed over" in resumed.err
    steps = [line for line in resumed.out.splitlines() if line.startswith("step ")]
    assert steps[0].startswith("step 3/4")
    assert_equal(tmp_path / "run")


@pytest.mark.slow
def test_warnings_before_a_kill_are_kept_and_not_given_twice(processes, small, tmp_path):
    command = ["train", *small, "learner.minibatches=1", f"hydra.run.dir={tmp_path}/run"]
    assert processes.run(*command, die=IN_A_ROW).code == -signal.SIGKILL
    assert processes.run(*command, "resume=true").code == 0
    (warning,) = json.loads((tmp_path / "run" / "status.json").read_text())["warnings"]
    assert warning.startswith("step 3: every importance ratio of the last 3 updates is 1")


@pytest.mark.parametrize(
    ("number", "call", "step"),
    [
        # A rollout of two rounds has two calls, and so has an evaluation of four tasks.
        (signal.SIGINT, 9, 3),
        pytest.param(signal.SIGTERM, 4, 1, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, 1, 0, marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_a_run_with_a_checkpoint_and_a_report_and_it_can_go_on(
    processes, small, tmp_path, assert_equal, number, call, step
):
    folder = tmp_path / "run"
    command = ["train", *small, "report=true", f"hydra.run.dir={folder}"]
    moment = ("laconic.learners.agents.hf.HFPolicy.reply", call, "before")
    ended = processes.run(*command, die=moment, number=number)
    assert ended.code == 128 + number
    assert ended.err.endswith("interrupted\n") and "Traceback" not in ended.err
    status = json.loads((folder / "status.json").read_text())
    assert status.pop("version")
    assert status == {"state": "interrupted", "step": step, "processes": 1, "warnings": []}
    assert checkpoint.latest(folder / "checkpoints").name == f"step_{step:08d}"
    assert len(rows_of(folder / "metrics.jsonl")) == step + 1
    assert f"report: {folder}/report.html" in ended.out and (folder / "report.html").exists()
    assert (folder / "policy" / "model.safetensors").exists()
    assert f"resume with: laconic train resume={folder}" in ended.out
    resumed = processes.run(*command, "resume=true", "report=false")
    assert resumed.code == 0, resumed.err
    assert_equal(folder)


@pytest.mark.slow
def test_a_signal_in_the_last_step_comes_too_late_to_leave_anything_undone(
    processes, small, tmp_path, assert_equal
):
    moment = ("laconic.learners.agents.hf.HFPolicy.reply", 13, "before")
    command = ["train", *small, f"hydra.run.dir={tmp_path}/run"]
    assert processes.run(*command, die=moment, number=signal.SIGINT).code == 130
    assert_equal(tmp_path / "run")


def rows_of(path: Path) -> list[str]:
    """Whole lines of a file that is being written."""
    return path.read_text().split("\n")[:-1]


def test_resuming_a_finished_run_leaves_it_as_it_is(run, trained, small, tmp_path, assert_equal):
    folder = tmp_path / "run"
    shutil.copytree(trained[0], folder)
    before = {
        name: (folder / name).read_bytes()
        for name in ("metrics.jsonl", "evaluations.jsonl", "transcripts.jsonl")
    }
    outcome = run("train", *small, f"hydra.run.dir={folder}", "resume=true")
    assert outcome.code == 0, outcome.err
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert_equal(folder)


def test_a_finished_run_can_be_made_longer(run, trained, small, tmp_path, timeless):
    short, long = tmp_path / "short", tmp_path / "long"
    shutil.copytree(trained[0], short)
    longer = ["train", *small, "train.steps=6"]
    assert run(*longer, f"hydra.run.dir={short}", "resume=true").code == 0
    assert run(*longer, f"hydra.run.dir={long}").code == 0
    for name in ("metrics.jsonl", "evaluations.jsonl", "transcripts.jsonl"):
        assert timeless(short / name) == timeless(long / name)
    assert json.loads((short / "status.json").read_text())["step"] == 6
    assert OmegaConf.load(short / "config.yaml").train.steps == 6


@pytest.mark.slow
def test_the_folder_alone_is_enough_to_go_on_with_a_run(processes, trained, tmp_path, timeless):
    folder = tmp_path / "run"
    shutil.copytree(trained[0], folder)
    for name in ("report.html", "policy/model.safetensors"):
        (folder / name).unlink()
    (folder / "status.json").write_text('{"state": "killed", "step": 4}')
    longer = processes.run("train", f"resume={folder}", "train.steps=5", "threads=2")
    assert longer.code == 0, longer.err
    changed = "threads: was 1, now 2; train.steps: was 4, now 5"
    assert f"continues with other settings: {changed}\n" in longer.out
    steps = [json.loads(row)["step"] for row in rows_of(folder / "metrics.jsonl")]
    assert steps == [0, 1, 2, 3, 4, 5]
    assert timeless(folder / "metrics.jsonl")[:3] == timeless(trained[0] / "metrics.jsonl")[:3]
    assert (folder / "policy" / "model.safetensors").exists()
    # What was typed to go on is now what the run was started with.
    again = processes.run("train", f"resume={folder}")
    assert again.code == 0 and "other settings" not in again.out, again.err


def test_a_folder_that_is_not_there_begins_no_run(run, tmp_path):
    outcome = run("train", f"resume={tmp_path}/rnu")
    assert outcome.code == 1 and "there is no such folder" in outcome.message
    assert list(tmp_path.iterdir()) == []


def test_a_run_cannot_be_made_shorter_than_it_is(run, trained, small, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(trained[0], folder)
    before = (folder / "metrics.jsonl").read_bytes()
    outcome = run("train", *small, "train.steps=3", f"hydra.run.dir={folder}", "resume=true")
    assert outcome.code == 1
    assert "train.steps must be at least the 4 steps that the run in" in outcome.message
    assert "got 3" in outcome.message
    assert (folder / "metrics.jsonl").read_bytes() == before
    assert json.loads((folder / "status.json").read_text())["state"] == "finished"


def test_resuming_with_another_configuration_names_the_keys_that_differ(
    run, trained, small, tmp_path
):
    folder = tmp_path / "run"
    shutil.copytree(trained[0], folder)
    before = {path: path.read_bytes() for path in folder.glob("*.jsonl")}
    command = ["train", *small, f"hydra.run.dir={folder}", "resume=true"]
    outcome = run(*command, "seed=3", "env.reward.price=0.25", "logger=none", "train.steps=5")
    assert outcome.code == 1
    differing = [line for line in outcome.message.splitlines() if line.startswith("  ")]
    # The learner's seed follows the run's; the number of steps and the loggers may change.
    assert differing == [
        "  env.reward.price: was 0.12, now 0.25",
        "  seed: was 0, now 3",
    ]
    assert {path: path.read_bytes() for path in before} == before


def test_a_folder_with_a_run_is_not_overwritten(run, trained, small, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(trained[0], folder)
    before = (folder / "metrics.jsonl").read_bytes()
    outcome = run("train", *small, "seed=1", f"hydra.run.dir={folder}")
    assert outcome.code == 1
    assert "already holds a run; pass resume=true to continue it" in outcome.message
    assert (folder / "metrics.jsonl").read_bytes() == before


def test_a_command_that_failed_at_once_may_be_mended_and_resumed(
    run, small, tmp_path, assert_equal
):
    command = ["train", *small, f"hydra.run.dir={tmp_path}/run"]
    assert run(*command, "agent.model=/nowhere").code == 1
    # The folder holds a configuration but no row, so there is nothing that it could spoil.
    outcome = run(*command, "resume=true")
    assert outcome.code == 0, outcome.err
    assert_equal(tmp_path / "run")


@pytest.mark.slow
def test_a_full_disk_during_a_checkpoint_loses_nothing(
    processes, small, tmp_path, assert_equal, rows
):
    folder = tmp_path / "run"
    command = ["train", *small, "logger=none", f"hydra.run.dir={folder}"]
    assert processes.run(*command, "train.steps=2").code == 0
    first = checkpoint.latest(folder / "checkpoints")
    before = (first / "state.pt").read_bytes()
    # No file may grow beyond half a checkpoint: the rows fit, the checkpoint does not.
    limit = len(before) // 2
    assert (folder / "metrics.jsonl").stat().st_size * 3 < limit
    full = processes.run(*command, "resume=true", limit=limit)
    assert full.code == 1
    assert "checkpoint of step 4 not written to" in full.message
    assert "Earlier checkpoints are untouched" in full.message and "resume=true" in full.message
    assert [row["step"] for row in rows(folder / "metrics.jsonl")] == [0, 1, 2, 3, 4]
    assert (first / "state.pt").read_bytes() == before
    names = sorted(path.name for path in (folder / "checkpoints").iterdir())
    assert names == ["step_00000001", "step_00000002"]
    assert json.loads((folder / "status.json").read_text())["state"] == "failed"
    assert processes.run(*command, "resume=true").code == 0
    assert_equal(folder)


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(3))
def test_a_run_killed_at_random_moments_ends_like_one_that_was_not(
    small, tmp_path, assert_equal, attempt
):
    generator = random.Random(attempt)
    command = [
        sys.executable,
        "-m",
        "laconic.experiments.train",
        *small,
        f"hydra.run.dir={tmp_path}/run",
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    metrics = tmp_path / "run" / "metrics.jsonl"
    for _ in range(3):
        child = subprocess.Popen(
            [*command, "resume=true"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        lines = len(rows_of(metrics)) if metrics.exists() else 0
        until = time.monotonic() + 60
        while child.poll() is None and time.monotonic() < until:
            if (tmp_path / "run" / "config.yaml").exists() and (
                len(rows_of(metrics)) if metrics.exists() else 0
            ) >= min(lines, 4):
                break
            time.sleep(0.01)
        time.sleep(generator.uniform(0.0, 0.6))
        child.kill()
        child.wait()
    completed = subprocess.run([*command, "resume=true"], cwd=ROOT, env=environment, check=False)
    assert completed.returncode == 0
    assert_equal(tmp_path / "run")
