"""Episodes as orchestration traces, by the field list of arXiv 2605.02801."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from laconic.extras.interop.chat import RecordedEpisode
from laconic.extras.interop.traces import trace
from laconic.learners.episode import Episode, Turn

REQUIRED = {"trace_id", "task_id", "events", "edges", "rewards", "costs"}
OPTIONAL = {"system", "topology", "metrics"}
EVENTS = {"spawn", "message", "orchestrator_decision", "tool_call", "return"}
"""Those of the ten kinds of events that are used here."""
EDGES = {"temporal", "message", "return"}
"""Those of the eight kinds of edges."""
AGENTS = ("solver_0", "helper_0", "helper_1")


def game(topology: object = "star", **fields) -> RecordedEpisode:
    """Two helpers, the second of them silent, and a solver that hears both."""
    turns = (
        Turn("helper_0", 0, "six", tokens_said=1),
        Turn("helper_1", 0, ""),
        Turn("solver_0", 1, "#### 6", tokens_said=2, tokens_thought=4),
    )
    paid = {agent: (0.0, 1.0) for agent in AGENTS}
    bills = {"solver_0": (0.0, 0.5), "helper_0": (0.25, 0.0), "helper_1": (0.0, 0.0)}
    rewards = {"solver_0": (0.0, 0.5), "helper_0": (-0.25, 1.0), "helper_1": (0.0, 1.0)}
    settings = {"solved": True, "answer": "6", "score": 1.0, "common": True, **fields}
    episode = Episode("t", turns, rewards, task_rewards=paid, bills=bills, **settings)
    return RecordedEpisode(episode, 0, {} if topology is None else {"topology": topology})


def test_a_trace_has_the_fields_of_the_schema_and_strict_json() -> None:
    made = trace(game(), 3)
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert set(made) >= REQUIRED and set(made) <= REQUIRED | OPTIONAL
    for event in made["events"]:
        assert {"id", "t", "type", "agent"} <= set(event) and event["type"] in EVENTS
        assert event["id"] and event["agent"] and event["t"] >= 0
    ids = [event["id"] for event in made["events"]]
    assert len({*ids}) == len(ids) == 3 + 3 + 1
    for edge in made["edges"]:
        assert set(edge) == {"src", "dst", "type"} and edge["type"] in EDGES
        assert edge["src"] in ids and edge["dst"] in ids
    assert made["trace_id"] == "t#3" and made["topology"] == "centralized"


def test_rewards_and_costs_are_those_of_the_episode() -> None:
    made = trace(game(), 0)
    # The task pays the team 1 once; 0.5 + 0.25 are billed. Returns: 0.5, 0.75 and 1.
    assert made["rewards"] == {
        "team": 1.0,
        "bill": 0.75,
        "agent:solver_0": 0.5,
        "agent:helper_0": 0.75,
        "agent:helper_1": 1.0,
    }
    # 1 + 2 said and 4 thought; two of the three turns are messages.
    assert made["costs"] == {"tokens": 7, "wall_clock_s": 0, "tool_calls": 0, "messages": 2}
    assert made["metrics"] == {"score": 1.0, "task_success": 1.0}


def edges(recorded: RecordedEpisode) -> list[tuple[str, str, str]]:
    return [(edge["src"], edge["dst"], edge["type"]) for edge in trace(recorded, 0)["edges"]]


def test_a_message_leads_to_those_that_hear_it_and_silence_to_nobody() -> None:
    answer = ("round2.solver_0", "answer", "return")
    assert edges(game()) == [("round1.helper_0", "round2.solver_0", "message"), answer]
    # Row i says whom agent i hears: here nobody hears anybody.
    assert edges(game([[0, 0, 0], [0, 0, 0], [0, 0, 0]])) == [answer]
    decision = trace(game(), 0)["events"][4]
    assert (decision["type"], decision["silent"]) == ("orchestrator_decision", True)


@pytest.mark.parametrize("topology", [None, "no such thing", {"a": 1}, [[1]]])
def test_where_it_is_unknown_who_hears_whom_no_edge_is_made_up(topology) -> None:
    assert [kind for *_, kind in edges(game(topology))] == ["return"]
    assert trace(game(topology), 0)["topology"] == "unknown"


def test_numbers_that_are_not_finite_are_left_out() -> None:
    made = trace(game(score=math.nan, solved=None), 0)
    assert made["metrics"] == {}


def test_turns_of_one_agent_follow_each_other() -> None:
    turns = tuple(Turn("a_0", round, "x") for round in range(3))
    assert edges(RecordedEpisode(Episode("t", turns, {"a_0": (0.0,) * 3}))) == [
        ("round1.a_0", "round2.a_0", "temporal"),
        ("round2.a_0", "round3.a_0", "temporal"),
        ("round3.a_0", "answer", "return"),
    ]


@pytest.mark.parametrize(
    ("addressing", "message", "listeners"),
    [
        # Two links lead from a leaf of the star to the other one.
        ("none", "@helper_1: six", {"solver_0"}),
        ("names", "@solver: six", {"solver_0"}),
        ("names", "@helper_1: six", set()),
        ("scopes", "@all: six", {"solver_0", "helper_1"}),
    ],
)
def test_edges_follow_the_addresses(addressing, message, listeners) -> None:
    recorded = game()
    first, *others = recorded.episode.turns
    turns = (replace(first, message=message), *others, Turn("helper_1", 1, ""))
    episode = replace(recorded.episode, turns=turns)
    env = {"topology": "star", "addressing": addressing}
    edges = trace(RecordedEpisode(episode, 0, env), 0)["edges"]
    reached = {edge["dst"] for edge in edges if edge["type"] == "message"}
    assert reached == {f"round2.{agent}" for agent in listeners}
