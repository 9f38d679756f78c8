"""One agent for Gymnasium with its teammates, and the turn-based form."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

from laconic import envs
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.wrappers import Teammate
from laconic.envs.wrappers.discrete_messages import DiscreteMessages
from laconic.envs.wrappers.interfaces import Oracle, SingleAgent, silent, turn_based


def test_the_agent_hears_its_teammates_and_is_paid(make_signal: Any) -> None:
    team = make_signal()
    env = SingleAgent(team, "solver_0", Oracle(team))
    observation, info = env.reset(seed=0)
    assert "What colour is the cup?" in observation["text"] and info["task"] == "own"
    observation, reward, terminated, truncated, _ = env.step("")
    assert observation["text"].endswith(": The cup is red.")
    assert (reward, terminated, truncated) == (0.0, False, False)
    _, reward, terminated, truncated, info = env.step("#### red")
    assert (reward, terminated, truncated, info["solved"]) == (1.0, True, False, True)


def test_the_agents_info_says_what_it_was_paid(make_signal: Any) -> None:
    env = SingleAgent(make_signal(), "solver_0")
    env.reset(seed=0)
    env.step("")
    *_, info = env.step("#### red")
    assert (info["task_reward"], info["billed"], info["charged"]) == (1.0, 0.0, 0.0)
    assert (env.metadata["reward"], env.metadata["max_reward"]) == ("common", 1.0)


def test_silent_teammates_are_the_default(make_signal: Any) -> None:
    env = SingleAgent(make_signal(), "solver_0")
    env.reset(seed=0)
    assert env.step("")[0]["text"] == "Nobody spoke."


def test_every_teammate_may_have_its_own_policy(make_signal: Any) -> None:
    team = make_signal()
    policies: dict[str, Teammate] = {
        "helper_0": silent,
        "helper_1": lambda agent, observation, info: f"{agent} in round {info['round']}",
        "helper_2": lambda agent, observation, info: str(observation["tokens_left"][0]),
    }
    env = SingleAgent(team, "solver_0", policies)
    env.reset(seed=0)
    text = env.step("")[0]["text"]
    assert text == "helper_1: helper_1 in round 0\nhelper_2: 2147483647"


def test_an_unknown_agent_and_a_missing_teammate_are_refused(make_signal: Any) -> None:
    with pytest.raises(UnknownNameError, match="unknown agent 'solver_1'. Did you mean 'solver_0'"):
        SingleAgent(make_signal(), "solver_1")
    with pytest.raises(
        SettingError, match="expected a teammate .* got none for helper_1, helper_2"
    ):
        SingleAgent(make_signal(), "solver_0", {"helper_0": silent})


def test_a_seed_and_a_task_are_handed_on(make_text: Any) -> None:
    env = SingleAgent(make_text(), make_text().possible_agents[0])
    key = list(make_text().tasks)[5]
    observation, info = env.reset(seed=3, options={"task": key})
    assert info["task"] == key and env.np_random_seed == 3
    assert str(env.reset(seed=3, options={"task": key})[0]) == str(observation)
    # Without a seed the environment goes on with the generator it has.
    tasks = {env.reset()[1]["task"] for _ in range(20)}
    assert len(tasks) > 3


def test_numbers_make_a_vector_of_environments(make_signal: Any) -> None:
    def make() -> SingleAgent:
        return SingleAgent(DiscreteMessages(make_signal(), words=8), "helper_0", lambda *_: 0)

    vector = gymnasium.vector.SyncVectorEnv([make, make])
    observations, infos = vector.reset(seed=1)
    assert observations.shape == (2, *make().observation_space.shape)
    assert infos["action_mask"].shape == (2, 4)
    vector.step([1, 0])
    vector.close()


def test_an_oracle_solves_every_task_and_leaves_out_what_does_not_matter() -> None:
    for name in ("gsm8k", "strategyqa", "signal"):
        env = envs.make(name, free=True, tasks=10, information="split", rounds=3)
        oracle = Oracle(env)
        for key, task in env.tasks.items():
            observations, infos = env.reset(seed=0, options={"task": key})
            while env.agents:
                messages = {a: oracle(a, observations[a], infos[a]) for a in env.agents}
                observations, *_, infos = env.step(messages)
            assert all(info["solved"] for info in infos.values()), (name, task)
            messages = " ".join(message.text for message in env.messages)
            flags = task.relevant or ()
            for text, flag in zip(task.statements, flags, strict=True):
                assert (text in messages) == flag


def test_an_oracle_does_not_answer_before_it_was_told_and_writes_its_draft_once() -> None:
    env = envs.make("signal", free=True, tasks=5, information="split", rounds=3)
    oracle = Oracle(env)
    observations, infos = env.reset(seed=0)
    assert oracle("solver_0", observations["solver_0"], infos["solver_0"]) == ""
    env = envs.make(
        "tldr", free=True, tasks=5, team={"concise": 1, "detailed": 1}, answer="joint", rounds=3
    )
    oracle = Oracle(env)
    observations, infos = env.reset(seed=0)
    draft = oracle("concise_0", observations["concise_0"], infos["concise_0"])
    assert draft == env.task.drafts["concise"][0]
    observations, *_, infos = env.step({"concise_0": draft})
    assert oracle("concise_0", observations["concise_0"], infos["concise_0"]) == ""


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
