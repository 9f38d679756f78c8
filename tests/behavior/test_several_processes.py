"""Trainings by several real processes (gloo): one run folder, one set of rows, one checkpoint.

They are started with what `accelerate launch` puts into the environment, and but once by it: it
imports everything again for each.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from fake_engine import FakeEngine
from places import ROOT
from safetensors.torch import load_file
from states import alike

from laconic import envs
from laconic.learners import checkpoint
from laconic.learners.agents.hf import HFTeam

pytestmark = pytest.mark.slow
Start = Callable[..., list[Any]]

FSDP = {
    "ACCELERATE_USE_FSDP": "true",
    "FSDP_VERSION": "2",
    "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP",
    "FSDP_RESHARD_AFTER_FORWARD": "true",
    "FSDP_CPU_RAM_EFFICIENT_LOADING": "false",
}


@pytest.fixture
def arguments(small: list[str]) -> list[str]:
    """Return overrides with three tasks per step, so that up to three processes have one each."""
    changed = [
        override
        for override in small
        if not override.startswith(("train.tasks_per_step", "train.steps"))
    ]
    return [
        *changed,
        "train.tasks_per_step=3",
        "train.steps=2",
        "learner.microbatch_tokens=400",
        "report=true",
    ]


@pytest.fixture
def start(together) -> Start:
    """Return a function that starts the processes of a training and returns them by rank."""
    return partial(together, "train")


def ends(started: Sequence[Any]) -> list[Any]:
    return [process.wait() for process in started]


def finished(started: Sequence[Any]) -> None:
    outcomes = ends(started)
    assert [outcome.code for outcome in outcomes] == [0] * len(outcomes), [
        outcome.err for outcome in outcomes
    ]
    # The main process alone speaks.
    assert outcomes[0].out.splitlines()[-1].startswith("report: ")
    assert all(outcome.out == "" for outcome in outcomes[1:])


def loaded(folder: Path, step: int) -> Mapping[str, torch.Tensor]:
    """Return the weights of a run's policy, as another program loads them."""
    policies = HFTeam(str(folder), step=step, device="cpu").policies(envs.make("signal", free=True))
    return next(iter(policies.values())).model.state_dict()


def weights(folder: Path) -> Any:
    return load_file(folder / "model.safetensors")


def test_two_processes_leave_one_run_that_any_number_goes_on_with(
    start, processes, arguments, tmp_path, rows, timeless
):
    # As when the clock strikes between their starts: each has a folder of its own name.
    folder, stray = tmp_path / "run", tmp_path / "stray"
    finished(start(2, *arguments, folders=(folder, stray)))
    assert not stray.exists()
    metrics = rows(folder / "metrics.jsonl")
    assert [row["step"] for row in metrics] == [0, 1, 2]
    # 3 tasks x 2 episodes x 4 agents, whoever played them.
    assert [row["learner/sequences"] for row in metrics[1:]] == [24.0, 24.0]
    assert [row["episodes"] for row in rows(folder / "evaluations.jsonl")] == [4, 4]
    transcripts = [row["task"] for row in rows(folder / "transcripts.jsonl")]
    assert len(transcripts) == 4 and transcripts[:2] == transcripts[2:]
    # The first update has one as well.
    checkpoints = sorted(path.name for path in (folder / "checkpoints").iterdir())
    assert checkpoints == ["step_00000001", "step_00000002"]
    assert len(list(folder.glob("events.*"))) == 1
    alone = tmp_path / "alone"
    assert processes.run("train", *arguments, f"hydra.run.dir={alone}").code == 0
    # The evaluation before training plays the same tasks greedily with the same weights.
    assert timeless(folder / "metrics.jsonl")[0] == timeless(alone / "metrics.jsonl")[0]
    more = [*arguments, "train.steps=4", "resume=true"]
    outcome = processes.run("train", *more, f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    finished(start(3, *arguments, "train.steps=6", "resume=true", folders=(folder,) * 3))
    assert [row["step"] for row in rows(folder / "metrics.jsonl")] == [0, 1, 2, 3, 4, 5, 6]
    # And the other way round: what one has begun, two go on with.
    finished(start(2, *more, folders=(alone,) * 2))
    assert [row["step"] for row in rows(alone / "metrics.jsonl")] == [0, 1, 2, 3, 4]


def test_weights_in_parts_learn_what_whole_ones_do_and_leave_whole_policies(
    start, processes, arguments, tmp_path, timeless
):
    arguments = [*arguments, "learner.objective.beta=0.1", "agent.sharing=separate"]
    arguments += ["optimizer.lr=1e-4", "evaluation.demand=2"]
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    finished(start(2, *arguments, folders=(whole,) * 2))
    finished(start(2, *arguments, folders=(parts,) * 2, environment=FSDP))
    pairs = zip(timeless(whole / "metrics.jsonl"), timeless(parts / "metrics.jsonl"), strict=True)
    for first, other in pairs:
        assert other == pytest.approx(first, rel=1e-3, abs=1e-5)
    for agent in ("helper_0", "solver_0"):
        state, right = (weights(folder / "policy" / agent) for folder in (whole, parts))
        assert state.keys() == right.keys()
        assert max(float((state[name] - right[name]).abs().max()) for name in state) < 1e-5
    # Each wrote its own; and one process goes on with them, and the parts with what it leaves.
    shards = parts / "checkpoints" / "step_00000002" / "shards"
    assert sorted(path.name for path in shards.iterdir()) == [
        ".metadata",
        "__0_0.distcp",
        "__1_0.distcp",
    ]
    more = [*arguments, "train.steps=3", "resume=true"]
    outcome = processes.run("train", *more, f"hydra.run.dir={parts}")
    assert outcome.code == 0, outcome.err
    longer = [*arguments, "train.steps=4", "resume=true"]
    finished(start(2, *longer, folders=(parts,) * 2, environment=FSDP))


def test_parts_are_resumed_bit_for_bit_after_a_kill_while_they_are_saved(
    start, arguments, tmp_path, timeless
):
    arguments = [
        *arguments,
        "train.checkpoint_every=1",
        "optimizer.lr=1e-4",
        "learner.objective.beta=0.1",
    ]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    finished(start(2, *arguments, folders=(whole,) * 2, environment=FSDP))
    # The second process is killed before its shards of the second step.
    wish = {"die": ("laconic.learners.distributed.sharding.write", 2, "before")}
    killed = start(2, *arguments, folders=(broken,) * 2, environment=FSDP, second=wish)
    assert [outcome.code for outcome in ends(killed)] == [1, -9]
    assert checkpoint.latest(broken / "checkpoints").name == "step_00000001"
    finished(start(2, *arguments, "resume=true", folders=(broken,) * 2, environment=FSDP))
    assert timeless(broken / "metrics.jsonl") == timeless(whole / "metrics.jsonl")
    state, right = (
        checkpoint.load(run / "checkpoints" / "step_00000002") for run in (whole, broken)
    )
    assert alike(state, right)
    weights_of = [(run / "policy" / "model.safetensors").read_bytes() for run in (whole, broken)]
    assert weights_of[0] == weights_of[1]
    assert sorted(path.name for path in (broken / "checkpoints").iterdir()) == [
        "step_00000001",
        "step_00000002",
    ]
    # Three go on with what two have left.
    more = [*arguments, "train.steps=3", "resume=true"]
    finished(start(3, *more, folders=(whole,) * 3, environment=FSDP))


def test_one_process_takes_the_weights_of_parts_by_the_name_of_their_run(
    start, run, arguments, tmp_path
):
    arguments = [*arguments, "train.checkpoint_every=1", "optimizer.lr=1e-4"]
    folder = tmp_path / "run"
    finished(start(2, *arguments, folders=(folder,) * 2, environment=FSDP))
    saved = weights(folder / "policy")
    # Without `policy/` their form is that of the model that the run began with.
    shutil.move(folder / "policy", tmp_path / "policy")
    for step, equal in ((2, True), (1, False)):
        loaded_state = loaded(folder, step)
        assert equal == all(torch.equal(loaded_state[name], saved[name]) for name in saved)
    remaining = [argument for argument in arguments if argument.startswith(("env.", "evaluation."))]
    outcome = run("evaluate", *remaining, f"run={folder}", "step=1")
    assert outcome.code == 0, outcome.err


def test_a_process_that_is_killed_takes_the_others_with_it_and_the_run_goes_on(
    start, arguments, tmp_path, rows
):
    folder = tmp_path / "run"
    each = [*arguments, "train.checkpoint_every=1"]
    wish = {"die": ("laconic.experiments.train.update", 2, "before")}
    killed = start(2, *each, folders=(folder,) * 2, second=wish)
    assert killed[1].wait().code == -9
    start_time = time.monotonic()
    outcome = killed[0].wait()
    assert outcome.code == 1 and time.monotonic() - start_time < 60
    assert outcome.err.strip().startswith("error: another process of this run ended")
    assert json.loads((folder / "status.json").read_text())["state"] == "failed"
    assert [row["step"] for row in rows(folder / "metrics.jsonl")] == [0, 1]
    finished(start(2, *each, "resume=true", folders=(folder,) * 2))
    assert [row["step"] for row in rows(folder / "metrics.jsonl")] == [0, 1, 2]


def test_a_process_that_is_asked_to_stop_lets_all_end_the_step_and_save(
    start, arguments, tmp_path, rows
):
    folder = tmp_path / "run"
    wish = {"die": ("laconic.experiments.train.update", 1, "before"), "number": signal.SIGTERM}
    first, second = ends(start(2, *arguments, folders=(folder,) * 2, second=wish))
    assert (first.code, second.code) == (128 + signal.SIGINT, 128 + signal.SIGTERM)
    status = json.loads((folder / "status.json").read_text())
    assert (status["state"], status["processes"]) == ("interrupted", 2)
    assert [row["step"] for row in rows(folder / "metrics.jsonl")] == [0, 1]
    assert (folder / "checkpoints" / "step_00000001").exists()
    assert "resume with" in first.out and second.out == ""


def test_all_processes_end_if_a_callback_stops_one(start, arguments, outside, tmp_path, rows):
    folder = tmp_path / "run"
    target = "callbacks.enough._target_=one_stops.OneStops"
    finished(start(2, *arguments, target, folders=(folder,) * 2, path=[str(outside)]))
    status = json.loads((folder / "status.json").read_text())
    assert (status["state"], status["ended_by"]) == ("finished", "callbacks.enough")
    metrics = rows(folder / "metrics.jsonl")
    assert [row["step"] for row in metrics] == [0, 1] and "eval/score" in metrics[1]


def test_what_the_main_process_refuses_ends_all_and_is_said_once(start, arguments, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "metrics.jsonl").touch()
    first, second = ends(start(2, *arguments, folders=(folder,) * 2))
    assert first.code == second.code == 1
    assert "already holds a run" in first.err
    assert second.err == ""


def test_accelerate_launch_starts_two_where_its_own_settings_are_those_of_the_clone(
    arguments, tmp_path, rows
):
    settings, folder = tmp_path / "home" / "accelerate", tmp_path / "run"
    settings.mkdir(parents=True)
    shutil.copy(ROOT / "experiments" / "launch" / "cpu.yaml", settings / "default_config.yaml")
    launch = [Path(sys.executable).with_name("accelerate"), "launch", "--num_processes", "2"]
    train = ["-m", "laconic.experiments.train", *arguments, "train.steps=1"]
    train.append(f"hydra.run.dir={folder}")
    environment = os.environ | {"HF_HOME": str(settings.parent), "OMP_NUM_THREADS": "1"}
    subprocess.run([*launch, *train], cwd=ROOT, env=environment, check=True, timeout=300)
    status = json.loads((folder / "status.json").read_text())
    assert (status["state"], status["processes"]) == ("finished", 2)
    assert [row["step"] for row in rows(folder / "metrics.jsonl")] == [0, 1]


@pytest.mark.parametrize(
    ("sharing", "environment"), [("lora", {}), ("shared", {}), ("shared", FSDP)]
)
def test_two_processes_play_by_one_server_and_are_as_sure_of_its_weights_as_one(
    sharing, environment, start, arguments, policy_folder, tmp_path, rows
):
    server, folder = FakeEngine(policy_folder), tmp_path / "run"
    engine = ["engine=vllm", f"engine.url={server.url}", f"agent.sharing={sharing}"]
    try:
        finished(start(2, *arguments, *engine, folders=(folder,) * 2, environment=environment))
    finally:
        server.kill()
    records = rows(folder / "metrics.jsonl")
    assert [row["step"] for row in records] == [0, 1, 2]
    assert all(row["engine/probe_distance"] < 1e-5 for row in records[1:])
    taught = [row["learner/mismatch_max"] for row in records if "learner/mismatch_max" in row]
    assert taught and max(taught) < 1e-4
    # Every version was loaded once, by the main process.
    loads = [path["lora_name"] for path in server.paths("/load_lora_adapter")]
    assert len(loads) == len(set(loads)) == (12 if sharing == "lora" else 0)
    reloads = [path["kwargs"]["weights_path"] for path in server.paths("/collective_rpc")]
    # The server has the first weights, and one version is of each update.
    assert len(reloads) == len(set(reloads)) == (2 if sharing == "shared" else 0)
