"""Silence on balance, worked by hand; and that silence is what it takes for silence."""

from __future__ import annotations

import pytest

from laconic.learners.advantages.balance import balanced
from laconic.learners.advantages.credit import own
from laconic.learners.episode import Episode, Turn
from laconic.learners.training.sequences import TokenSequence, episode_sequences


def sequences(*given: tuple[bool, float]) -> list[TokenSequence]:
    """One token each; silent or not, with that advantage."""
    mask, zeros = (False, True), (0.0, 0.0)
    return [
        TokenSequence("t", "a", 0, None, (1, 2), mask, zeros, 0.0, silent=silent, advantage=value)
        for silent, value in given
    ]


def advantages(*given: tuple[bool, float]) -> tuple[list[float], float]:
    found, factor = balanced(sequences(*given))
    return [one.advantage for one in found], factor


def test_what_tells_against_silence_is_scaled_down_to_what_tells_for_it() -> None:
    # For it 1 + 0.5, against it 2 + 4: a quarter is left. What was said keeps its advantage.
    given = [(True, 1.0), (True, 0.5), (True, -2.0), (True, -4.0), (False, -3.0), (False, 9.0)]
    found, factor = advantages(*given)
    assert found == pytest.approx([1.0, 0.5, -0.5, -1.0, -3.0, 9.0])
    assert factor == pytest.approx(0.25)


def test_silence_that_does_better_is_not_held_back() -> None:
    given = [(True, 3.0), (True, -1.0), (False, 0.5)]
    assert advantages(*given) == ([3.0, -1.0, 0.5], 1.0)


def test_where_no_silence_did_better_none_is_made_rarer() -> None:
    assert advantages((True, -1.0), (False, 1.0)) == ([0.0, 1.0], 0.0)
    assert advantages((False, -1.0), (False, 1.0)) == ([-1.0, 1.0], 1.0)
    assert balanced([]) == ([], 1.0)


def turn(round: int, message: str, trained: bool = True) -> Turn:
    return Turn("a", round, message, (1,), (2,), (0.0,), 1, None, False, trained=trained)


@pytest.mark.parametrize(
    ("turns", "unit", "silent"),
    [
        ([turn(0, "")], "episode", [True]),
        ([turn(0, ""), turn(1, "so")], "episode", [False]),
        ([turn(0, ""), turn(1, "so")], "reply", [True, False]),
        # What is only context says nothing of the sequence.
        ([turn(0, "so", trained=False), turn(1, "")], "episode", [True]),
    ],
)
def test_a_sequence_is_silent_if_nothing_was_said_in_it(turns, unit, silent) -> None:
    episode = Episode("t", tuple(turns), {"a": (0.0, 1.0)}, 1.0, True, "", False, {}, {"a": 1})
    made = episode_sequences(episode, 0, own, unit, None)
    assert [one.silent for one in made] == silent
