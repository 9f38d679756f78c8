"""Whose turn it is."""

from __future__ import annotations

import pytest

from laconic.envs.dialogue.schedule import speakers
from laconic.envs.errors import SettingError, UnknownNameError

AGENTS = {"solver": ("solver_0",), "helper": ("helper_0", "helper_1")}
SOLVER, HELPERS = map(frozenset, AGENTS.values())


def test_all_is_a_cycle_of_one_round_in_which_everybody_speaks():
    assert speakers("all", AGENTS) == (SOLVER | HELPERS,)


def test_a_list_gives_the_agents_of_each_role_in_turn():
    assert speakers(["helper", "solver"], AGENTS) == (HELPERS, SOLVER)
    assert speakers(("helper", ["solver", "helper"]), AGENTS) == (HELPERS, SOLVER | HELPERS)


@pytest.mark.parametrize("schedule", [[], (), [[]], ["helper", []], [None], [3], None, 3])
def test_a_list_without_a_role_for_each_round_is_refused(schedule):
    with pytest.raises(SettingError, match=r"env\.schedule must be 'all' or a list"):
        speakers(schedule, AGENTS)


def test_an_unknown_role_names_the_nearest():
    with pytest.raises(UnknownNameError, match="'helpr'. Did you mean 'helper'"):
        speakers(["solver", "helpr"], AGENTS)


def test_a_word_that_is_not_all_is_no_schedule():
    with pytest.raises(UnknownNameError, match="unknown env.schedule 'al'. Did you mean 'all'"):
        speakers("al", AGENTS)
