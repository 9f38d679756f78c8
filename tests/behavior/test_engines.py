"""Runs whose replies are sampled by servers: same program, same run folder, same results."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from fake_engine import FakeEngine
from states import alike

from laconic.learners import checkpoint

LORA = ["agent.sharing=lora", "agent.lora.rank=4", "engine=vllm", "engine.patience_seconds=20"]
SOON = "engine.patience_seconds=0.2"


@pytest.fixture(scope="module")
def server(policy_folder):
    engine = FakeEngine(policy_folder)
    yield engine
    engine.kill()


@pytest.fixture(scope="module")
def arguments(small, server):
    return [*small, *LORA, f"engine.url={server.url}"]


@pytest.fixture(scope="module")
def served(run, arguments, tmp_path_factory):
    """Return the run folder of four training steps with an undisturbed engine."""
    folder = tmp_path_factory.mktemp("served") / "run"
    outcome = run("train", *arguments, f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    return folder


def last(folder):
    return checkpoint.load(checkpoint.latest(folder / "checkpoints"))


def entries_of(folder):
    """Return the rows of a comparison by name, without their seconds."""
    entries = json.loads((folder / "comparison.json").read_text())["entries"]
    for entry in entries:
        entry["figures"].pop("seconds", None)
    return {entry["name"]: entry for entry in entries}


def figures(rows):
    """Return rows without times and request counts, which differ from run to run."""
    return [
        {name: value for name, value in row.items() if not name.startswith(("engine/", "time/"))}
        for row in rows
    ]


def test_a_run_reports_the_mismatch_and_leaves_nothing_on_the_server(served, rows, server):
    steps = rows(served / "metrics.jsonl")[1:]
    assert len(steps) == 4
    assert all(row["engine/staleness"] == row["engine/dropped_groups"] == 0 for row in steps)
    assert all(row["engine/probe_distance"] < 1e-5 for row in steps)
    updated = [row for row in steps if "learner/mismatch_max" in row]
    assert updated and all(0 < row["learner/mismatch_max"] < 1e-4 for row in updated)
    assert all(row["learner/masked_share"] == 0 for row in updated)
    assert server.adapters == {} and not any((served / "engine").iterdir())
    assert len(list((served / "policy").iterdir())) > 1


@pytest.mark.slow
def test_a_run_that_is_killed_resumes_bit_for_bit(served, arguments, processes, timeless, tmp_path):
    folder = tmp_path / "run"
    place = f"hydra.run.dir={folder}"
    # In the third step, after the first checkpoint.
    kill = ("laconic.learners.engines.served.ServedEngine.sync", 6, "after")
    killed = processes.run("train", *arguments, place, die=kill)
    assert killed.code == -signal.SIGKILL
    again = processes.run("train", *arguments, place, "resume=true")
    assert again.code == 0, again.err
    assert figures(timeless(folder / "metrics.jsonl")) == figures(
        timeless(served / "metrics.jsonl")
    )
    assert alike(last(folder), last(served))


@pytest.mark.parametrize(
    ("most", "lags"),
    [
        (1, [0.0, 1.0, 1.0, 1.0]),
        # Two steps are rolled out at a time, each in its own environments.
        (2, [0.0, 1.0, 2.0, 2.0]),
    ],
)
@pytest.mark.slow
def test_rollouts_ahead_of_updates_lag_by_no_more_than_the_staleness(
    most, lags, run, arguments, rows, tmp_path
):
    folder = tmp_path / "run"
    outcome = run("train", *arguments, f"engine.max_staleness={most}", f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    steps = rows(folder / "metrics.jsonl")[1:]
    assert [row["engine/staleness"] for row in steps] == lags
    assert all(row["engine/dropped_groups"] == 0 for row in steps)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["refuse", "half", "stale", "base"])
def test_a_failed_sync_ends_the_run_with_the_reason_and_keeps_its_checkpoints(
    fault, run, arguments, server, served, tmp_path
):
    folder = tmp_path / "run"
    place = f"hydra.run.dir={folder}"
    shutil.copytree(served, folder)
    shutil.rmtree(folder / "checkpoints" / "step_00000004")
    server.sync_fault = fault
    try:
        failed = run("train", *arguments, place, "resume=true")
    finally:
        server.sync_fault = ""
    assert failed.code == 1
    words = {"stale": "samples with the version before", "base": "samples with the base"}
    assert words.get(fault, "no room for the adapter") in failed.message
    assert run("train", *arguments, place, "resume=true").code == 0
    assert alike(last(folder), last(served))


@pytest.mark.slow
def test_a_server_that_is_restarted_during_training_changes_nothing(
    run, arguments, server, served, timeless, tmp_path, rows
):
    folder, request_count = tmp_path / "run", len(server.asked)

    def disturb():
        for count in (60, 150):
            while len(server.asked) < request_count + count:
                time.sleep(0.005)
            server.kill()
            time.sleep(0.2)
            server.start()

    thread = threading.Thread(target=disturb)
    thread.start()
    outcome = run("train", *arguments, f"hydra.run.dir={folder}")
    thread.join()
    assert outcome.code == 0, outcome.err
    assert figures(timeless(folder / "metrics.jsonl")) == figures(
        timeless(served / "metrics.jsonl")
    )
    assert alike(last(folder), last(served))


def test_an_evaluation_of_a_run_samples_by_an_engine(run, served, server, rows, tmp_path):
    folder = tmp_path / "evaluation"
    settings = ["evaluation.tasks=4", f"run={served}", f"hydra.run.dir={folder}", "threads=1"]
    before = len(server.paths("/v1/completions"))
    outcome = run("evaluate", *settings, "engine=vllm", f"engine.url={server.url}")
    assert outcome.code == 0, outcome.err
    assert len(server.paths("/v1/completions")) > before
    own = tmp_path / "own"
    assert run("evaluate", *settings[:2], f"hydra.run.dir={own}", "threads=1").code == 0
    # Greedy replies are the same for every engine.
    assert rows(folder / "metrics.jsonl") == rows(own / "metrics.jsonl")


@pytest.mark.slow
def test_a_comparison_by_an_engine_has_the_same_rows(run, server, policy_folder, tmp_path):
    settings = [f"agent.model={policy_folder}", "entry=[team,single,silent]", "evaluation.tasks=3"]
    settings += ["agent.sampling.max_reply_tokens=8", "threads=1"]
    entries, before = {}, len(server.paths("/v1/completions"))
    for name, engine in {"own": [], "vllm": [f"engine.url={server.url}"]}.items():
        folder = tmp_path / name
        outcome = run("compare", *settings, f"engine={name}", *engine, f"hydra.run.dir={folder}")
        assert outcome.code == 0, outcome.err
        entries[name] = entries_of(folder)
    request_count = len(server.paths("/v1/completions"))
    assert request_count > before
    assert entries["vllm"] == entries["own"]
    assert set(entries["own"]) == {"team", "single", "silent"}
    # The scripted entry sends no request.
    outcome = run(
        "compare",
        *settings,
        "entry=[silent]",
        "engine=vllm",
        f"hydra.run.dir={tmp_path / 'silent'}",
    )
    assert outcome.code == 0 and len(server.paths("/v1/completions")) == request_count


@pytest.mark.slow
def test_a_run_starts_its_own_server_and_ends_it(run, small, tmp_path, rows):
    folder = tmp_path / "run"
    script = Path(__file__).parents[1] / "support" / "fake_engine.py"
    program = tmp_path / "vllm"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {script} "$@"\n', "utf-8")
    program.chmod(0o755)
    outcome = run(
        "train", *small, *LORA, "engine.start=true", f"engine.program={program}", "train.steps=1",
        f"hydra.run.dir={folder}",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert rows(folder / "metrics.jsonl")[-1]["engine/requests"] > 0
    assert (folder / "engine" / "server.log").exists()
    with os.popen("ps -eo args") as running:
        assert str(folder) not in running.read() and str(program) not in running.read()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["engine.url=http://127.0.0.1:9", SOON], "Start the server first, with"),
        (["engine.start=true", "engine.program=no-such"], "engine.program='no-such'"),
        (["+engine.top_p=0.9"], "sampled from the whole distribution"),
        (["agent.sharing=separate"], "a server holds one base model"),
        (["engine.max_staleness=1", "learner.credit=silence"], "set engine.max_staleness=0"),
        (["learner.correction=token_mask"], "take sequence_truncate"),
        (["engine.concurrency=0"], "engine.concurrency"),
    ],
)
def test_settings_that_cannot_work_are_refused(overrides, message, run, arguments, tmp_path):
    outcome = run("train", *arguments, *overrides, f"hydra.run.dir={tmp_path / 'run'}")
    assert outcome.code == 1 and message in " ".join(outcome.message.split())
