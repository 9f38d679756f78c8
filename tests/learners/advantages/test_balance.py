"""Balanced silence, worked by hand, and which sequences count as silent."""

from __future__ import annotations

import pytest

from laconic.learners.advantages.balance import balanced
from laconic.learners.advantages.credit import own
from laconic.learners.episode import Episode, Turn
from laconic.learners.training.sequences import episode_sequences


def test_negative_advantages_of_silence_are_scaled_to_the_positive_ones() -> None:
    # Positive 1 + 0.5, negative 2 + 4: factor 1.5 / 6 = 0.25. Messages keep their advantages.
    advantages, factor = balanced(
        [1.0, 0.5, -2.0, -4.0, -3.0, 9.0], [True, True, True, True, False, False]
    )
    assert advantages == pytest.approx([1.0, 0.5, -0.5, -1.0, -3.0, 9.0])
    assert factor == pytest.approx(0.25)


def test_silence_that_does_better_is_not_held_back() -> None:
    assert balanced([3.0, -1.0, 0.5], [True, True, False]) == ([3.0, -1.0, 0.5], 1.0)


def test_where_no_silence_did_better_none_is_made_rarer() -> None:
    assert balanced([-1.0, 1.0], [True, False]) == ([0.0, 1.0], 0.0)
    assert balanced([-1.0, 1.0], [False, False]) == ([-1.0, 1.0], 1.0)
    assert balanced([], []) == ([], 1.0)


def turn(round: int, message: str, trained: bool = True) -> Turn:
    return Turn("a", round, message, (1,), (2,), (0.0,), 1, None, False, trained=trained)


@pytest.mark.parametrize(
    ("turns", "unit", "silent"),
    [
        ([turn(0, "")], "episode", [True]),
        ([turn(0, ""), turn(1, "so")], "episode", [False]),
        ([turn(0, ""), turn(1, "so")], "reply", [True, False]),
        # Context does not count.
        ([turn(0, "so", trained=False), turn(1, "")], "episode", [True]),
    ],
)
def test_a_sequence_is_silent_if_nothing_was_said_in_it(turns, unit, silent) -> None:
    episode = Episode("t", tuple(turns), {"a": (0.0, 1.0)}, 1.0, True, "", False, {}, {"a": 1})
    sequences = episode_sequences(episode, 0, own, unit, None)
    assert [sequence.silent for sequence in sequences] == silent
