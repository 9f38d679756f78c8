"""Runs that share a folder: each learns from what the others played before."""

from __future__ import annotations

import json
import os
import shutil

import pytest


@pytest.fixture
def sharing(small, tmp_path):
    """Overrides of a node of one swarm, with two steps and a checkpoint after each."""
    steps = ["train.steps=2", "train.checkpoint_every=1", "train.evaluate_every=null"]
    return [*small, *steps, "learner=swarm", f"learner.collect.folder={tmp_path / 'swarm'}"]


@pytest.mark.slow
def test_the_second_run_learns_from_the_first_and_goes_on_where_it_was(
    run, sharing, tmp_path, rows, timeless
):
    first, second, cut = (tmp_path / name for name in ("first", "second", "cut"))
    for seed, folder in ((0, first), (1, second)):
        outcome = run("train", *sharing, f"seed={seed}", f"hydra.run.dir={folder}")
        assert outcome.code == 0, outcome.err
    alone, taught = (rows(folder / "metrics.jsonl")[1:] for folder in (first, second))
    # Two tasks a step, one of which may come from elsewhere.
    assert [row["learner/foreign_groups"] for row in alone] == [0.0, 0.0]
    assert sum(row["learner/foreign_groups"] for row in taught) > 0.0
    assert all(row["learner/own_groups"] + row["learner/foreign_groups"] == 2.0 for row in taught)
    assert all(row["learner/steps"] > 0 for row in (*alone, *taught))
    assert sorted(path.name for path in (tmp_path / "swarm").iterdir()) == ["node_0", "node_1"]
    # As if it had been killed after its first checkpoint; the other's files are as they were.
    shutil.copytree(second, cut)
    shutil.rmtree(cut / "checkpoints" / "step_00000002")
    outcome = run("train", *sharing, "seed=1", "resume=true", f"hydra.run.dir={cut}")
    assert outcome.code == 0, outcome.err
    assert timeless(cut / "metrics.jsonl") == timeless(second / "metrics.jsonl")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["learner.credit=silence"], "choose learner.credit=own, team or outcome"),
        (["learner.collect.own=0"], "learner.collect.own must be"),
        (["learner.collect.name=a/b"], "collect.name must be letters"),
    ],
)
def test_a_node_that_cannot_work_is_refused_at_the_start(run, sharing, tmp_path, settings, message):
    outcome = run("train", *sharing, *settings, f"hydra.run.dir={tmp_path / 'run'}")
    assert outcome.code == 1
    assert message in outcome.message
    assert not (tmp_path / "run" / "metrics.jsonl").exists()


def test_a_swarm_without_a_folder_says_what_is_missing(run, small, tmp_path):
    outcome = run("train", *small, "learner=swarm", f"hydra.run.dir={tmp_path / 'run'}")
    assert outcome.code == 1
    assert "learner.collect.folder" in outcome.message


def spoil(folder):
    """Files that crash, hang or exhaust a naive reader."""
    folder.mkdir(parents=True)
    (folder / "itself.json").symlink_to("itself.json")
    (folder / "endless.json").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.json")
    (folder / "sparse.json").touch()
    os.truncate(folder / "sparse.json", 20 << 30)
    (folder / "deep.json").write_text("[" * 100_000)
    whole = {"form": "laconic-swarm-1", "benchmark": "gsm8k", "agents": [], "episodes": [[], []]}
    (folder / "long.json").write_text(json.dumps({**whole, "task": {"key": 10**400}, "seed": 1}))
    return len(list(folder.iterdir()))


def test_a_run_among_garbage_ends_and_goes_on(run, sharing, tmp_path, rows):
    count = spoil(tmp_path / "swarm" / "node_9")
    command = ["train", *sharing, f"hydra.run.dir={tmp_path / 'run'}"]
    for more in (["train.steps=1"], ["train.steps=2", "resume=true"]):
        outcome = run(*command, *more)
        assert outcome.code == 0, outcome.err
    figures = rows(tmp_path / "run" / "metrics.jsonl")[1:]
    assert [row["learner/damaged_files"] for row in figures] == [count, count]
    assert [row["learner/own_groups"] for row in figures] == [2.0, 2.0]
