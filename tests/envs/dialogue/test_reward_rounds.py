"""The price of time: task reward that each played round costs the team.

The team: solver_0, helper_0 and helper_1; one character is one token. `#7` commits to the answer.
"""

from __future__ import annotations

import math
import random
from dataclasses import astuple

import pytest
from gymnasium.utils.env_checker import data_equivalence

from laconic import envs
from laconic.envs.contract import check_env
from laconic.envs.dialogue.budget import Budget
from laconic.envs.dialogue.reward import Account, Pay, Reward
from laconic.envs.errors import SettingError
from laconic.envs.task import Score

PRICE = {"price": 0.5, "normalizer": 10, "round_price": 0.25}
"""A token costs 0.05, a round 0.25."""


def play(env, rounds):
    """Play rounds of messages in the order of agents; return rewards and infos of each round."""
    played = []
    for texts in rounds:
        _, rewards, _, _, infos = env.step(dict(zip(env.possible_agents, texts, strict=True)))
        assert rewards.keys() == infos.keys() == set(env.possible_agents)
        played.append((rewards, infos))
    assert env.agents == []
    return played


def column(played, key, agent="helper_0"):
    return [infos[agent][key] for _, infos in played]


@pytest.mark.parametrize("price", [-0.1, math.nan, math.inf, "1", True, None])
def test_a_price_below_zero_or_no_number_is_refused(price):
    with pytest.raises(SettingError, match=r"env\.reward\.round_price must be a finite number of"):
        Reward(round_price=price)


def test_time_is_off_the_task_reward_of_every_agent_and_no_bill():
    pay = Account(Reward(**PRICE)).pay({"a": 2, "b": 0}, Score(1.0, True, "7"))
    assert pay == {"a": Pay(0.75, 0.1, 0.1), "b": Pay(0.75, 0.0, 0.0)}
    assert pay["a"].reward == 0.75 - 0.1


def test_each_played_round_costs_and_score_and_verdict_stay(start):
    played = play(start(reward=Reward(**PRICE)), [("", "abcd", ""), ("#7", "", "")])
    for agent in ("solver_0", "helper_0", "helper_1"):
        assert column(played, "task_reward", agent) == [-0.25, 0.75]
    assert column(played, "billed") == [0.2, 0.0]
    assert [rewards["helper_0"] for rewards, _ in played] == pytest.approx([-0.45, 0.75])
    assert (played[1][1]["solver_0"]["score"], played[1][1]["solver_0"]["solved"]) == (1.0, True)


def test_a_silent_team_pays_for_the_rounds_it_plays(start):
    # It ends by silence after the second of three rounds.
    played = play(start(reward=Reward(**PRICE)), [("", "", "")] * 2)
    assert column(played, "task_reward") == column(played, "task_reward", "solver_0") == [-0.25] * 2
    assert played[1][1]["helper_0"]["ended_by"] == "silence"


def test_an_early_answer_saves_the_rounds_left_and_a_spent_budget_too(start):
    assert column(play(start(reward=Reward(**PRICE)), [("#7", "", "")]), "task_reward") == [0.75]
    env = start(reward=Reward(**PRICE), budget=Budget(episode=4))
    played = play(env, [("", "abcd", "")])
    assert column(played, "task_reward") == [-0.25]
    assert played[0][1]["helper_0"]["ended_by"] == "budget"


def test_where_every_round_pays_each_played_one_costs_once(start):
    # One score a round, and in the second one that of the third round as well, which takes no time.
    played = play(start(reward=Reward(**PRICE, paid="round")), [("7", "", ""), ("#7", "", "")])
    assert column(played, "task_reward") == [0.75, 1.75]


@pytest.mark.parametrize("charge", ["own", "team", "listeners"])
def test_a_failed_episode_pays_for_time_whoever_is_charged_and_when(start, charge):
    env = start(reward=Reward(**PRICE, charge=charge, when="solved"))
    played = play(env, [("", "abcd", ""), ("#8", "", "")])
    assert column(played, "task_reward") == [-0.25, -0.25]
    assert column(played, "charged") == [0.0, 0.0]


def test_a_single_agent_pays_for_its_rounds(make_env):
    env = make_env(team={"solver": 1}, rounds=3, reward=Reward(**PRICE))
    env.reset(seed=0, options={"task": "fruit"})
    # Alone it ends by silence as well, before the last of three rounds.
    rewards = [env.step({"solver_0": text})[1]["solver_0"] for text in ("abc", "")]
    assert rewards == pytest.approx([-0.25 - 0.15, -0.25]) and env.agents == []


def test_a_measure_that_pays_is_lowered_by_time():
    env = envs.make(
        "gsm8k",
        free=True,
        tasks=2,
        team={"solver": 1},
        reward={"measure": "stated", "round_price": 0.25},
    )
    env.reset(seed=0)
    *_, infos = env.step({"solver_0": "#### 123456"})
    # Stated and wrong: paid 1, less one round.
    assert (infos["solver_0"]["task_reward"], infos["solver_0"]["solved"]) == (0.75, False)
    assert (env.metadata["max_reward"], env.metadata["round_price"]) == (1.0, 0.25)


def test_agents_are_told_that_rounds_cost(make_env):
    for price, told in ((0.0, False), (0.25, True)):
        env = make_env(reward=Reward(round_price=price))
        text = env.reset(seed=0)[0]["solver_0"]["text"]
        assert ("Every round costs the team reward." in text) == told


def test_the_contract_holds_with_a_price_of_time(make_env):
    check_env(lambda: make_env(reward=Reward(**PRICE), rounds=3))
    check_env(lambda: envs.make("boxnet", tasks=2, steps=2, reward={"round_price": 0.1}))


def drawn(generator):
    """Return random settings of a reward and an environment."""
    reward = {
        "price": generator.choice([0.0, 0.7, 3.0]),
        "normalizer": generator.choice([1.0, 7.0]),
        "charge": generator.choice(["own", "team", "listeners"]),
        "when": generator.choice(["always", "solved"]),
        "paid": generator.choice(["end", "round"]),
        "read_price": generator.choice([0.0, 0.3]),
    }
    budget = Budget(message=generator.choice([None, 3]), episode=generator.choice([None, 9]))
    answer = generator.choice(["solver", "majority"])
    # Full instructions would say that rounds cost, and agents would read a sentence more.
    return reward, {"answer": answer, "budget": budget, "instructions": "brief"}


def episode(start, seed, reward, settings):
    """Play babble; return all that the environment returns, without the first texts."""
    generator = random.Random(seed)
    env, steps = start(seed=seed, reward=reward, **settings), []
    words = ["", "", "a", "abc", "#7", "#8", "so #7", "<think>ab</think>", "<think>x</think>#7"]
    while env.agents:
        steps.append(env.step({agent: generator.choice(words) for agent in env.agents}))
    return steps


@pytest.mark.parametrize("seed", range(30))
def test_a_price_of_zero_changes_nothing_and_any_other_the_task_reward_alone(start, seed):
    reward, settings = drawn(random.Random(seed))
    plain = episode(start, seed, Reward(**reward), settings)
    for zero in (0, 0.0):
        same = episode(start, seed, Reward(**reward, round_price=zero), settings)
        assert data_equivalence(plain, same, exact=True)
        assert str(plain) == str(same)
    priced = episode(start, seed, Reward(**reward, round_price=0.375), settings)
    assert len(priced) == len(plain)
    for (seen, paid, *ends, infos), (saw, was, *ended, told) in zip(priced, plain, strict=True):
        assert data_equivalence((seen, ends), (saw, ended), exact=True)
        for agent, info in told.items():
            time = {"task_reward": info["task_reward"] - 0.375}
            assert data_equivalence(infos[agent], {**info, **time}, exact=True)
            assert paid[agent] == time["task_reward"] - info["charged"]
            assert paid[agent] == pytest.approx(was[agent] - 0.375, abs=1e-12)


def test_the_default_is_no_price_of_time():
    assert astuple(Reward()) == astuple(Reward(round_price=0.0))
    assert envs.make("gsm8k", tasks=1).metadata["round_price"] == 0.0
