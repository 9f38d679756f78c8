"""Prices as Lagrange multipliers, step by step and by hand."""

from __future__ import annotations

import math

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.prices.steering import AccuracyFloor, TargetTokens

PLAIN = {"integral_gain": 0.1, "proportional_gain": 0.0, "smoothing": 0.0}


def prices(multiplier, rows, price=0.5):
    """Return the price before each row is observed, and after the last."""
    results = []
    for step, row in enumerate(rows):
        results.append(price * multiplier.share(step))
        multiplier.observe(row)
    return [*results, price * multiplier.share(len(rows))]


def test_before_anything_is_observed_words_are_free():
    assert TargetTokens().share(0) == 0.0
    assert AccuracyFloor().share(7) == 0.0


def test_too_many_tokens_raise_the_price_and_too_few_lower_it():
    multiplier = TargetTokens(tokens=40, **PLAIN)
    # errors (80-40)/40 = 1 and (20-40)/40 = -0.5 move the level by 0.1 up and by 0.05 down
    result = prices(multiplier, [{"tokens_said": 80}, {"tokens_said": 20}])
    assert result == pytest.approx([0.0, 0.05, 0.025], rel=1e-12)


def test_on_target_the_price_stays():
    multiplier = TargetTokens(tokens=40, **PLAIN)
    # an error of 1 lifts the level to 0.1, and there it stays
    result = prices(multiplier, [{"tokens_said": 80}, *[{"tokens_said": 40}] * 2])
    assert result == pytest.approx([0.0, 0.05, 0.05, 0.05], rel=1e-12)


def test_accuracy_above_the_floor_raises_the_price_and_below_lowers_it():
    multiplier = AccuracyFloor(accuracy=0.9, **PLAIN)
    # errors (1-0.9)/0.1 = 1, twice, and (0.85-0.9)/0.1 = -0.5: 0.1 up, 0.1 up, 0.05 down
    result = prices(multiplier, [{"accuracy": 1.0}, {"accuracy": 1.0}, {"accuracy": 0.85}])
    assert result == pytest.approx([0.0, 0.05, 0.1, 0.075], rel=1e-12)


def test_a_floor_of_one_has_a_finite_error():
    multiplier = AccuracyFloor(accuracy=1.0, **PLAIN)
    assert multiplier.error(0.99) == pytest.approx(-1.0, rel=1e-9)  # (0.99 - 1) / 0.01


def test_the_proportional_term_acts_only_while_the_error_lasts():
    multiplier = TargetTokens(tokens=40, integral_gain=0.0, proportional_gain=1.0, smoothing=0.0)
    result = prices(multiplier, [{"tokens_said": 60}, {"tokens_said": 40}])
    assert result == pytest.approx([0.0, 0.25, 0.0], rel=1e-12)


def test_smoothing_keeps_a_running_mean_that_starts_with_the_first_step():
    multiplier = TargetTokens(tokens=40, integral_gain=0.0, proportional_gain=1.0, smoothing=0.8)
    # running means 60 and 0.8*60 + 0.2*40 = 56, errors 0.5 and 0.4
    result = prices(multiplier, [{"tokens_said": 60}, {"tokens_said": 40}])
    assert result == pytest.approx([0.0, 0.25, 0.2], rel=1e-12)


def test_the_price_keeps_between_zero_and_its_most_and_comes_back_at_once():
    multiplier = TargetTokens(
        tokens=10, integral_gain=10.0, proportional_gain=0.0, smoothing=0.0, max_price=4.0
    )
    assert prices(multiplier, [{"tokens_said": 100}] * 3)[-1] == 2.0
    # error (5-10)/10 = -0.5 takes 10 * 0.5 off the level of 4, which stops at 0
    assert prices(multiplier, [{"tokens_said": 5}] * 3)[-1] == 0.0
    assert prices(multiplier, [{"tokens_said": 10.1}])[-1] > 0.0


def test_the_proportional_term_cannot_lift_the_price_above_its_most():
    # error (100-10)/10 = 9 adds 0.5 * 9 = 4.5 to a level of 0.02 * 9 = 0.18; the most is 4
    multiplier = TargetTokens(tokens=10, smoothing=0.0)
    assert prices(multiplier, [{"tokens_said": 100}], price=0.5)[-1] == 2.0


def test_a_negative_proportional_term_lowers_the_price_down_to_zero():
    multiplier = TargetTokens(
        tokens=40, integral_gain=0.5, proportional_gain=0.25, smoothing=0.0, max_price=4.0
    )
    rows = [{"tokens_said": 120}, {"tokens_said": 36}, {"tokens_said": 4}]
    # errors 2, -0.1, -0.9; levels 1, 0.95, 0.5; prices of 0.5 * (level + error / 4):
    # 0.5 * 1.5, 0.5 * 0.925, 0.5 * 0.275
    assert prices(multiplier, rows) == pytest.approx([0.0, 0.75, 0.4625, 0.1375], rel=1e-12)
    # errors -0.9 from a level of 0 would be a price below 0
    multiplier = TargetTokens(tokens=40, smoothing=0.0)
    assert prices(multiplier, [{"tokens_said": 4}])[-1] == 0.0


def test_a_state_goes_on_where_it_was_left():
    rows = [{"tokens_said": value} for value in (60, 55, 30, 42)]
    whole = TargetTokens(tokens=40)
    expected = prices(whole, rows)
    first, second = TargetTokens(tokens=40), TargetTokens(tokens=40)
    prices(first, rows[:2])
    second.load_state_dict(first.state_dict())
    assert prices(second, rows[2:]) == expected[2:]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (TargetTokens, {"tokens": 0}),
        (TargetTokens, {"tokens": math.nan}),
        (TargetTokens, {"tokens": "many"}),
        (TargetTokens, {"integral_gain": -1}),
        (TargetTokens, {"smoothing": 1.5}),
        (TargetTokens, {"max_price": math.inf}),
        (AccuracyFloor, {"accuracy": 1.1}),
        (AccuracyFloor, {"accuracy": True}),
        (AccuracyFloor, {"proportional_gain": -0.1}),
    ],
)
def test_settings_out_of_range_are_refused_by_name(kind, settings):
    with pytest.raises(SettingError, match=f"price.{next(iter(settings))} must be"):
        kind(**settings)


def test_what_it_is_set_by_has_to_be_told():
    with pytest.raises(SettingError, match="TargetTokens needs the metric 'tokens_said'.*got "):
        TargetTokens().observe({"score": 1.0, "rounds": 2.0})
