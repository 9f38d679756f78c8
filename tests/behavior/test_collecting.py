"""Runs whose episodes are more than independent plays: replays and trees of candidates."""

from __future__ import annotations

import shutil

import pytest

REPLAYS = "learner/replays"


@pytest.fixture
def quick(small):
    """Overrides of a training of two steps with a checkpoint after each."""
    return [*small, "train.steps=2", "train.checkpoint_every=1", "train.evaluate_every=null"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    [
        "learner.credit=silence",
        "learner.credit=shapley",
        "learner=at_grpo",
        "learner=c3",
        "learner/collect=contrast",
    ],
)
def test_a_run_trains_and_goes_on_bit_for_bit(run, quick, tmp_path, rows, timeless, setting):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    outcome = run("train", *quick, setting, f"hydra.run.dir={whole}")
    assert outcome.code == 0, outcome.err
    trained = rows(whole / "metrics.jsonl")[1:]
    assert all(row["learner/steps"] > 0 for row in trained)
    assert all((REPLAYS in row) is ("contrast" not in setting) for row in trained)
    # As if it had been killed after its first checkpoint.
    shutil.copytree(whole, cut)
    shutil.rmtree(cut / "checkpoints" / "step_00000002")
    outcome = run("train", *quick, setting, "resume=true", f"hydra.run.dir={cut}")
    assert outcome.code == 0, outcome.err
    assert timeless(cut / "metrics.jsonl") == timeless(whole / "metrics.jsonl")
    weights = [folder / "policy" / "model.safetensors" for folder in (whole, cut)]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_groups_without_contrast_are_refilled_up_to_the_limit(run, quick, tmp_path, rows):
    # Random weights solve nothing, and without a price nothing tells their episodes apart.
    settings = ["learner/collect=contrast", "learner.collect.extra=3", "env.reward.price=0"]
    outcome = run("train", *quick, *settings, f"hydra.run.dir={tmp_path / 'run'}")
    assert outcome.code == 0, outcome.err
    for row in rows(tmp_path / "run" / "metrics.jsonl")[1:]:
        assert (row["learner/extra_groups"], row["learner/refilled_groups"]) == (3.0, 0.0)
        assert row["learner/groups_without_contrast"] == 1.0


def test_a_measure_can_be_set_up_by_hand(run, quick, tmp_path, rows):
    outcome = run(
        "train",
        *quick,
        "train.steps=1",
        "learner.credit=shapley",
        "+learner.collect._target_=laconic.learners.rollout.collectors.counterfactual.shapley",
        "+learner.collect.samples=1",
        "+learner.collect.greedy=false",
        f"hydra.run.dir={tmp_path / 'run'}",
    )
    assert outcome.code == 0, outcome.err
    assert rows(tmp_path / "run" / "metrics.jsonl")[1][REPLAYS] > 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["learner=at_grpo", "agent=scripted"], "choose agent=tiny or agent=hf"),
        (["learner=at_grpo", "learner.unit=episode"], "learner.unit=reply"),
        (
            ["learner/collect=contrast", "learner.credit=silence"],
            "choose learner.credit=own or team",
        ),
        (
            ["learner/collect=contrast", "learner/price=target_tokens"],
            "choose learner/price=pass_rate or fixed",
        ),
        (["learner/collect=contrast", "learner.collect.extra=0"], "collect.extra"),
        (["learner=at_grpo", "learner.credit=silence"], "choose learner.credit=own"),
        (["learner=c3", "learner.credit=own"], "works with learner.credit=team"),
        (
            [
                "learner.credit=own",
                "+learner.collect._target_=laconic.learners.rollout.collectors.counterfactual.silence",
            ],
            "works with learner.credit=silence; got learner.credit=own",
        ),
    ],
)
def test_what_cannot_go_together_is_refused_at_the_start(run, quick, tmp_path, settings, message):
    small = [] if "agent=scripted" in settings else quick
    outcome = run("train", *small, *settings, f"hydra.run.dir={tmp_path / 'run'}")
    assert outcome.code == 1
    assert message in outcome.message
    assert not (tmp_path / "run" / "metrics.jsonl").exists()
