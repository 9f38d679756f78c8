"""Parts of the gain of a second pass: they add up in every resample."""

from __future__ import annotations

import numpy as np
import pytest

from laconic.extras.analysis.second_pass import PARTS, draws, split


def test_parts_are_differences_of_conditions_and_add_up():
    tasks = [str(number) for number in range(8)]
    draft, revise, resolve, scaffold = (
        {key: key in solved for key in tasks} for solved in ("01", "0234", "1234567", "23")
    )
    parts = split(draft, revise, resolve, scaffold)
    means = [parts[name].mean for name in PARTS]
    # 2, 4, 7 and 2 of 8 tasks.
    assert means == pytest.approx([5 / 8, -5 / 8, 2 / 8, 2 / 8])
    assert parts["total"].count == 8
    assert all(interval.low <= interval.mean <= interval.high for interval in parts.values())


def test_parts_add_up_to_the_total_on_every_draw_exactly():
    solved = np.random.default_rng(0).integers(0, 2, size=(50, 4))
    a, b, c, d = solved.T
    samples = draws(np.stack([c - a, d - c, b - d, b - a], axis=1))
    assert len(samples) > 500 and samples[:, 3].std() > 0
    assert (samples[:, :3].sum(axis=1) == samples[:, 3]).all()


def test_only_tasks_that_all_played_count():
    solved = {"a": True}
    assert split(solved, solved, solved, {"b": True}) == {}
    parts = split(solved, {**solved, "b": False}, solved, solved)
    assert parts["total"].count == 1 and parts["content"].mean == 0.0
