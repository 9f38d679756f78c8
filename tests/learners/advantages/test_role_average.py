"""The moving average of a role, worked by hand."""

from __future__ import annotations

import json
import math

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.advantages.group import Key
from laconic.learners.advantages.role_average import RoleAverage

KEYS = [Key("t", "helper_0"), Key("t", "solver_0"), Key("u", "helper_1")]


def test_before_anything_was_earned_the_returns_are_the_advantages() -> None:
    assert RoleAverage()([1.0, 2.0, -3.0], KEYS) == (1.0, 2.0, -3.0)
    assert RoleAverage()([], []) == ()


def test_every_return_moves_the_average_of_its_role_in_order() -> None:
    average = RoleAverage(decay=0.5)
    average.observe([1.0, 8.0, 3.0], KEYS)
    # helper: 0 -> 0.5 -> 1.75 over both tasks and both helpers; solver: 0 -> 4.
    assert average([2.0, 2.0, 2.0], KEYS) == (0.25, -2.0, 0.25)


def test_comparing_moves_nothing() -> None:
    average = RoleAverage()
    assert average([1.0] * 3, KEYS) == average([1.0] * 3, KEYS)


def test_equal_returns_teach_until_the_average_has_come_there() -> None:
    average = RoleAverage(decay=0.0)
    assert average([1.0], KEYS[:1]) == (1.0,)
    average.observe([1.0], KEYS[:1])
    assert average([1.0], KEYS[:1]) == (0.0,)


def test_a_name_without_a_number_is_a_role() -> None:
    average = RoleAverage(decay=0.0)
    average.observe([1.0, 2.0], [Key("t", "black"), Key("t", "team_white")])
    assert average([0.0, 0.0], [Key("t", "black"), Key("t", "team_white")]) == (-1.0, -2.0)


def test_nobody_is_left_out_and_any_group_will_do() -> None:
    assert RoleAverage().left_out([1.0] * 3, KEYS) == frozenset()
    RoleAverage().check(episodes=1, agents=1)


def test_the_averages_survive_a_reload_through_json() -> None:
    average, again = RoleAverage(), RoleAverage()
    average.observe([1.0, 8.0, 3.0], KEYS)
    again.load_state_dict(json.loads(json.dumps(average.state_dict())))
    assert again([0.1, 0.2, 0.3], KEYS) == average([0.1, 0.2, 0.3], KEYS)
    state = average.state_dict()
    average.observe([5.0], KEYS[:1])
    assert state != average.state_dict()


@pytest.mark.parametrize("decay", [1.0, -0.1, math.nan, "0.9", True])
def test_a_decay_out_of_range_is_refused(decay: object) -> None:
    with pytest.raises(
        SettingError, match="decay must be a finite number of at least 0 and below 1"
    ):
        RoleAverage(decay)  # type: ignore[arg-type]


def test_a_return_that_is_not_finite_is_named() -> None:
    with pytest.raises(SettingError, match="'solver_0' in task 't'"):
        RoleAverage()([0.0, math.nan, 0.0], KEYS)
