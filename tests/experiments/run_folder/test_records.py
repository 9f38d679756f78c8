"""Properties of a run that was read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from laconic.experiments.run_folder.records import Evaluation, Run, goal, graded
from laconic.learners.metrics import Interval

EMPTY = Run(Path("run"), "", None, {}, {}, "", {}, (), (), "nothing recorded", "", None, "", (), ())


def evaluation(step: int, **means: float) -> Evaluation:
    return Evaluation(step, 9, {name: Interval(mean, 0, 1, 9) for name, mean in means.items()})


def test_an_empty_run_has_no_evaluation_and_no_step() -> None:
    assert (EMPTY.before, EMPTY.after, EMPTY.last_step) == (None, None, 0)
    assert EMPTY.series("train/reward") == ([], [])
    assert not EMPTY.finished


def test_the_last_evaluation_after_training_counts() -> None:
    evaluations = tuple(evaluation(step, accuracy=0.5) for step in (0, 2, 4))
    run = replace(EMPTY, evaluations=evaluations, metrics={6: {}})
    assert (run.before, run.after, run.last_step) == (evaluations[0], evaluations[2], 6)
    bare = replace(EMPTY, evaluations=evaluations[:1])
    assert (bare.before, bare.after) == (evaluations[0], None)


def test_a_series_skips_the_steps_without_the_metric() -> None:
    run = replace(EMPTY, metrics={0: {}, 1: {"a": 0.5}, 2: {"b": 1.0}, 3: {"a": 0.25}})
    assert run.series("a") == ([1, 3], [0.5, 0.25])


@pytest.mark.parametrize(
    ("means", "by_degrees"),
    [
        ({}, False),
        ({"accuracy": 0.5}, False),
        ({"accuracy": 0.5, "score": 0.5 + 1e-12}, False),
        ({"accuracy": 0.5, "score": 2.5}, True),
        # Nobody tells what is solved: the score is all there is.
        ({"score": 0.5}, True),
    ],
)
def test_a_graded_score_is_the_goal(means: dict[str, float], by_degrees: bool) -> None:
    recorded = evaluation(0, **means)
    assert graded([recorded.intervals]) is by_degrees
    run = replace(EMPTY, evaluations=(recorded,))
    assert goal([run]) == ("score" if by_degrees else "accuracy")
