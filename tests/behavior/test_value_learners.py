"""The learners with a critic in the training program: two steps, what they log, going on."""

from __future__ import annotations

import math

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["ippo", "mappo"])
def test_two_steps_are_logged_and_a_longer_run_goes_on_from_them(
    run, small, rows, timeless, tmp_path, learner
):
    chosen = [*small, f"learner={learner}", "logger=none", "train.evaluate_every=null"]
    folder = tmp_path / "run"
    outcome = run("train", *chosen, "train.steps=2", f"hydra.run.dir={folder}")
    assert outcome.code == 0, outcome.message
    records = rows(folder / "metrics.jsonl")
    assert [row["step"] for row in records] == [0, 1, 2]
    for row in records[1:]:
        assert row["learner/steps"] == 2.0 and row["learner/skipped_steps"] == 0.0
        assert math.isfinite(row["learner/value_loss"]) and "learner/clip_fraction" in row
    # A third step, once from the checkpoint and once without a break.
    longer = [*chosen, "train.steps=3"]
    for path, resume in ((folder, "true"), (tmp_path / "whole", "false")):
        outcome = run("train", *longer, f"resume={resume}", f"hydra.run.dir={path}")
        assert outcome.code == 0, outcome.message
    resumed, whole = (timeless(path / "metrics.jsonl") for path in (folder, tmp_path / "whole"))
    assert resumed[3] == whole[3] and resumed[1] == whole[1]
