from __future__ import annotations

from typing import Any

from laconic.envs.wrappers.discrete_messages import DiscreteMessages
from laconic.envs.wrappers.turn_based import turn_based


def test_agents_act_in_turn_and_nobody_hears_before_the_round_is_over(make_signal: Any) -> None:
    env = turn_based(make_signal(schedule="all", topology="complete"))
    env.reset(seed=0)
    for agent in env.possible_agents:
        assert env.agent_selection == agent
        assert "What colour is the cup?" in env.last()[0]["text"]
        env.step(f"I am {agent}.")
    assert env.last()[0]["text"].splitlines() == [
        f"{agent}: I am {agent}." for agent in env.possible_agents[1:]
    ]


def test_an_agent_that_has_ended_is_stepped_with_none(make_signal: Any) -> None:
    env = turn_based(make_signal(schedule="all", rounds=1))
    env.reset(seed=0)
    actions = []
    for agent in env.agent_iter():
        *_, terminated, truncated, info = env.last()
        actions.append(None if terminated or truncated else "#### red" * (agent == "solver_0"))
        env.step(actions[-1])
    assert actions == ["#### red", "", "", "", None, None, None, None]
    assert env.agents == [] and info["solved"]


def test_a_state_keeps_its_space(make_signal: Any) -> None:
    inner = DiscreteMessages(make_signal(), words=4)
    env = turn_based(inner)
    env.reset(seed=0)
    assert env.state_space is inner.state_space and env.state() in env.state_space
