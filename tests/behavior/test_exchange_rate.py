"""One exchange rate in every environment: twice the price doubles the cost of words.

The price of reading, where there is one, moves with the price of saying.
"""

from __future__ import annotations

import numpy as np
import pytest

from laconic import envs
from laconic.envs import Reward
from laconic.learners.advantages.credit import credit, own, pass_rate, team, team_parts
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.episode import Episode
from laconic.learners.rollout.collectors.base import Independent
from laconic.learners.rollout.collectors.counterfactual import collector_for
from laconic.learners.rollout.play import Start, play

CREDITS = ("own", "team", "outcome", "silence", "shapley", "rank")
WORLDS = {
    "gsm8k": {"team": [{"solver": 1, "helper": 1}, {"solver": 1, "helper": 3}]},
    "strategyqa": {"team": [{"solver": 1, "helper": 2}]},
    "signal": {"team": [{"solver": 1, "helper": 1}, {"solver": 1, "helper": 7}]},
    "tldr": {"team": [{"concise": 1, "detailed": 1}]},
    "commons": {"team": [{"fisher": 5}]},
    "boxnet": {"team": [None]},
}
DRAWS = 4
SOME_DRAWS = 2
"""Draws of a long world that is played several times to measure a credit."""


def played(name: str, settings: dict, price: float, kind: str, share: float = 1.0) -> list[Episode]:
    """Play two scripted episodes of one task at a price per 10 tokens, measured for a credit.

    An update charges the share of that price.
    """
    reward = {**settings["reward"], "price": price, "normalizer": 10.0}
    reward["read_price"] = price * reward.pop("read_share")
    arguments = {**settings, "reward": Reward(**reward)}
    environments = [envs.make(name, free=True, tasks=4, **arguments) for _ in range(2)]
    script = "random" if name == "commons" else "verbose"
    # This script addresses what it says.
    script = "oracle" if settings.get("addressing") == "names" else script
    policies = ScriptedTeam(script).policies(environments[0])
    collect = collector_for(Independent(), kind, "episode")
    (group,) = collect(environments, policies, [Start(5, price_share=share)], 2, seed=1)
    return list(group.episodes)


def drawn(name: str, generator: np.random.Generator) -> dict:
    """Settings of an environment: team, charge, when, price of reading, rounds, addresses."""
    teams = WORLDS[name]["team"]
    settings: dict = {
        "team": teams[generator.integers(len(teams))],
        "reward": {
            "charge": str(generator.choice(["own", "team", "listeners"])),
            "read_share": float(generator.choice([0.0, 1.0])),
            "when": str(generator.choice(["always", "solved"])),
        },
    }
    if name == "commons":
        settings["reward"]["when"] = "always"
        return settings | {"months": int(generator.integers(1, 3))}
    if name == "boxnet":
        planning = str(generator.choice(["discuss", "cmas", "hmas2"]))
        return settings | {"steps": int(generator.integers(1, 3)), "planning": planning}
    if name == "tldr":
        # With a second round a script says there what it could not say in the first.
        return settings | {"answer": "joint", "topology": "none", "rounds": 1}
    addressing = str(generator.choice(["none", "names"]))
    return settings | {"rounds": int(generator.integers(1, 4)), "addressing": addressing}


@pytest.mark.parametrize("kind", CREDITS)
@pytest.mark.parametrize("name", WORLDS)
def test_twice_the_price_doubles_the_cost_and_leaves_the_task_reward(name, kind):
    generator = np.random.default_rng(len(name))
    total_cost = 0.0
    for _ in range(SOME_DRAWS if name == "commons" else DRAWS):
        settings = drawn(name, generator)
        cheap, dear = (played(name, settings, price, kind) for price in (0.5, 1.0))
        for first, second in zip(cheap, dear, strict=True):
            assert [turn.message for turn in first.turns] == [turn.message for turn in second.turns]
            paid, twice = credit(kind)(first), credit(kind)(second)
            for agent, task in paid.task.items():
                assert twice.task[agent] == pytest.approx(task, abs=1e-9)
                cost = np.array(paid.cost[agent])
                assert twice.cost[agent] == pytest.approx(2 * cost, abs=1e-9)
                total_cost += np.abs(cost).sum()
    assert total_cost > 0


@pytest.mark.parametrize("kind", CREDITS)
@pytest.mark.parametrize("name", WORLDS)
def test_a_share_of_the_price_is_charged_like_a_lower_price(name, kind):
    settings = drawn(name, np.random.default_rng(3))
    at_share = played(name, settings, 1.0, kind, 0.25)
    for part, cheap in zip(at_share, played(name, settings, 0.25, kind), strict=True):
        charged, expected = credit(kind)(part), credit(kind)(cheap)
        for agent, cost in expected.cost.items():
            assert charged.task[agent] == pytest.approx(expected.task[agent], abs=1e-9)
            assert charged.cost[agent] == pytest.approx(cost, abs=1e-9)


@pytest.mark.parametrize("name", WORLDS)
def test_the_team_pays_for_every_billed_token_once(name):
    generator = np.random.default_rng(7)
    for _ in range(DRAWS):
        settings = drawn(name, generator)
        for episode in played(name, settings, 0.5, "own"):
            bills = sum(map(sum, episode.bills.values()))
            paying = episode.when == "always" or bool(episode.solved)
            assert team_parts(episode).cost == pytest.approx(bills if paying else 0.0)
            # 0.05 a token, so bills are whole numbers of tokens.
            for each in episode.bills.values():
                tokens = np.array(each) / 0.05
                assert tokens == pytest.approx(np.round(tokens), abs=1e-6)
            shared = team(episode)
            assert len({shared.cost[agent] for agent in shared.cost}) == 1


@pytest.mark.parametrize("name", WORLDS)
def test_own_credit_is_the_reward_that_the_environment_pays(name):
    generator = np.random.default_rng(11)
    for _ in range(DRAWS):
        settings = drawn(name, generator)
        settings["reward"]["when"] = "always"
        for episode in played(name, settings, 0.5, "own"):
            paid = own(episode)
            for agent, rewards in episode.rewards.items():
                net = np.subtract(paid.task[agent], paid.cost[agent])
                assert net == pytest.approx(rewards, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "settings", "script", "lowest", "highest"),
    [
        ("gsm8k", {"information": "split"}, "oracle", 1, 1),
        ("gsm8k", {"information": "split"}, "silent", 0, 0),
        # The solver answers in the last of four rounds: solved, and as solved as in the first.
        (
            "gsm8k",
            {
                "information": "split",
                "rounds": 4,
                "schedule": ["helper", "helper", "helper", "solver"],
                "reward": {"paid": "round"},
            },
            "oracle",
            1,
            1,
        ),
        # A guess in the right form is paid as much as an answer.
        ("gsm8k", {"information": "split", "reward": {"measure": "stated"}}, "random", 0.3, 1),
        # Two steps bring some of the boxes to their targets.
        ("boxnet", {"steps": 2}, "oracle", 0.05, 0.95),
        ("matrix", {}, "silent", 1, 1),
    ],
)
def test_the_pass_rate_of_played_episodes(
    name: str, settings: dict, script: str, lowest: float, highest: float
) -> None:
    env = envs.make(name, free=True, tasks=8, **settings)
    policies = ScriptedTeam(script).policies(env)
    episodes = play([env], policies, [Start(number) for number in range(8)], seed=1)
    assert lowest <= pass_rate(episodes) <= highest
