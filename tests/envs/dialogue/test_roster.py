"""Who answers, who holds statements, and whose turn it is."""

from __future__ import annotations

import re

import pytest

from laconic.envs.dialogue.roster import Roster, check_actions
from laconic.envs.errors import SettingError, UnknownNameError

TEAM = {"solver": 2, "helper": 1}
AGENTS = ("solver_0", "solver_1", "helper_0")


def roster(answer="solver", schedule="all", rounds=2):
    return Roster.of(TEAM, "star", schedule, answer, rounds)


def test_the_agents_of_the_answering_role_answer():
    assert roster().agents == AGENTS
    assert roster("solver").answering == ("solver_0", "solver_1")
    assert roster("majority").answering == roster("joint").answering == AGENTS


def test_an_unknown_role_names_the_nearest():
    with pytest.raises(UnknownNameError, match="'solvr'. Did you mean 'solver'.*joint.*majority"):
        roster("solvr")


def test_a_role_or_all_agents_answer():
    results = [(each.by_role, each.joint) for each in map(roster, ("solver", "majority", "joint"))]
    assert results == [(True, False), (False, False), (False, True)]


def test_statements_go_to_those_who_do_not_answer_if_there_are_any():
    assert roster("solver").holders == ("helper_0",)
    assert roster("joint").holders == AGENTS


def test_turns_follow_the_schedule_over_and_over():
    team = roster(schedule=["helper", "solver"])
    assert [team.in_turn("helper_0", index) for index in range(4)] == [True, False, True, False]
    assert [team.in_turn("solver_1", index) for index in range(4)] == [False, True, False, True]


def test_a_schedule_in_which_nobody_can_answer_is_refused():
    with pytest.raises(SettingError, match="solver_0 or solver_1 a turn to answer within"):
        roster(schedule=["helper", "solver"], rounds=1)
    assert roster("helper", ["helper", "solver"], 1).answering == ("helper_0",)
    # Turns name agents in order: of seven, another order is as good as certain otherwise.
    names = ", ".join(f"'helper_{number}'" for number in range(7))
    with pytest.raises(SettingError, match=re.escape(f"turns [[{names}]")):
        Roster.of({"solver": 1, "helper": 7}, "star", ["helper", "solver"], "solver", 1)


@pytest.mark.parametrize(
    ("answer", "schedule", "rounds", "fits"),
    [
        # Who answers, whose turn it is, rounds. Agents that do not answer hold the statements.
        ("solver", "all", 2, True),
        ("solver", ["helper", "solver"], 2, True),
        # A second turn comes after the other role's first.
        ("helper", ["helper", "solver"], 3, True),
        ("helper", ["solver", "helper"], 2, True),
        # All agents answer and hold a part.
        ("majority", "all", 1, True),
        # One turn each, the answer first.
        ("helper", ["helper", "solver"], 2, False),
        # At the same time, and once only.
        ("solver", "all", 1, False),
        ("solver", [["helper", "solver"]], 1, False),
        # Agents with statements never speak.
        ("solver", ["solver"], 4, False),
    ],
)
def test_an_answer_comes_after_the_first_words_of_those_who_hold_statements(
    answer, schedule, rounds, fits
):
    team = roster(answer, schedule, rounds)
    if fits:
        team.check_order(rounds)
        return
    role = "solver" if answer == "helper" else "helper"
    with pytest.raises(SettingError, match="answers before it can hear of them") as error:
        team.check_order(rounds)
    # What the message advises is right.
    assert f"env.schedule=[[{role}],{answer}]" in str(error.value)
    roster(answer, [[role], answer], 2).check_order(2)


def test_it_is_a_key_so_that_what_is_told_of_it_is_written_once():
    assert hash(roster()) == hash(roster())
    assert roster() == roster() != roster("joint")


def test_any_string_of_an_agent_is_an_action_and_nothing_else():
    check_actions({"a_0": ""}, ["a_0", "b_0"])
    with pytest.raises(UnknownNameError, match="agent 'c_0'"):
        check_actions({"c_0": ""}, ["a_0"])
    with pytest.raises(SettingError, match="action of 'a_0' must be a string; got 3"):
        check_actions({"a_0": 3}, ["a_0"])
