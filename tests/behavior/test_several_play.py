"""Evaluations and comparisons by several real processes (gloo): the same figures, one folder."""

from __future__ import annotations

import json

import pytest
from fake_engine import FakeEngine

pytestmark = pytest.mark.slow


@pytest.fixture
def arguments(policy_folder):
    return [
        f"agent.model={policy_folder}",
        "agent.sampling.max_reply_tokens=8",
        "evaluation.tasks=7",
        "evaluation.batch=3",
        "threads=1",
    ]


@pytest.fixture
def engine(policy_folder, request):
    """Settings of an engine; of servers, one of ours that is up."""
    if request.param == "own":
        yield ["engine=own"]
        return
    server = FakeEngine(policy_folder)
    yield ["engine=vllm", f"engine.url={server.url}"]
    assert server.paths("/v1/completions")
    server.kill()


def finished(started):
    outcomes = [process.wait() for process in started]
    assert [outcome.code for outcome in outcomes] == [0] * len(outcomes), [
        outcome.err for outcome in outcomes
    ]
    # The main process alone speaks.
    assert outcomes[0].out and all(outcome.out == "" for outcome in outcomes[1:])


def entries_of(folder):
    entries = json.loads((folder / "comparison.json").read_text())["entries"]
    for entry in entries:
        entry["figures"].pop("seconds", None)
    return entries


@pytest.mark.parametrize("engine", ["own", "vllm"], indirect=True)
def test_two_processes_evaluate_as_one_does(
    engine, together, processes, arguments, tmp_path, timeless, rows
):
    alone, folder, stray = (tmp_path / name for name in ("alone", "run", "stray"))
    assert processes.run("evaluate", *arguments, f"hydra.run.dir={alone}").code == 0
    finished(together("evaluate", 2, *arguments, *engine, folders=(folder, stray)))
    assert not stray.exists()
    assert timeless(folder / "metrics.jsonl") == timeless(alone / "metrics.jsonl")
    assert sorted(row["place"] for row in rows(folder / "episodes.jsonl")) == [*range(7)]
    assert json.loads((folder / "status.json").read_text())["state"] == "finished"


def test_an_evaluation_of_two_of_which_one_is_killed_is_gone_on_with_by_one(
    together, processes, arguments, tmp_path, timeless, rows
):
    alone, folder = tmp_path / "alone", tmp_path / "run"
    assert processes.run("evaluate", *arguments, f"hydra.run.dir={alone}").code == 0
    wish = {"die": ("laconic.experiments.evaluate.play", 2, "before")}
    first, second = together("evaluate", 2, *arguments, folders=(folder,) * 2, second=wish)
    assert (first.wait().code, second.wait().code) == (1, -9)
    places = {row["place"] for row in rows(folder / "episodes.jsonl")}
    # The first batch of three as a whole, and what the main process played of the second.
    assert {0, 1, 2} <= places and len(places) < 7
    finished([processes.start("evaluate", *arguments, "resume=true", f"hydra.run.dir={folder}")])
    assert timeless(folder / "metrics.jsonl") == timeless(alone / "metrics.jsonl")


def test_sampled_replies_of_two_processes_are_drawn_apart_and_again_the_same(
    together, arguments, tmp_path, timeless
):
    sampled = [*arguments, "evaluation.greedy=false", "evaluation.samples=2", "env.tasks=4"]
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        finished(together("evaluate", 2, *sampled, folders=(folder,) * 2))
    first, second = (timeless(folder / "metrics.jsonl") for folder in folders)
    assert first == second


@pytest.mark.parametrize("engine", ["own", "vllm"], indirect=True)
def test_two_processes_compare_as_one_does(engine, together, processes, arguments, tmp_path):
    alone, folder, stray = (tmp_path / name for name in ("alone", "run", "stray"))
    arguments = [*arguments, "entry=[team,single,silent]"]
    assert processes.run("compare", *arguments, f"hydra.run.dir={alone}").code == 0
    finished(together("compare", 2, *arguments, *engine, folders=(folder, stray)))
    assert entries_of(folder) == entries_of(alone) and not stray.exists()


def test_an_entry_that_fails_is_a_row_and_the_next_is_played_by_both(together, arguments, tmp_path):
    folder = tmp_path / "run"
    entries = ["entry=[team,silent]", "engine=vllm", "engine.url=http://127.0.0.1:9"]
    entries += ["engine.patience_seconds=0.2"]
    started = together("compare", 2, *arguments, *entries, folders=(folder,) * 2)
    first, second = (process.wait() for process in started)
    assert (first.code, second.code) == (1, 1)
    states = {path["name"]: path["state"] for path in entries_of(folder)}
    assert states == {"team": "failed", "silent": "finished"}
    assert "Start the server first" in first.out + first.err
