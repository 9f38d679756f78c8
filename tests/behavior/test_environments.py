"""Every environment is trained and evaluated by the programs, with very small sizes.

Environments are found by listing, so a new one is tested without a change here.
"""

from __future__ import annotations

import math

import pytest

from laconic import envs


@pytest.fixture(params=envs.names())
def name(request):
    """Return each environment."""
    return request.param


OF_A_KIND = ("coop_humaneval", "tldr", "signal", "commons")
"""One environment of each kind of work; all other tests train on gsm8k."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in OF_A_KIND else pytest.mark.slow)
        for name in envs.names()
    ],
)
def test_it_is_trained_for_a_few_steps(run, small, rows, tmp_path, name):
    outcome = run(
        "train",
        f"env={name}",
        *small,
        *(["env.months=2"] if name == "commons" else []),
        "train.steps=2",
        "train.checkpoint_every=2",
        "train.evaluate_every=null",
        "evaluation.tasks=2",
        # One that is scored by degrees, and one that is right or wrong.
        f"report={name in ('tldr', 'signal')}",
        f"hydra.run.dir={tmp_path}",
    )
    assert outcome.code == 0, outcome.err
    metrics = rows(tmp_path / "metrics.jsonl")
    assert [row["step"] for row in metrics] == [0, 1, 2]
    assert all(math.isfinite(value) for row in metrics for value in row.values())
    assert metrics[-1]["learner/sequences"] > 0
    assert (tmp_path / "report.html").is_file() == (name in ("tldr", "signal"))


def test_a_team_of_oracles_is_always_right_within_its_budget(run, rows, tmp_path, name):
    outcome = run(
        "evaluate",
        f"env={name}",
        "agent=scripted",
        "env.tasks=4",
        "evaluation.tasks=4",
        "threads=1",
        f"hydra.run.dir={tmp_path}",
    )
    assert outcome.code == 0, outcome.err
    (row,) = rows(tmp_path / "evaluations.jsonl")
    assert row["episodes"] == 4
    # Games of own gains have no verdict.
    unjudged = name in ("commons", "matrix")
    assert ("accuracy" in row["intervals"]) != unjudged
    assert row["intervals"]["score" if unjudged else "accuracy"]["mean"] == pytest.approx(1.0)
