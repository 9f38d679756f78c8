"""A run whose policies agree without content ends in order, and continues on request alone.

The policies are real, and untrained. The figures of a collapse replace those of their votes.
"""

from __future__ import annotations

import json

import pytest

from laconic.extras.methods import consensus
from laconic.extras.methods.consensus import Consensus

VOTERS = ["experiment=rlccf", "~env.team.helper"]
APART, CONSTANT = (0.5, 1.8, 2.0), (0.95, 1.1, 0.2)
observe = Consensus.observe


@pytest.fixture
def collapsing(run, small, tmp_path, monkeypatch):
    """Run a training in `tmp_path/run` that collapses in update 2 of 4."""

    def observe_collapse(rule, step, row):
        names = ("agreement", "effective_voters", "elected_entropy")
        assert {f"train/{name}" for name in names} <= row.keys() or step == 0
        figures = zip(names, CONSTANT if step > 1 else APART, strict=True)
        collapse = {f"train/{name}": value for name, value in figures}
        return observe(rule, step, collapse if step else {})

    monkeypatch.setattr(Consensus, "observe", observe_collapse)
    monkeypatch.setattr(consensus, "WINDOW", 1)
    settings = (*small, *VOTERS, "train.evaluate_every=null", f"hydra.run.dir={tmp_path / 'run'}")
    return lambda *more: run("train", *settings, *more)


def test_a_run_that_agrees_without_content_ends_and_says_so(collapsing, tmp_path, rows):
    outcome = collapsing()
    assert outcome.code == 0, outcome.err
    folder = tmp_path / "run"
    # It is seen in update 2, which has no evaluation, so update 3 is the last one.
    assert "agreement without content at step 2" in outcome.out + outcome.err
    assert "learner.collective.guard=stop ended the run after 3 updates" in outcome.out
    written = rows(folder / "metrics.jsonl")
    assert [row["step"] for row in written] == [0, 1, 2, 3] and "eval/accuracy" in written[3]
    status = json.loads((folder / "status.json").read_text())
    assert (status["state"], status["step"]) == ("finished", 3)
    assert status["ended_by"] == "learner.collective.guard"
    assert (folder / "checkpoints" / "step_00000003").is_dir()
    # Resumed as it is, it stays; told only to warn, it continues.
    before = (folder / "metrics.jsonl").read_bytes()
    again = collapsing("resume=true")
    assert again.code == 0, again.err
    assert (folder / "metrics.jsonl").read_bytes() == before
    assert json.loads((folder / "status.json").read_text())["ended_by"] == status["ended_by"]
    longer = collapsing("resume=true", "learner.collective.guard=warn")
    assert longer.code == 0, longer.err
    assert rows(folder / "metrics.jsonl")[-1]["step"] == 4
    assert "ended_by" not in json.loads((folder / "status.json").read_text())


def test_a_run_killed_before_the_last_evaluation_of_the_guard_takes_one_update(
    collapsing, tmp_path, rows
):
    assert collapsing().code == 0
    folder = tmp_path / "run"
    for path in (folder / "checkpoints" / "step_00000003").iterdir():
        path.unlink()
    (folder / "checkpoints" / "step_00000003").rmdir()
    resumed = collapsing("resume=true")
    assert resumed.code == 0, resumed.err
    assert [row["step"] for row in rows(folder / "metrics.jsonl")] == [0, 1, 2, 3]


def test_a_guard_that_warns_ends_no_run(collapsing, tmp_path, rows):
    outcome = collapsing("learner.collective.guard=warn")
    assert outcome.code == 0 and "agreement without content" in outcome.out + outcome.err
    assert rows(tmp_path / "run" / "metrics.jsonl")[-1]["step"] == 4
