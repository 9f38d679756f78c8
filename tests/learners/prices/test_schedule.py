"""The price of a token over training, by hand."""

from __future__ import annotations

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.prices.schedule import Fixed, PassRate, Price, Ramp


@pytest.mark.parametrize("step", [0, 1, 1000])
def test_a_fixed_price_is_the_environments_price_at_every_step(step: int) -> None:
    assert Fixed().at(step, 0.3) == 0.3


@pytest.mark.parametrize(
    ("step", "expected"),
    # Free up to the end of the delay, then 0.4 / 4 = 0.1 more at each step.
    [(0, 0.0), (9, 0.0), (10, 0.0), (11, 0.1), (12, 0.2), (13, 0.3), (14, 0.4), (99, 0.4)],
)
def test_a_ramp_waits_and_then_rises_in_a_straight_line(step: int, expected: float) -> None:
    assert Ramp(delay=10, steps=4).at(step, 0.4) == pytest.approx(expected, rel=1e-12)


def test_a_ramp_without_steps_jumps_when_the_delay_is_over() -> None:
    assert [Ramp(delay=2).at(step, 0.4) for step in range(4)] == [0.0, 0.0, 0.4, 0.4]


def test_the_default_ramp_is_the_fixed_price() -> None:
    assert Ramp().at(0, 0.4) == 0.4


def test_price_zero_stays_zero() -> None:
    assert [Ramp(delay=1, steps=2).at(step, 0.0) for step in range(5)] == [0.0] * 5


@pytest.mark.parametrize("settings", [{"delay": -1}, {"steps": -1}, {"delay": 1.5}, {"steps": "3"}])
def test_a_ramp_refuses_what_is_no_count_and_names_the_key(settings: dict) -> None:
    with pytest.raises(SettingError, match=f"price.{next(iter(settings))} must be"):
        Ramp(**settings)


def test_steps_are_counted_from_zero() -> None:
    with pytest.raises(SettingError, match="got -1"):
        Ramp().at(-1, 0.4)


def test_the_schedules_keep_the_protocol() -> None:
    assert isinstance(Fixed(), Price)
    assert isinstance(Ramp(), Price)


def test_the_pass_rate_is_smoothed_by_the_weight_of_the_past() -> None:
    schedule = PassRate(power=2.0, smoothing=0.8)
    assert schedule.at(0, 0.5) == 0.0
    for rate in (1.0, 0.5):
        schedule.observe({"pass_rate": rate})
    # .8 x 1 + .2 x .5 = .9; .5 x .9^2.
    assert schedule.at(2, 0.5) == pytest.approx(0.405, rel=1e-12)
