"""Caps and ledgers."""

from __future__ import annotations

import pytest

from laconic.envs.dialogue.budget import UNLIMITED, Budget, Ledger
from laconic.envs.errors import SettingError

AGENTS = ("solver_0", "helper_0", "helper_1")


@pytest.mark.parametrize("cap", ["message", "agent", "round", "episode"])
@pytest.mark.parametrize("value", [0, -1, True, 1.5, "5", float("inf")])
def test_a_cap_that_cannot_hold_one_token_is_refused_by_name(cap, value):
    with pytest.raises(SettingError, match=rf"budget\.{cap} must be null or a whole number"):
        Budget(**{cap: value})


def test_a_cap_of_one_token_is_the_smallest():
    assert Budget(message=1).message == 1


def test_without_caps_everything_is_unlimited_however_much_is_said():
    ledger = Ledger(Budget(), AGENTS)
    ledger.charge("solver_0", 10**6)
    assert ledger.left("solver_0") == (UNLIMITED,) * 4
    assert not ledger.spent


def test_a_cap_above_int32_is_shown_as_unlimited():
    ledger = Ledger(Budget(message=2**31, agent=10**12, round=2**40, episode=2**31), AGENTS)
    ledger.charge("solver_0", 1)
    # 2**31 - 1 left of the episode is exactly the largest int32.
    assert ledger.left("solver_0") == (UNLIMITED,) * 4


def test_what_is_left_follows_all_four_caps():
    ledger = Ledger(Budget(message=4, agent=5, round=7, episode=12), AGENTS)
    assert ledger.left("helper_0") == (4, 5, 7, 12)
    ledger.charge("solver_0", 4)
    # helper_0 has its own 5, but the round has 7 - 4 = 3 left and the episode 12 - 4 = 8.
    assert ledger.left("helper_0") == (3, 5, 3, 8)
    assert ledger.left("solver_0") == (1, 1, 3, 8)
    ledger.charge("helper_0", 3)
    assert ledger.left("helper_1") == (0, 5, 0, 5)
    ledger.start_round()
    # helper_0 has 5 - 3 = 2 left of its own; the round is whole again.
    assert ledger.left("helper_0") == (2, 2, 7, 5)
    assert ledger.left("helper_1") == (4, 5, 7, 5)


def test_the_episode_budget_is_spent_when_the_last_token_is_said():
    ledger = Ledger(Budget(episode=3), AGENTS)
    ledger.charge("solver_0", 2)
    assert not ledger.spent
    ledger.start_round()
    ledger.charge("helper_0", 1)
    assert ledger.spent


def test_both_ledgers_are_kept_for_each_agent():
    ledger = Ledger(Budget(), AGENTS)
    ledger.charge("helper_0", 2)
    ledger.read["solver_0"] += 7
    assert ledger.said == {"solver_0": 0, "helper_0": 2, "helper_1": 0}
    assert ledger.read == {"solver_0": 7, "helper_0": 0, "helper_1": 0}


def test_who_is_served_first_rotates_with_the_round():
    ledger = Ledger(Budget(), AGENTS)
    assert [ledger.serving_order(round)[0] for round in range(4)] == [*AGENTS, "solver_0"]
    assert ledger.serving_order(1) == ("helper_0", "helper_1", "solver_0")


def test_a_single_agent_is_always_served_first():
    assert Ledger(Budget(), ["solver_0"]).serving_order(5) == ("solver_0",)
