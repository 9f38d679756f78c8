"""Infos about the pay of a round: task reward, bill and charge.

The team: solver_0, helper_0 and helper_1; one character is one token. `#7` commits to the
answer, in two tokens, which are free once.
"""

from __future__ import annotations

import itertools
import random

import pytest

from laconic import envs
from laconic.envs.contract import check_env
from laconic.envs.dialogue.budget import Budget
from laconic.envs.dialogue.reward import PAY, Reward

CHARGES, WHENS, PAID = ("own", "team"), ("always", "solved"), ("end", "round")
PRICE = {"price": 0.5, "normalizer": 10}
"""A token costs 0.05."""


def _play(env, rounds):
    """Play rounds of messages in the order of agents; rewards and infos of each round."""
    played = []
    for texts in rounds:
        _, rewards, _, _, infos = env.step(dict(zip(env.possible_agents, texts, strict=True)))
        assert rewards.keys() == infos.keys() and rewards
        played.append((rewards, infos))
    return played


def _column(played, key, agent):
    return [infos[agent][key] for _, infos in played]


def test_the_first_infos_say_that_nothing_was_paid_yet(make_env):
    _, infos = make_env(reward=Reward(**PRICE)).reset(seed=0)
    assert all(info[key] == 0.0 for info in infos.values() for key in PAY)


@pytest.mark.parametrize(("charge", "when"), list(itertools.product(CHARGES, WHENS)))
def test_a_solved_episode_says_who_cost_what_in_which_round(start, charge, when):
    env = start(reward=Reward(**PRICE, charge=charge, when=when))
    # helper_0 says 4, helper_1 thinks 3 and says 2; solver_0 answers in 2 free tokens and 3 more.
    played = _play(env, [("", "abcd", "<think>xyz</think>ab"), ("so #7", "", "a")])
    assert _column(played, "task_reward", "solver_0") == [0.0, 1.0]
    assert _column(played, "task_reward", "helper_1") == [0.0, 1.0]
    bills = {"solver_0": [0, 3], "helper_0": [4, 0], "helper_1": [5, 1]}
    for agent, tokens in bills.items():
        assert _column(played, "billed", agent) == [0.05 * count for count in tokens]
    charged = {
        ("own", "always"): [[0.0, 0.15], [0.2, 0.0], [0.25, 0.05]],
        ("own", "solved"): [[0.0, 0.15], [0.0, 0.2], [0.0, 0.3]],
        # Nine tokens in the first round and four in the second.
        ("team", "always"): [[0.45, 0.2]] * 3,
        ("team", "solved"): [[0.0, 0.65]] * 3,
    }[charge, when]
    for agent, expected in zip(env.possible_agents, charged, strict=True):
        assert _column(played, "charged", agent) == pytest.approx(expected, rel=1e-12)


def test_a_failed_episode_is_billed_and_with_solved_not_charged(start):
    env = start(reward=Reward(**PRICE, when="solved"))
    played = _play(env, [("", "abcd", ""), ("#8", "", "")])
    assert _column(played, "billed", "helper_0") == [0.2, 0.0]
    assert _column(played, "charged", "helper_0") == [0.0, 0.0]
    assert _column(played, "task_reward", "helper_0") == [0.0, 0.0]


def test_an_exempt_answer_is_not_billed_a_second_time(start):
    # Three rounds of a vote: the answer is free in the first round and costs 2 tokens after it.
    env = start(answer="majority", reward=Reward(**PRICE))
    played = _play(env, [("#7", "", "")] * 2)
    assert _column(played, "billed", "solver_0") == [0.0, 0.1]
    whole = start(answer="majority", reward=Reward(**PRICE, exempt_answer=False))
    assert _column(_play(whole, [("#7", "", "")] * 2), "billed", "solver_0") == [0.1, 0.1]


def test_thoughts_are_billed_by_their_weight(start):
    for weight, expected in ((1.0, 0.35), (0.5, 0.225), (0.0, 0.1)):
        # Five tokens of a thought, and two of speech: 0.05 * (2 + 5 * weight).
        env = start(reward=Reward(**PRICE, thought_weight=weight))
        played = _play(env, [("", "<think>abcde</think>ab", "")])
        assert _column(played, "billed", "helper_0") == pytest.approx([expected], rel=1e-12)


def test_where_every_round_pays_the_rounds_left_are_task_reward_too(start):
    env = start(reward=Reward(**PRICE, paid="round"))
    played = _play(env, [("7", "ab", ""), ("#7", "", "")])
    # One score a round, and in the last one that of the third round as well.
    assert _column(played, "task_reward", "helper_0") == [1.0, 2.0]
    assert _column(played, "charged", "helper_0") == [0.1, 0.0]


def _babble(generator):
    words = ["", "", "a", "abc", "#7", "#8", "so #7", "<think>ab</think>", "<think>x</think>#7"]
    return [generator.choice(words) for _ in range(3)]


@pytest.mark.parametrize("seed", range(40))
def test_a_reward_is_what_the_task_paid_less_the_charge_to_the_last_bit(start, seed):
    generator = random.Random(seed)
    reward = Reward(
        price=generator.choice([0.0, 0.1, 0.7, 3.0]),
        normalizer=generator.choice([1.0, 7.0, 64.0]),
        charge=generator.choice(CHARGES),
        when=generator.choice(WHENS),
        paid=generator.choice(PAID),
        exempt_answer=generator.random() < 0.5,
        thought_weight=generator.choice([0.0, 0.3, 1.0]),
    )
    answer = generator.choice(["solver", "majority"])
    budget = Budget(message=generator.choice([None, 3]), episode=generator.choice([None, 9]))
    env = start(seed=seed, reward=reward, answer=answer, budget=budget)
    bills, charges = dict.fromkeys(env.agents, 0.0), dict.fromkeys(env.agents, 0.0)
    solved = rounds = 0
    while env.agents:
        ((rewards, infos),) = _play(env, [_babble(generator)])
        rounds += 1
        for agent, info in infos.items():
            assert rewards[agent] == info["task_reward"] - info["charged"]
            bills[agent] += info["billed"]
            charges[agent] += info["charged"]
            solved = info.get("solved", False)
    assert rounds
    owed = dict(bills)
    if reward.charge == "team":
        owed = dict.fromkeys(bills, sum(bills.values()))
    if reward.when == "solved" and not solved:
        owed = dict.fromkeys(bills, 0.0)
    assert charges == pytest.approx(owed, rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_bills_add_up_to_the_price_of_the_tokens_said_and_thought(start, seed):
    # Nothing is exempt for helpers, and a thought weighs a half.
    generator = random.Random(seed)
    reward = Reward(price=0.7, normalizer=20, thought_weight=0.5, charge="team", when="solved")
    env = start(seed=seed, reward=reward)
    billed = dict.fromkeys(("helper_0", "helper_1"), 0.0)
    while env.agents:
        ((_, infos),) = _play(env, [["", *_babble(generator)[1:]]])
        billed = {agent: cost + infos[agent]["billed"] for agent, cost in billed.items()}
    for agent, cost in billed.items():
        tokens = infos[agent]["tokens_said"] + 0.5 * infos[agent]["tokens_thought"]
        assert cost == pytest.approx(0.7 / 20 * tokens, rel=1e-12)


def test_another_price_counts_from_the_next_reset_on(start):
    env = start(reward=Reward(price=1.0, normalizer=10))
    env.reward = Reward(price=2.0, normalizer=10, when="solved")
    assert env.metadata["when"] == "solved"
    assert _column(_play(env, [("", "ab", "")]), "charged", "helper_0") == [0.2]
    env.reset(seed=0)
    assert _column(_play(env, [("", "ab", "")]), "billed", "helper_0") == [0.4]


def test_metadata_says_how_the_task_pays(make_env):
    env = make_env(rounds=3, reward=Reward(when="solved"))
    rules = {"reward": "common", "when": "solved", "max_reward": 1.0}
    assert {**env.metadata, **rules} == env.metadata
    # Every one of three rounds pays 1.
    env.reward = Reward(paid="round")
    assert (env.metadata["when"], env.metadata["max_reward"]) == ("always", 3.0)
    assert make_env().metadata["max_reward"] == 1.0


MOST = {"tldr": 2.98, "arxiv": 2.98, "coop_humaneval": 4.0, "coop_mbpp": 4.0}
LUCK = {
    **{"signal": 0.25, "strategyqa": 0.5, "sports": 0.5},
    **{"jury": 0.5, "hops": 1 / 11, "cups": 1 / 3},
}


@pytest.mark.parametrize("name", envs.names())
def test_every_environment_says_what_its_task_pays_at_the_most(name):
    metadata = envs.make(name, free=True, tasks=1).metadata
    assert metadata["max_reward"] == MOST.get(name, 1.0)
    assert metadata["chance"] == LUCK.get(name, 0.0)
    assert metadata["reward"] == ("own" if name in ("commons", "matrix") else "common")
    assert metadata["when"] == "always"


def test_the_rule_of_the_contract_holds_for_all_kinds_of_pay(make_env):
    for charge, when, paid in itertools.product(CHARGES, WHENS, PAID):
        reward = Reward(**PRICE, charge=charge, when=when, paid=paid)
        check_env(lambda reward=reward: make_env(reward=reward, rounds=3), episodes=1)


def _tokens(env):
    return sum(env.ledger.said.values())


def _spent_and_answered(start, settings, generator):
    """Play until the budget ends the episode; then its last round again, with the answer instead.

    Returns the pay of each agent in the last round of both; None where the budget did not end it,
    or had no room left for the answer.
    """
    env, again = start(**settings), start(**settings)
    room = generator.randint(1, 6)
    env.ledger._budget = again.ledger._budget = env.budget = Budget(episode=room)
    while env.agents:
        texts = _babble(generator)
        remaining = room - _tokens(env)
        ((_, infos),) = _play(env, [texts])
        if env.agents:
            _play(again, [texts])
    if infos["solver_0"]["ended_by"] != "budget" or remaining < 2:
        return None
    # The answer that was graded, in the form that commits to it; no answer is a wrong one.
    ((_, answered),) = _play(again, [(f"#{infos['solver_0']['answer'] or 0}"[:2], "", "")])
    assert answered["solver_0"]["ended_by"] == "answer"
    assert answered["solver_0"]["solved"] == infos["solver_0"]["solved"]
    return infos, answered


def test_spending_the_budget_never_pays_more_than_answering(start):
    compared = less = 0
    for seed in range(400):
        generator = random.Random(seed)
        reward = Reward(
            price=generator.choice([0.0, 0.1, 2.0]),
            normalizer=10,
            charge=generator.choice(CHARGES),
            when=generator.choice(WHENS),
            paid=generator.choice(PAID),
        )
        settings = {"reward": reward, "rounds": generator.randint(2, 5)}
        pair = _spent_and_answered(start, settings, generator)
        if pair is None:
            continue
        compared += 1
        for agent, spent in pair[0].items():
            answered = pair[1][agent]
            assert spent["task_reward"] <= answered["task_reward"]
            returns = [info["task_reward"] - info["charged"] for info in (spent, answered)]
            assert returns[0] <= returns[1] + 1e-12
            less += returns[0] < returns[1] - 1e-12
    # The cases are there, and in some of them it pays less.
    assert compared > 40 and less > 40


def test_a_spent_budget_earns_no_round_that_is_left(start):
    # Three rounds, each of which pays the score: the right number without a commitment spends the
    # budget in the first and earns that round; the commitment earns all three.
    for text, ended_by, earned in (("7a", "budget", 1.0), ("#7", "answer", 3.0)):
        env = start(reward=Reward(paid="round"), budget=Budget(episode=2))
        ((rewards, infos),) = _play(env, [(text, "", "")])
        assert infos["helper_0"]["ended_by"] == ended_by
        assert set(rewards.values()) == {earned}
