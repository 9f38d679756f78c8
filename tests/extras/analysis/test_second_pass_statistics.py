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
    found = split(draft, revise, resolve, scaffold)
    means = [found[name].mean for name in PARTS]
    # 2, 4, 7 and 2 of 8 tasks.
    assert means == pytest.approx([5 / 8, -5 / 8, 2 / 8, 2 / 8])
    assert found["total"].count == 8
    assert all(one.low <= one.mean <= one.high for one in found.values())


def test_parts_add_up_to_the_total_on_every_draw_exactly():
    solved = np.random.default_rng(0).integers(0, 2, size=(50, 4))
    a, b, c, d = solved.T
    drawn = draws(np.stack([c - a, d - c, b - d, b - a], axis=1))
    assert len(drawn) > 500 and drawn[:, 3].std() > 0
    assert (drawn[:, :3].sum(axis=1) == drawn[:, 3]).all()


def test_only_tasks_that_all_played_count():
    one = {"a": True}
    assert split(one, one, one, {"b": True}) == {}
    found = split(one, {**one, "b": False}, one, one)
    assert found["total"].count == 1 and found["content"].mean == 0.0
