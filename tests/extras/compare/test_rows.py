"""Rows of a comparison: nothing is lost in their files."""

from __future__ import annotations

import json
import math
from dataclasses import fields

import pytest

from laconic.extras.compare.rows import FILE, Row, as_json, compared, figures_of, read_row
from laconic.learners.episode import Episode
from laconic.learners.metrics import Interval

FULL = Row(
    "mine",
    "finished",
    ("first", "second"),
    6,
    3,
    True,
    {"score": Interval(0.5, 0.25, 0.75, 6), "accuracy": Interval(0.1, 0.0, 0.2, 6)},
    {"accuracy": Interval(-0.1, -0.2, 0.0, 6)},
)


def test_every_field_differs_from_its_default_and_survives_its_file(tmp_path):
    plain = Row("", "failed")
    assert [
        each.name for each in fields(Row) if getattr(FULL, each.name) == getattr(plain, each.name)
    ] == []
    FULL.save(tmp_path)
    assert read_row(tmp_path) == FULL


def test_unknown_numbers_are_null_in_json_and_nan_when_read(tmp_path):
    row = Row("one", "finished", figures={"seconds": Interval(0.5, math.nan, math.nan, 1)})
    assert as_json(row)["figures"]["seconds"] == {
        "mean": 0.5,
        "low": None,
        "high": None,
        "count": 1,
    }
    row.save(tmp_path)
    json.loads((tmp_path / FILE).read_text(), parse_constant=pytest.fail)
    seconds = read_row(tmp_path).figures["seconds"]
    assert (seconds.mean, seconds.count) == (0.5, 1) and math.isnan(seconds.low)


def test_an_entry_that_was_not_played_has_no_row(tmp_path):
    assert read_row(tmp_path) is None


def test_time_has_an_interval_over_batches_and_returns_are_no_figure():
    episodes = [
        Episode(str(n), (), {"a": (0.5,)}, score=1.0, solved=True, tokens_said={"a": 4})
        for n in range(3)
    ]
    figures = figures_of(episodes, [1.0, 2.0, 3.0])
    # Mean 2, standard error sqrt(1 / 3); t with 2 degrees of freedom is 4.302653: below zero.
    assert (figures["seconds"].mean, figures["seconds"].low) == (2.0, 0.0)
    assert figures["seconds"].high == pytest.approx(2 + 4.302653 / math.sqrt(3), abs=1e-6)
    assert list(figures)[:3] == ["accuracy", "score", "tokens_said"] and "reward" not in figures
    assert math.isnan(figures_of(episodes, [1.0])["seconds"].low)


def played(folder, name, tasks, tokens):
    """Write the evaluation of an entry that said these tokens, and return its row."""
    row = {
        "step": 0,
        "episodes": len(tokens),
        "intervals": {"tokens_said": {"mean": 0.0, "low": None, "high": None, "count": 4}},
        "tasks": tasks,
        "outcomes": {"tokens_said": {"sums": tokens, "counts": [1] * len(tokens)}},
    }
    (folder / name).mkdir()
    (folder / name / "evaluations.jsonl").write_text(json.dumps(row) + "\n")
    return Row(name, "finished")


def test_a_change_is_taken_task_by_task_and_only_where_both_played_the_same_tasks(tmp_path):
    rows = [
        played(tmp_path, "team", "a1", [10, 20, 30, 40]),
        played(tmp_path, "brief", "a1", [8, 17, 28, 37]),
        played(tmp_path, "others", "b2", [8, 17, 28, 37]),
        Row("failed", "failed"),
    ]
    team, brief, others, failed = compared(rows, "team", tmp_path)
    assert team.changes == others.changes == failed.changes == {}
    change = brief.changes["tokens_said"]
    # Differences -2, -3, -2, -3: sd 0.57735, standard error 0.288675, t with 3 is 3.182446.
    # Unpaired, the interval would reach from -26 to 21.
    assert change.mean == -2.5
    assert (change.low, change.high) == pytest.approx((-3.418693, -1.581307))
    assert compared(rows, "absent", tmp_path) == rows
