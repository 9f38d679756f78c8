"""Trainings whose replies servers sample: the same program, the same run folder, the same end."""

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
from omegaconf import OmegaConf
from states import alike

from laconic.learners import checkpoint

LORA = ["agent.sharing=lora", "agent.lora.rank=4", "engine=vllm", "engine.patience_seconds=20"]
SOON = "engine.patience_seconds=0.2"


@pytest.fixture(scope="module")
def server(policy_folder):
    found = FakeEngine(policy_folder)
    yield found
    found.kill()


@pytest.fixture(scope="module")
def arguments(small, server):
    return [*small, *LORA, f"engine.url={server.url}"]


@pytest.fixture(scope="module")
def served(run, arguments, tmp_path_factory):
    """A training of four steps with an engine that nothing disturbed."""
    folder = tmp_path_factory.mktemp("served") / "run"
    outcome = run("train", *arguments, f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    return folder


def last(folder):
    return checkpoint.load(checkpoint.latest(folder / "checkpoints"))


def entries_of(folder):
    """Rows of a comparison without their seconds."""
    entries = json.loads((folder / "comparison.json").read_text())["entries"]
    for one in entries:
        one["figures"].pop("seconds", None)
    return {one["name"]: one for one in entries}


def figures(rows):
    """Rows without what no two runs have in common, and without what servers were asked again."""
    return [
        {name: value for name, value in row.items() if not name.startswith(("engine/", "time/"))}
        for row in rows
    ]


def test_a_training_says_how_far_the_engine_was_and_leaves_nothing_on_it(served, rows, server):
    found = rows(served / "metrics.jsonl")[1:]
    assert len(found) == 4
    assert all(row["engine/staleness"] == row["engine/dropped_groups"] == 0 for row in found)
    assert all(row["engine/probe_distance"] < 1e-5 for row in found)
    taught = [row for row in found if "learner/mismatch_max" in row]
    assert taught and all(0 < row["learner/mismatch_max"] < 1e-4 for row in taught)
    assert all(row["learner/masked_share"] == 0 for row in taught)
    assert server.adapters == {} and not any((served / "engine").iterdir())
    assert len(list((served / "policy").iterdir())) > 1


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_bit_for_bit(served, arguments, processes, timeless, tmp_path):
    folder = tmp_path / "run"
    place = f"hydra.run.dir={folder}"
    # In the third step, when the first checkpoint is there.
    kill = ("laconic.learners.engines.served.Served.sync", 6, "after")
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
        # Two steps are under way at a time, each in environments of its own.
        (2, [0.0, 1.0, 2.0, 2.0]),
    ],
)
@pytest.mark.slow
def test_playing_ahead_trains_on_weights_that_lag_by_no_more_than_was_allowed(
    most, lags, run, arguments, rows, tmp_path
):
    folder = tmp_path / "run"
    outcome = run("train", *arguments, f"engine.max_staleness={most}", f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    found = rows(folder / "metrics.jsonl")[1:]
    assert [row["engine/staleness"] for row in found] == lags
    assert all(row["engine/dropped_groups"] == 0 for row in found)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["refuse", "half", "stale", "base"])
def test_a_sync_that_fails_ends_the_run_with_the_reason_and_what_was_trained_is_kept(
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
    words = {"stale": "speaks with the version before", "base": "speaks with the base"}
    assert words.get(fault, "no room for the adapter") in failed.message
    assert run("train", *arguments, place, "resume=true").code == 0
    assert alike(last(folder), last(served))


@pytest.mark.slow
def test_a_server_that_is_killed_and_started_again_in_mid_training_changes_nothing(
    run, arguments, server, served, timeless, tmp_path, rows
):
    folder, begun = tmp_path / "run", len(server.asked)

    def disturb():
        for count in (60, 150):
            while len(server.asked) < begun + count:
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


@pytest.mark.slow
def test_a_run_from_before_there_were_engines_is_gone_on_with_bit_for_bit(
    run, small, trained, timeless, tmp_path
):
    folder = tmp_path / "run"
    shutil.copytree(trained[0], folder)
    shutil.rmtree(folder / "checkpoints" / "step_00000004")
    saved = OmegaConf.load(folder / "config.yaml")
    del saved["engine"]
    for name in ("correction", "correction_low", "correction_high", "decay"):
        del saved["learner"][name]
    OmegaConf.save(saved, folder / "config.yaml")
    outcome = run("train", *small, "resume=true", f"hydra.run.dir={folder}", "report=true")
    assert outcome.code == 0, outcome.err
    assert "goes on with other settings" not in outcome.out
    assert timeless(folder / "metrics.jsonl") == timeless(trained[0] / "metrics.jsonl")
    assert alike(last(folder), last(trained[0]))


def test_an_evaluation_of_a_run_is_played_by_an_engine(run, served, server, rows, tmp_path):
    folder = tmp_path / "evaluation"
    given = ["evaluation.tasks=4", f"run={served}", f"hydra.run.dir={folder}", "threads=1"]
    before = len(server.paths("/v1/completions"))
    outcome = run("evaluate", *given, "engine=vllm", f"engine.url={server.url}")
    assert outcome.code == 0, outcome.err
    assert len(server.paths("/v1/completions")) > before
    own = tmp_path / "own"
    assert run("evaluate", *given[:2], f"hydra.run.dir={own}", "threads=1").code == 0
    # Greedy replies are the same, whoever gives them.
    assert rows(folder / "metrics.jsonl") == rows(own / "metrics.jsonl")


@pytest.mark.slow
def test_a_comparison_is_played_by_an_engine_and_its_rows_are_the_same(
    run, server, policy_folder, tmp_path
):
    given = [f"agent.model={policy_folder}", "entry=[team,single,silent]", "evaluation.tasks=3"]
    given += ["agent.speech.max_reply_tokens=8", "threads=1"]
    found, before = {}, len(server.paths("/v1/completions"))
    for name, engine in {"own": [], "vllm": [f"engine.url={server.url}"]}.items():
        folder = tmp_path / name
        outcome = run("compare", *given, f"engine={name}", *engine, f"hydra.run.dir={folder}")
        assert outcome.code == 0, outcome.err
        found[name] = entries_of(folder)
    asked = len(server.paths("/v1/completions"))
    assert asked > before
    assert found["vllm"] == found["own"] and set(found["own"]) == {"team", "single", "silent"}
    # The scripted entry asks nobody.
    outcome = run(
        "compare", *given, "entry=[silent]", "engine=vllm", f"hydra.run.dir={tmp_path / 'silent'}"
    )
    assert outcome.code == 0 and len(server.paths("/v1/completions")) == asked


@pytest.mark.slow
def test_a_run_starts_a_server_of_its_own_and_takes_it_along(run, small, tmp_path, rows):
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
    ("given", "word"),
    [
        (["engine.url=http://127.0.0.1:9", SOON], "Start the server first, with"),
        (["engine.start=true", "engine.program=no-such"], "engine.program='no-such'"),
        (["+engine.top_p=0.9"], "drawn from the whole distribution"),
        (["agent.sharing=separate"], "a server holds one base"),
        (["engine.max_staleness=1", "learner.credit=silence"], "set engine.max_staleness=0"),
        (["learner.correction=token_mask"], "take sequence_truncate"),
        (["engine.concurrency=0"], "engine.concurrency"),
    ],
)
def test_what_cannot_be_is_refused_in_words(given, word, run, arguments, tmp_path):
    outcome = run("train", *arguments, *given, f"hydra.run.dir={tmp_path / 'run'}")
    assert outcome.code == 1 and word in " ".join(outcome.message.split())
