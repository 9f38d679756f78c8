"""Names of agents."""

from __future__ import annotations

import pytest

from laconic.envs.dialogue.roster import agent_names, role_of
from laconic.envs.errors import SettingError


def test_agents_are_numbered_within_each_role_in_the_order_of_the_team():
    assert agent_names({"solver": 2, "helper": 1}) == ["solver_0", "solver_1", "helper_0"]


def test_the_role_of_a_name_may_hold_underscores():
    assert [role_of(name) for name in agent_names({"fact_checker": 1})] == ["fact_checker"]


@pytest.mark.parametrize("team", [{}, None, ["solver"], 3])
def test_an_empty_team_or_none_is_refused(team):
    with pytest.raises(SettingError, match=r"env\.team must give each role a number of agents"):
        agent_names(team)


@pytest.mark.parametrize("count", [0, -1, True, 1.0, "2", None])
def test_a_role_needs_a_whole_number_of_at_least_one_agent(count):
    with pytest.raises(
        SettingError, match=r"env\.team\.helper must be a whole number of at least 1; got"
    ):
        agent_names({"solver": 1, "helper": count})


@pytest.mark.parametrize("role", ["", "a b", "a:", "a\nb", 3, "1st"])
def test_a_role_must_be_a_plain_word(role):
    with pytest.raises(SettingError, match=r"a role in env\.team must be letters"):
        agent_names({role: 1})
