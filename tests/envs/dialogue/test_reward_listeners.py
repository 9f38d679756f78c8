"""What a message costs if each listener counts, and what hearing it costs.

The team: solver_0, helper_0 and helper_1; one character is one token. `#7` commits to the
answer, in two tokens, which are free once. A token costs 0.05 to say and, if at all, 0.02 to hear.
"""

from __future__ import annotations

import random

import pytest

from laconic.envs.dialogue.channel import Channel
from laconic.envs.dialogue.reward import Account, Pay, Reward
from laconic.envs.errors import SettingError
from laconic.envs.task import Score

PRICE = {"price": 0.5, "normalizer": 10}
ROUNDS = (
    {"helper_0": "abcd", "helper_1": "<think>xyz</think>ab"},
    {"solver_0": "so #7", "helper_1": "a"},
)
"""helper_0 says 4; helper_1 says 2 after a thought of 3. The solver answers in 2 free tokens and 3
more, which ends the episode, so no agent hears the messages of the second round."""
LEDGERS = {
    # Charges in tokens, by agent and round. The thought costs 3 once, whoever listens.
    ("complete", "own"): [[0, 3], [4, 0], [5, 1]],
    ("star", "own"): [[0, 3], [4, 0], [5, 1]],
    ("chain", "own"): [[0, 3], [4, 0], [5, 1]],
    # 9 and 4 tokens, by all.
    ("complete", "team"): [[9, 4], [9, 4], [9, 4]],
    ("star", "team"): [[9, 4], [9, 4], [9, 4]],
    ("chain", "team"): [[9, 4], [9, 4], [9, 4]],
    # All others hear each helper: 4 x 2, and 2 x 2 + 3.
    ("complete", "listeners"): [[0, 3], [8, 0], [7, 1]],
    # The solver hears each: 4 x 1, and 2 x 1 + 3.
    ("star", "listeners"): [[0, 3], [4, 0], [5, 1]],
    # The solver and helper_1 hear helper_0, which alone hears helper_1: 4 x 2, and 2 x 1 + 3.
    ("chain", "listeners"): [[0, 3], [8, 0], [5, 1]],
}
HEARD = {
    # Tokens that each agent hears in the first round.
    "complete": [6, 2, 4],
    "star": [6, 0, 0],
    "chain": [4, 2, 4],
}


def play(env, rounds):
    """Play rounds of messages; return the charge and the bill of each agent in each round."""
    charged = {agent: [] for agent in env.possible_agents}
    billed = {agent: [] for agent in env.possible_agents}
    for messages in rounds:
        _, rewards, _, _, infos = env.step(messages)
        for agent, info in infos.items():
            assert rewards[agent] == info["task_reward"] - info["charged"]
            charged[agent].append(info["charged"])
            billed[agent].append(info["billed"])
    return charged, billed


@pytest.mark.parametrize(("topology", "charge"), LEDGERS)
def test_ledgers_of_three_topologies_and_three_charges(start, topology, charge):
    charged, billed = play(start(topology=topology, reward=Reward(**PRICE, charge=charge)), ROUNDS)
    for agent, tokens in zip(charged, LEDGERS[topology, charge], strict=True):
        assert charged[agent] == pytest.approx([0.05 * count for count in tokens], rel=1e-12)
    bills = LEDGERS[topology, "own" if charge == "team" else charge]
    for agent, tokens in zip(billed, bills, strict=True):
        assert billed[agent] == pytest.approx([0.05 * count for count in tokens], rel=1e-12)


@pytest.mark.parametrize("topology", HEARD)
@pytest.mark.parametrize("charge", ["own", "team", "listeners"])
def test_who_hears_pays_the_price_of_reading(start, topology, charge):
    reward = Reward(**PRICE, charge=charge, read_price=0.2)
    charged, billed = play(start(topology=topology, reward=reward), ROUNDS)
    own = LEDGERS[topology, "own" if charge == "team" else charge]
    bills = [
        [0.05 * said[0] + 0.02 * heard, 0.05 * said[1]]
        for said, heard in zip(own, HEARD[topology], strict=True)
    ]
    assert list(billed.values()) == [pytest.approx(rounds, rel=1e-12) for rounds in bills]
    if charge == "team":
        bills = [[sum(rounds) for rounds in zip(*bills, strict=True)]] * 3
    assert list(charged.values()) == [pytest.approx(rounds, rel=1e-12) for rounds in bills]


def test_an_address_is_charged_and_saves_the_other_copies(start):
    reward = Reward(**PRICE, charge="listeners", read_price=0.2)
    env = start(addressing="names", reward=reward)
    # 12 tokens to one agent, 20 to two, and 5 to an agent that is not there, which cost once.
    texts = {"helper_0": "@solver: abc", "helper_1": "@solver, helper: abc", "solver_0": "@x: a"}
    charged, _ = play(env, [texts])
    # The solver hears 12 + 20, helper_0 hears 20, and helper_1 hears nothing.
    assert charged["helper_0"] == pytest.approx([0.05 * 12 + 0.02 * 20])
    assert charged["helper_1"] == pytest.approx([0.05 * 20 * 2])
    assert charged["solver_0"] == pytest.approx([0.05 * 5 + 0.02 * 32])


def test_one_listener_costs_as_much_as_own(make_env):
    generator, rounds = random.Random(0), 0
    for seed in range(30):
        outcomes = []
        texts = [
            {
                agent: generator.choice(
                    ["", "a", "abc", "@x: a", "#7", "so #8", "<think>ab</think>c"]
                )
                for agent in ("solver_0", "helper_0")
            }
            for _ in range(3)
        ]
        for charge in ("own", "listeners"):
            reward = Reward(**PRICE, charge=charge)
            team = {"solver": 1, "helper": 1}
            env = make_env(team=team, rounds=3, reward=reward, addressing="names")
            env.reset(seed=seed)
            outcomes.append([str(env.step(each)[1]) for each in texts if env.agents])
        assert outcomes[0] == outcomes[1]
        rounds += len(outcomes[0])
    assert rounds > 40


def test_a_lost_message_is_charged_for_each_listener_and_read_by_none(start):
    reward = Reward(**PRICE, charge="listeners", read_price=0.2)
    charged, _ = play(start(reward=reward, channel=Channel(lose=1.0)), [{"helper_0": "abcd"}])
    assert charged == {
        "solver_0": [0.0],
        "helper_0": [pytest.approx(0.05 * 8)],
        "helper_1": [0.0],
    }


def test_free_tokens_are_free_for_every_listener_and_heard_in_full(start):
    # In a vote the answer `#7` does not end the episode: 3 of its 5 tokens cost, twice.
    reward = Reward(**PRICE, charge="listeners", read_price=0.2)
    charged, _ = play(start(answer="majority", reward=reward), [{"solver_0": "so #7"}])
    assert charged["solver_0"] == pytest.approx([0.05 * 3 * 2])
    assert charged["helper_0"] == pytest.approx([0.02 * 5])


def test_charges_wait_for_a_solved_end_as_others_do(start):
    reward = Reward(**PRICE, charge="listeners", read_price=0.2, when="solved")
    for answer, due in (("#7", 1.0), ("#8", 0.0)):
        charged, billed = play(start(reward=reward), [{"helper_0": "ab"}, {"solver_0": answer}])
        assert charged["helper_0"] == pytest.approx([0.0, due * 0.05 * 4])
        assert charged["helper_1"] == pytest.approx([0.0, due * 0.02 * 2])
        assert billed["helper_0"] == pytest.approx([0.05 * 4, 0.0])


def test_a_silent_team_pays_nothing_and_a_price_of_reading_of_zero_changes_nothing(start):
    reward = Reward(**PRICE, charge="listeners", read_price=0.2)
    charged, billed = play(start(reward=reward), [{}, {}])
    assert set(map(tuple, charged.values())) == set(map(tuple, billed.values())) == {(0.0, 0.0)}
    account, plain = Account(Reward(**PRICE, read_price=0.0)), Account(Reward(**PRICE))
    tokens, score = {"a": 3, "b": 1}, Score(1.0, True, "7")
    assert account.pay(tokens, score) == plain.pay(tokens, score)
    assert account.pay(tokens, score)["a"] == Pay(1.0, 0.05 * 3, 0.05 * 3)


def test_reading_may_cost_where_saying_is_free(start):
    charged, _ = play(start(reward=Reward(normalizer=10, read_price=0.2)), [{"helper_0": "abcd"}])
    assert charged == {"solver_0": [0.02 * 4], "helper_0": [0.0], "helper_1": [0.02 * 4]}


@pytest.mark.parametrize("price", [-1, float("nan"), "1", True])
def test_a_price_of_reading_out_of_range_is_refused(price):
    with pytest.raises(SettingError, match=r"env\.reward\.read_price must be a finite number"):
        Reward(read_price=price)
    with pytest.raises(SettingError, match=r"env\.reward\.read_price / env\.reward\.normalizer"):
        Reward(read_price=1e308, normalizer=1e-3)
