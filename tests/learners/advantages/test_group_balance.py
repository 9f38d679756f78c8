"""Balanced silence, worked by hand, and which sequences count as silent."""

from __future__ import annotations

import json

import pytest

from laconic.learners.advantages.credit import own
from laconic.learners.advantages.group import SilenceBalance
from laconic.learners.episode import Episode, Turn
from laconic.learners.training.sequences import episode_sequences


def test_negative_advantages_of_silence_are_scaled_to_the_positive_ones() -> None:
    # Positive 1 + 0.5, negative 2 + 4: factor 1.5 / 6 = 0.25. Messages keep their advantages.
    advantages, factor = SilenceBalance()(
        "a", [1.0, 0.5, -2.0, -4.0, -3.0, 9.0], [True, True, True, True, False, False]
    )
    assert advantages == pytest.approx([1.0, 0.5, -0.5, -1.0, -3.0, 9.0])
    assert factor == pytest.approx(0.25)


def test_silence_that_does_better_is_not_held_back() -> None:
    balance = SilenceBalance()
    assert balance("a", [3.0, -1.0, 0.5], [True, True, False]) == ([3.0, -1.0, 0.5], 1.0)


def test_where_no_silence_did_better_none_is_made_rarer() -> None:
    assert SilenceBalance()("a", [-1.0, 1.0], [True, False]) == ([0.0, 1.0], 0.0)
    assert SilenceBalance()("a", [-1.0, 1.0], [False, False]) == ([-1.0, 1.0], 1.0)
    assert SilenceBalance()("a", [], []) == ([], 1.0)


UPDATES = [[4.0, -1.0], [-2.0, -3.0], [1.0, -60.0]]
"""Advantages of the silent sequences of three updates."""
# Totals above and below 0: 4 and 1; .9 x 4 + .1 x 0 = 3.6 and .9 x 1 + .1 x 5 = 1.4;
# .9 x 3.6 + .1 x 1 = 3.34 and .9 x 1.4 + .1 x 60 = 7.26. So 1, 1 and 3.34 / 7.26.
FACTORS = [1.0, 1.0, 3.34 / 7.26]


def factors(balance: SilenceBalance, updates, policy: str = "a") -> list[float]:
    return [balance(policy, each, [True] * len(each))[1] for each in updates]


def test_the_totals_run_over_updates() -> None:
    balance = SilenceBalance()
    assert factors(balance, UPDATES) == pytest.approx(FACTORS, rel=1e-12)
    # One more without silence forgets both totals alike.
    assert factors(balance, [[]]) == pytest.approx(FACTORS[-1:], rel=1e-12)


def test_every_policy_has_totals_of_its_own() -> None:
    balance = SilenceBalance()
    both = [(factors(balance, [each]), factors(balance, [[-1.0]], "b")) for each in UPDATES]
    assert [a for (a,), _ in both] == pytest.approx(FACTORS, rel=1e-12)
    assert [b for _, (b,) in both] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("cut", [0, 1, 2])
def test_resumed_totals_go_on(cut: int) -> None:
    first, second, whole = SilenceBalance(), SilenceBalance(), SilenceBalance()
    told = factors(first, UPDATES[:cut])
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert told + factors(second, UPDATES[cut:]) == factors(whole, UPDATES)


def test_a_checkpoint_of_an_earlier_version_has_no_totals() -> None:
    balance = SilenceBalance()
    balance.load_state_dict({})
    assert factors(balance, UPDATES) == pytest.approx(FACTORS, rel=1e-12)


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
