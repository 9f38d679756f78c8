"""The formulas of GovSim, by hand."""

from __future__ import annotations

import pytest

from laconic.envs.worlds.commons.measures import overuse, scored
from laconic.envs.worlds.commons.state import Month, State

AGENTS = ("a_0", "a_1")


def state(*harvests, collapsed=False, words=0):
    stock, months = 100, []
    for first, second in harvests:
        both = {"a_0": first, "a_1": second}
        months.append(Month(stock, both, both, 25))
        stock = min(100, 2 * (stock - first - second))
    return State(AGENTS, stock, tuple(months), words=words, collapsed=collapsed)


def test_every_measure_of_a_short_life():
    # 30 + 10 and 30 + 30 units of a 100 and a 100: 60 and 40, gone in the second of four months.
    found = scored(
        state((30, 10), (30, 30), collapsed=True, words=7), {"a_0": 60.0, "a_1": 40.0}, 4, False
    )
    assert found.value == pytest.approx(50 / 120)
    assert (found.solved, found.answer) == (False, "2 months, 60, 40 each")
    assert found.measures == pytest.approx(
        {
            "months": 2,
            "survived": 0,
            "survived_to_last": 0,
            "gain": 50,
            # 4 * 50 could have been had, and 100 were.
            "efficiency": 0.5,
            # |60 - 40| twice, over 2 * 2 * 100.
            "equality": 0.9,
            # 20 * 2 / (4 * 40) = 0.25 in the first month, 0 in the second.
            "monthly_gini": 0.125,
            # 30, 30 and 30 of four harvests are over 25.
            "overuse": 0.75,
            "words_per_month": 3.5,
        },
        rel=1e-12,
    )


def test_efficiency_is_clipped_at_one():
    assert scored(state((50, 50)), {"a_0": 50.0, "a_1": 50.0}, 1, False).measures["efficiency"] == 1


def test_whose_trash_is_too_little():
    assert overuse(Month(100, {"a_0": 9, "a_1": 10}, {}, 10), inverse=True) == 1
    assert overuse(Month(100, {"a_0": 9, "a_1": 11}, {}, 10), inverse=False) == 1
