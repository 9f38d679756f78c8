"""The collapse guard, observation by observation."""

from __future__ import annotations

import json

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.prices.guard import CollapseGuard, silence_to_watch


def feed(guard: CollapseGuard, *observations: tuple[float, float], start: int = 0) -> list[int]:
    """The places of the observations (silence rate, accuracy) that drew a warning."""
    return [
        place
        for place, (silence, accuracy) in enumerate(observations)
        if guard.observe(start + place, silence, accuracy)
    ]


GOOD, DEAD = (0.2, 0.8), (1.0, 0.1)


def test_a_guard_says_nothing_before_its_window_is_full() -> None:
    assert feed(CollapseGuard(window=3), GOOD, DEAD) == []


def test_silence_without_a_fall_of_accuracy_is_no_collapse() -> None:
    assert feed(CollapseGuard(window=2), GOOD, GOOD, *[(1.0, 0.8)] * 9) == []


def test_a_fall_of_accuracy_without_silence_is_no_collapse() -> None:
    assert feed(CollapseGuard(window=2), GOOD, GOOD, *[(0.5, 0.1)] * 9) == []


def test_a_team_that_was_never_better_has_not_fallen() -> None:
    assert feed(CollapseGuard(window=2), *[DEAD] * 9) == []


def test_a_collapse_warns_once_when_the_window_shows_it() -> None:
    # Window means of silence: 0.2, 0.6, 1.0; the third is the first of at least 0.9.
    assert feed(CollapseGuard(window=2), GOOD, GOOD, DEAD, DEAD, DEAD, DEAD) == [3]


def test_a_drop_of_exactly_the_threshold_counts() -> None:
    # 0.8 - 0.7 is a little less than 0.1 in floating point.
    assert feed(CollapseGuard(window=1), (0.9, 0.8), (0.9, 0.7)) == [1]


def test_a_weak_team_has_fallen_when_half_of_its_best_is_gone() -> None:
    assert feed(CollapseGuard(window=1), (0.2, 0.12), (1.0, 0.07), (1.0, 0.06)) == [2]
    # One that never solved anything has nothing to lose.
    assert feed(CollapseGuard(window=1), (0.2, 0.0), (1.0, 0.0)) == []


def test_it_warns_again_after_a_recovery() -> None:
    guard = CollapseGuard(window=2)
    assert feed(guard, GOOD, GOOD, DEAD, DEAD, GOOD, GOOD, GOOD, DEAD, DEAD) == [3, 8]


def test_a_rate_that_wavers_is_one_collapse() -> None:
    guard = CollapseGuard(window=2)
    # Window means of silence from there: 0.6, 1.0, 0.925, 0.91, 0.885, 0.9; one calm, never two.
    wavering = [(1.0, 0.1), (1.0, 0.1), (0.85, 0.1), (0.97, 0.1), (0.8, 0.1), (1.0, 0.1)]
    assert feed(guard, GOOD, GOOD, *wavering) == [3]


def test_those_with_something_to_say_may_be_silent_less_often() -> None:
    guard = CollapseGuard(window=2)
    guard.informed = True
    rows = [(0.1, 0.8), (0.1, 0.8), (0.4, 0.6), (0.5, 0.5), (0.5, 0.5)]
    # Window means of silence: 0.1, 0.25, 0.45, 0.5; of all turns half would be nothing to warn of.
    warned = [guard.observe(step, *row) for step, row in enumerate(rows)]
    assert [bool(words) for words in warned] == [False] * 4 + [True]
    assert "silent in 50% of the turns in which it had something useful to say" in str(warned[-1])
    assert feed(CollapseGuard(window=2), *rows) == []


def test_the_warning_says_what_happened_with_numbers_and_what_to_try() -> None:
    guard = CollapseGuard(window=1)
    guard.observe(6, 0.2, 0.81)
    words = guard.observe(7, 0.95, 0.34)
    assert words is not None
    for part in ("step 7", "95%", "34%", "81%", "around step 6"):
        assert part in words
    for key in ("env.reward.price", "learner.price", "learner.credit"):
        assert key in words


def test_a_resumed_guard_warns_like_one_that_never_stopped() -> None:
    observations = [GOOD, GOOD, DEAD, DEAD, DEAD, GOOD, GOOD, GOOD, DEAD, DEAD]
    expected = feed(CollapseGuard(window=2), *observations)
    for cut in range(len(observations)):
        first, second = CollapseGuard(window=2), CollapseGuard(window=2)
        before = feed(first, *observations[:cut])
        second.load_state_dict(json.loads(json.dumps(first.state_dict())))
        after = feed(second, *observations[cut:], start=cut)
        assert before + [cut + place for place in after] == expected
        assert second.state_dict()["best"] == pytest.approx(0.8, rel=1e-12)


@pytest.mark.parametrize(
    "settings",
    [
        {"silence": 0},
        {"silence": 1.1},
        {"silence": "0.9"},
        {"silence_informed": 0},
        {"accuracy_drop": -0.1},
        {"window": 0},
    ],
)
def test_settings_outside_their_range_are_refused_by_name(settings: dict) -> None:
    with pytest.raises(SettingError, match=f"guard.{next(iter(settings))} must be"):
        CollapseGuard(**settings)


def test_the_silence_of_those_who_hold_something_is_watched_where_it_is_known() -> None:
    assert silence_to_watch({"silence_rate": 0.75, "spoke_if_informed": 0.125}) == 0.875
    assert silence_to_watch({"silence_rate": 0.75}) == 0.75
    assert silence_to_watch({}) == 0.0
