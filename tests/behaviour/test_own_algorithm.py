"""A user's algorithm, outside the package, in the training program as a user would run it.

It is that of docs/bring_your_own.md.
"""

from __future__ import annotations

import pytest

CHOICE = ["~learner", "+learner._target_=my_package.BestOfGroup"]


@pytest.fixture
def own(small):
    """The usual small run with the user's algorithm in place of ours."""
    return [*CHOICE, *(one for one in small if not one.startswith("learner."))]


def test_it_is_chosen_by_its_target_and_trains_with_metrics_checkpoints_and_evaluation(
    run, own, my_package, tmp_path, rows
):
    folder = tmp_path / "run"
    outcome = run("train", *own, f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    metrics = rows(folder / "metrics.jsonl")
    assert [row["step"] for row in metrics] == [0, 1, 2, 3, 4]
    assert all(row["learner/imitated"] >= 0.0 for row in metrics[1:])
    assert any(row.get("learner/loss") for row in metrics[1:])
    assert "eval/accuracy" in metrics[-1] and (folder / "checkpoints").exists()


def test_it_has_settings_of_its_own(run, own, my_package, tmp_path, rows):
    folder = tmp_path / "run"
    # No episode beats its group by so much.
    wanted = [*own, "+learner.margin=100", "train.steps=1"]
    outcome = run("train", *wanted, f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.err
    assert rows(folder / "metrics.jsonl")[-1]["learner/imitated"] == 0.0


@pytest.mark.slow
def test_its_run_is_resumed_as_if_it_had_never_stopped(run, own, my_package, tmp_path, timeless):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert run("train", *own, f"hydra.run.dir={whole}").code == 0
    assert run("train", *own, "train.steps=2", f"hydra.run.dir={parts}").code == 0
    again = run("train", *own, "resume=true", f"hydra.run.dir={parts}")
    assert again.code == 0, again.err
    assert timeless(parts / "metrics.jsonl") == timeless(whole / "metrics.jsonl")


def test_what_it_refuses_is_said_of_its_config_key(run, own, my_package, tmp_path):
    outcome = run("train", *own, "agent.sharing=separate", f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 1
    assert "BestOfGroup trains one shared policy; set agent.sharing=shared" in outcome.err
