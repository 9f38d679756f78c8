"""Topologies as lists of links: the same as matrices, and a step in time linear in the links."""

from __future__ import annotations

import time

import pytest

from laconic import envs
from laconic.envs import Reward
from laconic.envs.dialogue.roster import NAMED, hearing, hearing_by_round
from laconic.envs.errors import SettingError, UnknownNameError

# Whether agents i and j of n are linked.
LINKED = {
    "complete": lambda i, j, n: True,
    "star": lambda i, j, n: 0 in (i, j),
    "chain": lambda i, j, n: abs(i - j) == 1,
    "ring": lambda i, j, n: (i - j) % n in (1, n - 1),
    "tree": lambda i, j, n: (max(i, j) - 1) // 2 == min(i, j),
    "none": lambda i, j, n: False,
}
AGENTS = ("a_0", "a_1", "a_2", "a_3")


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 13])
def test_a_named_topology_equals_its_matrix(name, count):
    agents = [f"a_{number}" for number in range(count)]
    matrix = [[int(LINKED[name](i, j, count)) for j in range(count)] for i in range(count)]
    assert hearing(name, agents) == hearing(matrix, agents)


def test_a_mapping_lists_the_agents_that_each_agent_hears():
    # In the order of the agents, each once, and no agent hears itself.
    links = {"a_2": ["a_3", "a_0", "a_3"], "a_0": ["a_0", "a_1"]}
    matrix = [[0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0]]
    assert hearing(links, AGENTS) == hearing(matrix, AGENTS)
    assert hearing(links, AGENTS)["a_2"] == ("a_0", "a_3")


def test_mappings_take_turns_with_names_and_matrices():
    links = {"a_0": ["a_1"]}
    matrix = [[0, 1], [0, 0]]
    rounds = hearing_by_round([links, "complete", matrix], AGENTS[:2])
    assert rounds == tuple(hearing(each, AGENTS[:2]) for each in (links, "complete", links))


@pytest.mark.parametrize("links", [{"b_0": ["a_1"]}, {"a_0": ["a_1", "b_0"]}])
def test_a_mapping_with_an_unknown_agent_names_it(links):
    with pytest.raises(UnknownNameError, match=r"unknown agent in env\.topology 'b_0'"):
        hearing(links, AGENTS)


@pytest.mark.parametrize("names", ["a_1", 1, None])
def test_a_mapping_without_a_list_names_the_listener(names):
    with pytest.raises(SettingError, match=r"env\.topology\.a_2 must be a list of the agents"):
        hearing({"a_2": names}, AGENTS)


def test_a_mapping_decides_who_reads_what():
    links = {"solver_0": ["helper_1"], "helper_0": ["solver_0", "helper_1"]}
    team = {"solver": 1, "helper": 2}
    env = envs.make("signal", free=True, tasks=2, team=team, topology=links, rounds=3)
    env.reset(seed=0)
    words = {"helper_0": "one", "helper_1": "two", "solver_0": "three"}
    texts = {agent: seen["text"] for agent, seen in env.step(words)[0].items()}
    assert texts == {
        "solver_0": "helper_1: two",
        "helper_0": "solver_0: three\nhelper_1: two",
        "helper_1": "Nobody spoke.",
    }


SIZES = (1_000, 3_000, 10_000)
SETTINGS: dict[str, dict] = {
    "plain": {},
    "addressed, charged by listener, lost": {
        "addressing": "scopes",
        "answer": "majority",
        "channel": {"lose": 0.3},
        "instructions": "full",
        "reward": Reward(price=1.0, charge="listeners", read_price=1.0),
    },
}


def seconds_of_a_step(count: int, settings: dict, reach: int = 2) -> float:
    """Return the least processor time of a step in which all agents speak to twice `reach` others.

    They are the nearest on both sides.
    """
    agents = ["solver_0", *(f"helper_{number}" for number in range(count - 1))]
    steps = [step for step in range(-reach, reach + 1) if step]
    links = {
        agent: [agents[(place + step) % count] for step in steps]
        for place, agent in enumerate(agents)
    }
    env = envs.make(
        "signal",
        free=True,
        tasks=2,
        **{"instructions": "brief"} | settings,
        team={"solver": 1, "helper": count - 1},
        topology=links,
        rounds=5,
    )
    env.reset(seed=0)
    words = dict.fromkeys(agents, "red")
    times = []
    for _ in range(4):
        # An answer of the solver would end the episode.
        start = time.process_time()
        observations, *_ = env.step({**words, "solver_0": "hello"})
        times.append(time.process_time() - start)
        assert env.agents and observations["helper_9"]["text"].count("\n") <= 2 * reach - 1
    assert len(times) == 4
    return min(times)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_step_takes_time_linear_in_the_links(name):
    # At ten times the agents and links a linear step takes about ten times as long, and a quadratic
    # one a hundred times.
    least, middle, most = (seconds_of_a_step(count, SETTINGS[name]) for count in SIZES)
    assert 1.5 < middle / least < 6
    assert 5 < most / least < 25


def test_a_line_that_all_agents_read_is_written_and_counted_once():
    # 999 lines of an agent take about 20 times as long as four, which is copying alone; 60 times if
    # each agent's text were cut into tokens.
    few, all_others = (seconds_of_a_step(1_001, {}, reach) for reach in (2, 500))
    assert all_others < 40 * few
