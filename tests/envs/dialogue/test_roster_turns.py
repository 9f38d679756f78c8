"""Who hears whom, and whose turn it is."""

from __future__ import annotations

import numpy as np
import pytest

from laconic.envs.dialogue.roster import NAMED, hearing, hearing_by_round, speakers
from laconic.envs.errors import SettingError, UnknownNameError

AGENTS = ("a_0", "b_0", "b_1", "b_2")

# Agents by their place: whom agent 0, 1, 2 and 3 hear.
LINKS = {
    "complete": ("123", "023", "013", "012"),
    "star": ("123", "0", "0", "0"),
    "chain": ("1", "02", "13", "2"),
    "ring": ("13", "02", "13", "02"),
    "tree": ("12", "03", "0", "1"),
    "none": ("", "", "", ""),
}


@pytest.mark.parametrize("name", NAMED)
def test_each_named_topology_links_four_agents_as_drawn(name):
    expected = {
        listener: tuple(AGENTS[int(place)] for place in places)
        for listener, places in zip(AGENTS, LINKS[name], strict=True)
    }
    assert hearing(name, AGENTS) == expected


@pytest.mark.parametrize("name", NAMED)
def test_an_agent_alone_hears_nobody(name):
    assert hearing(name, ["a_0"]) == {"a_0": ()}


def test_a_ring_of_two_links_both_once():
    assert hearing("ring", ["a_0", "b_0"]) == {"a_0": ("b_0",), "b_0": ("a_0",)}


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("count", [2, 3, 5])
def test_named_topologies_are_symmetric_and_nobody_hears_itself(name, count):
    agents = [f"a_{number}" for number in range(count)]
    hears = hearing(name, agents)
    assert all(agent not in hears[agent] for agent in agents)
    assert all(a in hears[b] for a in agents for b in hears[a])


@pytest.mark.parametrize("form", [list, np.array])
def test_a_matrix_is_directed_by_row_and_its_diagonal_is_ignored(form):
    matrix = form([[1, 1], [0, 1]])
    assert hearing(matrix, ["a_0", "b_0"]) == {"a_0": ("b_0",), "b_0": ()}


@pytest.mark.parametrize(
    "matrix",
    [[], [[0, 1]], [[0, 1], [1]], [[0, 1], [1, 0], [0, 0]], [0, 1], 5, ["01", "10"], [[0, 2]] * 2],
)
def test_a_matrix_of_another_shape_or_content_is_refused_with_the_agents(matrix):
    with pytest.raises(SettingError, match=r"2 rows and columns, one per agent \(a_0, b_0\)"):
        hearing(matrix, ["a_0", "b_0"])


def test_an_unknown_topology_names_the_nearest():
    with pytest.raises(UnknownNameError, match="unknown env.topology 'strar'. Did you mean 'star'"):
        hearing("strar", AGENTS)


SQUARE = [[0, 1], [0, 0]]


@pytest.mark.parametrize(
    ("topology", "rounds"),
    [
        ("star", ["star"]),
        (["star"], ["star"]),
        (["none", "complete", SQUARE], ["none", "complete", SQUARE]),
        (SQUARE, [SQUARE]),
        ([SQUARE], [SQUARE]),
        ([SQUARE, SQUARE], [SQUARE, SQUARE]),
    ],
)
def test_a_list_has_one_topology_for_each_round(topology, rounds):
    agents = ("a_0", "b_0")
    assert hearing_by_round(topology, agents) == tuple(hearing(each, agents) for each in rounds)


@pytest.mark.parametrize("wrong", [[], ["star", [0, 1]], [["star"]], [[0, 1]], ["star", 3]])
def test_a_list_with_something_else_in_it_is_refused(wrong):
    with pytest.raises((SettingError, UnknownNameError), match="topology"):
        hearing_by_round(wrong, ("a_0", "b_0"))


BY_ROLE = {"solver": ("solver_0",), "helper": ("helper_0", "helper_1")}
SOLVER, HELPERS = map(frozenset, BY_ROLE.values())


def test_all_is_a_cycle_of_one_round_in_which_everybody_speaks():
    assert speakers("all", BY_ROLE) == (SOLVER | HELPERS,)


def test_a_list_gives_the_agents_of_each_role_in_turn():
    assert speakers(["helper", "solver"], BY_ROLE) == (HELPERS, SOLVER)
    assert speakers(("helper", ["solver", "helper"]), BY_ROLE) == (HELPERS, SOLVER | HELPERS)


@pytest.mark.parametrize("schedule", [[], (), [[]], ["helper", []], [None], [3], None, 3])
def test_a_list_without_a_role_for_each_round_is_refused(schedule):
    with pytest.raises(SettingError, match=r"env\.schedule must be 'all' or a list"):
        speakers(schedule, BY_ROLE)


def test_an_unknown_role_in_a_schedule_names_the_nearest():
    with pytest.raises(UnknownNameError, match="'helpr'. Did you mean 'helper'"):
        speakers(["solver", "helpr"], BY_ROLE)


def test_a_word_that_is_not_all_is_no_schedule():
    with pytest.raises(UnknownNameError, match="unknown env.schedule 'al'. Did you mean 'all'"):
        speakers("al", BY_ROLE)
