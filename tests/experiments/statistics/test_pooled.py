"""Figures of several evaluations, and their change from the start."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from laconic.experiments.run_folder.records import Evaluation
from laconic.experiments.run_folder.runs import read_run
from laconic.experiments.statistics.pooled import changed, pooled
from laconic.learners.metrics import Interval, Outcomes

TASKS = "same"


def told(*tokens: float, tasks: str = TASKS, kept: bool = True) -> Evaluation:
    """Return an evaluation by the tokens said in each task, with an interval from 0 to 99."""
    mean = sum(tokens) / len(tokens)
    outcomes = {"tokens_said": Outcomes(tokens, (1.0,) * len(tokens))} if kept else {}
    figure = {"tokens_said": Interval(mean, 0.0, 99.0, len(tokens))}
    return Evaluation(1, len(tokens), figure, tasks=tasks, outcomes=outcomes)


def half(interval: Interval | None) -> float:
    assert interval is not None
    # The lower half may be cut at 0 tokens.
    return interval.high - interval.mean


def test_changes_on_the_same_tasks_are_paired() -> None:
    # Changes -1, -2, -3: s = 1, t(2) / sqrt(3) = 2.484138.
    pair = told(10, 20, 30), told(9, 18, 27)
    change = changed([pair], "tokens_said")
    assert change and change.mean == -2 and half(change) == pytest.approx(2.484138, abs=1e-5)


def test_seeds_on_the_same_tasks_are_crossed() -> None:
    # The case that test_intervals.py works out.
    both = pooled([told(0.5, 2.5, 3.0), told(3.5, 3.5, 5.0)], "tokens_said")
    assert half(both) == pytest.approx(12.416304, abs=1e-5)


def test_seeds_on_tasks_of_their_own_are_independent() -> None:
    # Means 2 and 4: t(1) x sqrt(2) / sqrt(2) = 12.706205. Changes -1 and -3: the same.
    runs = [told(1, 3, tasks="one"), told(2, 6, tasks="two")]
    assert half(pooled(runs, "tokens_said")) == pytest.approx(12.706205, abs=1e-5)
    pairs = [(told(2, 4, tasks="one"), runs[0]), (told(5, 9, tasks="two"), runs[1])]
    change = changed(pairs, "tokens_said")
    assert change and change.mean == -2 and half(change) == pytest.approx(12.706205, abs=1e-5)


def test_runs_without_outcomes_have_the_wider_intervals_of_their_figures() -> None:
    old = told(4, 6, kept=False)
    assert pooled([old], "tokens_said") == old.figure("tokens_said")
    # Down: to 0 after, from 99 before: sqrt(5^2 + 94^2).
    change = changed([(old, told(4, 6))], "tokens_said")
    assert change and change.low == pytest.approx(-math.hypot(5, 94))
    # One seed without them takes them from all.
    assert half(pooled([old, told(4, 6)], "tokens_said")) > 40


def test_evaluations_of_unknown_tasks_are_not_paired() -> None:
    change = changed([(told(1, 2, tasks=""), told(1, 2, tasks=""))], "tokens_said")
    assert change and change.high > 90


def test_a_metric_that_one_evaluation_lacks_has_no_change() -> None:
    assert changed([], "tokens_said") is None
    assert changed([(told(1), told(1))], "accuracy") is None
    assert pooled([None, told(1)], "accuracy") is None


@pytest.mark.parametrize(
    "entry",
    [
        3,
        {},
        {"sums": [1, 2]},
        {"sums": [1], "counts": [1]},
        {"sums": [1, "2"], "counts": [1, 1]},
        {"sums": [1, None, 2], "counts": [1, 1]},
        {"sums": [1, 1e999], "counts": [1, 1]},
        {"sums": [1, 2], "counts": [1, -1]},
        {"sums": [0, 0], "counts": [0, 0]},
        {"sums": [1, 1e308], "counts": [1, 1]},
        {"sums": [1, -2], "counts": [1, 1]},
        {"sums": [1, 2], "counts": [1, 1e308]},
        {"sums": [1, 2], "counts": [1, 1e-320]},
    ],
)
def test_broken_outcomes_of_a_run_folder_are_left_out(tmp_path: Path, entry: Any) -> None:
    figure = {"mean": 1.0, "low": 0.5, "high": 1.5, "count": 2}
    good = {"sums": [1, 2], "counts": [1, 1]}
    row = {"step": 1, "episodes": 2, "tasks": "t", "intervals": {"tokens_said": figure}}
    row["outcomes"] = {"tokens_said": entry, "reward": good}
    (tmp_path / "evaluations.jsonl").write_text(json.dumps(row) + "\n")
    (read,) = read_run(tmp_path).evaluations
    assert read.tasks == "t" and dict(read.outcomes) == {"reward": Outcomes((1, 2), (1, 1))}


@pytest.mark.parametrize(
    ("sums", "possible"),
    [([4, 0], False), ([-1, 0], False), ([2, 1], False), ([2, 0], True), ([2.000001, 0], True)],
)
def test_a_share_is_a_part_of_its_turns(tmp_path: Path, sums: list[float], possible: bool) -> None:
    row = {"step": 1, "episodes": 2, "intervals": {}}
    row["outcomes"] = {"spoke_if_informed": {"sums": sums, "counts": [2, 0]}}
    (tmp_path / "evaluations.jsonl").write_text(json.dumps(row) + "\n")
    (read,) = read_run(tmp_path).evaluations
    assert bool(read.outcomes) == possible


def test_a_mean_that_no_metric_has_is_left_out(tmp_path: Path) -> None:
    figures = {"reward": {"mean": -1e308}, "score": {"mean": 2.0, "low": -1e308, "high": 3.0}}
    row = {"step": 1, "episodes": 2, "intervals": figures}
    (tmp_path / "evaluations.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "train/reward": 1e308}\n')
    run = read_run(tmp_path)
    (read,) = run.evaluations
    assert list(read.intervals) == ["score"] and math.isnan(read.intervals["score"].low)
    assert run.metrics == {1: {}}


def test_equal_names_of_tasks_with_other_numbers_of_them_are_not_paired() -> None:
    # Means 2 and 4 are independent: t(1) x sqrt(2) / sqrt(2) = 12.706205.
    assert half(pooled([told(1, 3), told(3, 4, 5)], "tokens_said")) == pytest.approx(
        12.706205, abs=1e-5
    )
    # From [0, 99] around 2 to [0, 99] around 4: sqrt(95^2 + 2^2).
    change = changed([(told(1, 3), told(3, 4, 5))], "tokens_said")
    assert change and change.mean == 2 and half(change) == pytest.approx(math.hypot(95, 2))
