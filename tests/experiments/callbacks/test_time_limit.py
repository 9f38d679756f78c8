"""A time limit keeps back the time of the last evaluation and of the report."""

from __future__ import annotations

import math

import pytest

from laconic.experiments.callbacks.time_limit import TimeLimit, seconds_of


@pytest.fixture
def limit():
    """Return a limit of three minutes on a processor that nobody else uses, after 10 seconds."""
    return TimeLimit(3, elapsed=lambda: 10.0, slowdown=lambda: 1.0)


def at(limit, seconds):
    limit.elapsed = lambda: seconds
    return limit


def test_without_minutes_nothing_ends_a_run():
    free = TimeLimit(elapsed=lambda: 1e9)
    free.observe({"time/rollout": 1e9, "time/update": 1e9, "time/evaluation": 1e9})
    assert free.left() == math.inf and not free.is_up() and free.evaluation_seconds is None


def test_the_first_evaluation_gets_a_tenth_of_the_time(limit):
    assert limit.evaluation_seconds == pytest.approx(18.0)


def test_an_update_begins_only_if_evaluation_and_report_fit_behind_it(limit):
    limit.observe({"time/evaluation": 12.0})
    limit.observe({"time/rollout": 5.0, "time/update": 3.0})
    # 180 - (5 + 3) - 12 - 4 = 156 seconds.
    assert not at(limit, 155.9).is_up() and at(limit, 156.1).is_up()
    # A second evaluation takes 12 seconds more.
    assert at(limit, 144.1).is_up(2) and not at(limit, 143.9).is_up(2)


def test_rollouts_that_grow_let_the_last_evaluation_grow(limit):
    limit.observe({"time/evaluation": 12.0})
    limit.observe({"time/rollout": 5.0, "time/update": 3.0})
    limit.observe({"time/rollout": 10.0, "time/update": 3.0})
    # Twice the rollout, so twice the evaluation: 180 - (10 + 3) - 24 - 4 = 139 seconds.
    assert not at(limit, 138.9).is_up() and at(limit, 139.1).is_up()
    # An evaluation in between has grown already: 180 - (10 + 3) - 24 - 4.
    limit.observe({"time/evaluation": 24.0})
    assert not at(limit, 138.9).is_up() and at(limit, 139.1).is_up()
    # Rollouts that shrink promise nothing: 180 - (2 + 1) - 24 - 4 = 149 seconds.
    limit.observe({"time/rollout": 4.0, "time/update": 1.0})
    limit.observe({"time/rollout": 2.0, "time/update": 1.0})
    assert not at(limit, 148.9).is_up() and at(limit, 149.1).is_up()


@pytest.mark.parametrize(("slowdown", "report"), [(2.0, 8.0), (100.0, 32.0)])
def test_a_busy_machine_draws_the_report_slowly(limit, slowdown, report):
    limit.slowdown = lambda: slowdown
    assert not at(limit, 179.9 - report).is_up() and at(limit, 180.1 - report).is_up()


def test_earlier_parts_of_a_run_count(limit):
    rows = [{"time/step": 100.0}, {"time/step": 30}, {"time/step": None}, {}, {"time/step": -5.0}]
    limit.spent = seconds_of(rows)
    # 180 - 130 - 10.
    assert limit.left() == pytest.approx(40.0)
