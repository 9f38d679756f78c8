"""The guard against silence extinction, observation by observation."""

from __future__ import annotations

import json

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.prices.extinction import ExtinctionGuard


def warnings(guard: ExtinctionGuard, silences, price: float = 0.5) -> list[int]:
    """Steps, counted from 1, at which it warns."""
    said = [guard.observe(step, one, price) for step, one in enumerate(silences, 1)]
    return [step for step, words in enumerate(said, 1) if words]


def test_it_warns_once_when_a_whole_window_is_without_silence():
    # The mean of the window is 0.067 at step 3 and 0.047 at step 4.
    assert warnings(ExtinctionGuard(window=3), [0.06, 0.08, 0.06, 0.0, 0.0, 0.0]) == [4]


def test_it_warns_again_after_silence_came_back():
    silences = [0.0, 0.0, 0.2, 0.2, 0.0, 0.0]
    assert warnings(ExtinctionGuard(window=2), silences) == [2, 6]


def test_a_rate_that_wavers_around_the_threshold_warns_once():
    guard = ExtinctionGuard(silence=0.1, window=1)
    assert warnings(guard, [0.1, 0.15, 0.1, 0.19, 0.05]) == [1]


@pytest.mark.parametrize(("silence", "price"), [(None, 0.5), (0.0, 0.0)])
def test_it_is_quiet_where_silence_is_unknown_or_earns_nothing(silence, price):
    assert warnings(ExtinctionGuard(window=1), [silence] * 4, price) == []


def test_a_resumed_guard_goes_on_as_if_it_had_never_stopped():
    silences = [0.0, 0.0, 0.2, 0.2, 0.0, 0.0, 0.0]
    whole = warnings(ExtinctionGuard(window=2), silences)
    for cut in range(len(silences)):
        first, second = ExtinctionGuard(window=2), ExtinctionGuard(window=2)
        before = warnings(first, silences[:cut])
        second.load_state_dict(json.loads(json.dumps(first.state_dict())))
        assert before + [cut + step for step in warnings(second, silences[cut:])] == whole


def test_a_state_of_an_earlier_version_is_a_fresh_start():
    guard = ExtinctionGuard(window=1)
    guard.load_state_dict({})
    assert warnings(guard, [0.0]) == [1]


@pytest.mark.parametrize("settings", [{"silence": -0.1}, {"silence": 2}, {"window": 0}])
def test_ranges_are_checked(settings):
    with pytest.raises(SettingError, match="extinction_guard"):
        ExtinctionGuard(**settings)


def test_the_words_say_what_happened_and_what_to_do():
    words = ExtinctionGuard(window=1).observe(7, 0.002, 0.5)
    assert words is not None
    assert "step 7" in words and "0.2%" in words
    for remedy in ("learner.balance_silence=true", "optimizer.lr", "laconic warm-start"):
        assert remedy in words
