"""Who hears whom."""

from __future__ import annotations

import numpy as np
import pytest

from laconic.envs.dialogue.topology import NAMED, by_round, hears
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
    assert hears(name, AGENTS) == expected


@pytest.mark.parametrize("name", NAMED)
def test_an_agent_alone_hears_nobody(name):
    assert hears(name, ["a_0"]) == {"a_0": ()}


def test_a_ring_of_two_links_both_once():
    assert hears("ring", ["a_0", "b_0"]) == {"a_0": ("b_0",), "b_0": ("a_0",)}


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("count", [2, 3, 5])
def test_named_topologies_are_symmetric_and_nobody_hears_itself(name, count):
    agents = [f"a_{number}" for number in range(count)]
    heard = hears(name, agents)
    assert all(agent not in heard[agent] for agent in agents)
    assert all(a in heard[b] for a in agents for b in heard[a])


@pytest.mark.parametrize("form", [list, np.array])
def test_a_matrix_is_directed_by_row_and_its_diagonal_is_ignored(form):
    matrix = form([[1, 1], [0, 1]])
    assert hears(matrix, ["a_0", "b_0"]) == {"a_0": ("b_0",), "b_0": ()}


@pytest.mark.parametrize(
    "matrix",
    [[], [[0, 1]], [[0, 1], [1]], [[0, 1], [1, 0], [0, 0]], [0, 1], 5, ["01", "10"], [[0, 2]] * 2],
)
def test_a_matrix_of_another_shape_or_content_is_refused_with_the_agents(matrix):
    with pytest.raises(SettingError, match=r"2 rows and columns, one per agent \(a_0, b_0\)"):
        hears(matrix, ["a_0", "b_0"])


def test_an_unknown_topology_names_the_nearest():
    with pytest.raises(UnknownNameError, match="unknown env.topology 'strar'. Did you mean 'star'"):
        hears("strar", AGENTS)


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
    assert by_round(topology, agents) == tuple(hears(one, agents) for one in rounds)


@pytest.mark.parametrize("wrong", [[], ["star", [0, 1]], [["star"]], [[0, 1]], ["star", 3]])
def test_a_list_with_something_else_in_it_is_refused(wrong):
    with pytest.raises((SettingError, UnknownNameError), match="topology"):
        by_round(wrong, ("a_0", "b_0"))
