"""A warm start shows its loss and the accuracy of the policy, not of its teacher."""

from __future__ import annotations

import json

import pytest

from laconic.experiments.callbacks import own_accuracy
from laconic.experiments.callbacks.display import of_policy
from laconic.experiments.callbacks.own_accuracy import NAME, OwnAccuracy


def measured(seconds_of_an_evaluation, seconds_of_a_step, steps=100):
    """Return the steps after which it is due, where each measurement costs what was foreseen."""
    own, due = OwnAccuracy(), []
    own.estimate({"time/evaluation": seconds_of_an_evaluation}, episodes=100)
    for step in range(1, steps + 1):
        own.observe({"time/rollout": seconds_of_a_step / 2, "time/update": seconds_of_a_step / 2})
        if own.is_due(step):
            due.append(step)
            own._spent += own._cost
    return due


@pytest.mark.parametrize(
    ("evaluation", "due"),
    [
        # 32 of 100 tasks of 1 s take 0.32 s: 5 % of 25 steps of 1 s are 1.25 s.
        (1.0, [25, 50, 75, 100]),
        # 1.6 s are more than the 1.25 s of 25 steps; 3.2 s need 64 steps, and 4.8 s need 96.
        (5.0, [50, 75, 100]),
        # 6.4 s need 128 steps.
        (20.0, []),
    ],
)
def test_it_is_measured_every_25_steps_in_at_most_a_twentieth_of_the_time(evaluation, due):
    assert measured(evaluation, 1.0) == due


def test_without_an_evaluation_the_first_measurement_determines_the_cost():
    own = OwnAccuracy()
    own.observe({"time/rollout": 0.1})
    assert own.is_due(25) and not own.is_due(24) and not own.is_due(0)


def test_the_display_shows_the_policys_own_accuracy():
    row = {"teacher/accuracy": 0.98, "learner/loss": 0.5, NAME: 0.25, "teacher/tokens_said": 70.0}
    assert of_policy(row) == {"learner/loss": 0.5, NAME: 0.25}
    assert of_policy({"eval/accuracy": 0.0, "eval/tokens_said": 9.0}) == {NAME: 0.0}


def test_a_warm_start_names_the_teachers_figures_after_the_teacher(
    run, rows, tmp_path, monkeypatch
):
    monkeypatch.setattr(own_accuracy, "EVERY", 2)
    monkeypatch.setattr(own_accuracy, "MAX_SHARE", 10.0)
    shape = {"vocabulary": 400, "hidden": 16, "layers": 1, "heads": 2, "intermediate": 16}
    sizes = ["env.tasks=60", "train.steps=2", "train.tasks_per_step=2", "evaluation.tasks=4"]
    sizes += ["agent.sampling.max_reply_tokens=8", "threads=1", "report=false", "logger=none"]
    sizes += [f"agent.model_config.{name}={value}" for name, value in shape.items()]
    outcome = run("train", "experiment=warm_start", *sizes, f"hydra.run.dir={tmp_path}/run")
    assert outcome.code == 0, outcome.err
    metrics = rows(tmp_path / "run" / "metrics.jsonl")
    assert NAME in metrics[2] and NAME not in metrics[1]
    # Fresh weights solve none.
    assert "teacher/accuracy" in metrics[1] and metrics[2][NAME] == 0.0
    assert not any("train/accuracy" in row for row in metrics), json.dumps(metrics)
    lines = [line for line in outcome.out.splitlines() if line.startswith("step ")]
    assert lines and all("the policy itself solves 0 %" in line for line in lines)
    assert "loss" in lines[-1] and not any("accuracy" in line for line in lines)
