"""Exact payoffs of memory-one strategies, by hand, by another program, and by play."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from laconic import envs
from laconic.envs.library.matrix.rules import STRATEGIES
from laconic.extras.analysis.memory_one import best_replies, payoffs
from laconic.extras.methods.population import PopulationTeam
from laconic.learners import ScriptedTeam, Start, play

LENGTH = 100


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # TFT loses one of a hundred rounds; WSLS cooperates in every other one.
        ("tft", "alld", (-0.01, 0.02)),
        ("wsls", "alld", (-0.5, 1.0)),
        # Half of 2 and half of 0; half of -1 and half of 0.
        ("alld", "coin", (1.0, -0.5)),
        ("tft", "tft", (1.0, 1.0)),
    ],
)
def test_payoffs_by_hand(first, second, expected):
    pair = STRATEGIES[first], STRATEGIES[second]
    assert payoffs(*pair, LENGTH) == pytest.approx(expected, abs=1e-12)
    assert payoffs(*pair[::-1], LENGTH) == pytest.approx(expected[::-1], abs=1e-12)


def test_a_hunter_of_stags_alone_gains_nothing():
    assert payoffs(STRATEGIES["allc"], STRATEGIES["alld"], 5, "stag") == (0.0, 0.75)


POOL = np.random.default_rng(0).random((2000, 5))


def test_gains_against_a_pool_are_those_of_another_program():
    expected = {"tft": 0.496, "alld": 0.999, "allc": -0.014, "wsls": 0.591}
    for name, gain in expected.items():
        assert round(payoffs(STRATEGIES[name], POOL, LENGTH)[0].mean(), 3) == gain


def test_the_best_replies_gain_little_more_than_defection():
    strategies, gains = best_replies(POOL[:400], LENGTH)
    assert round(gains.mean(), 3) == 1.083
    assert payoffs(strategies, POOL[:400], LENGTH)[0] == pytest.approx(gains)
    plain = payoffs(STRATEGIES["alld"], POOL[:400], LENGTH)[0]
    # Against the same 400 partners, who are kinder than the whole pool.
    assert (gains >= plain - 1e-12).all() and round((gains - plain).mean(), 3) == 0.032


def test_played_games_gain_what_the_chain_says():
    length, episodes = 5, 200
    environments = [
        envs.make("matrix", free=True, chat=0, length=length, tasks=4) for _ in range(episodes)
    ]
    team = PopulationTeam({"player": ScriptedTeam("memory:3")}, pool=["memory:4"], self_share=0.0)
    starts = [Start(seed) for seed in range(episodes)]
    played = play(environments, team.policies(environments[0]), starts, seed=0)
    gains = np.array(
        [[sum(episode.rewards[agent]) for agent in episode.rewards] for episode in played]
    )
    strategies = [np.random.default_rng(seed).random(5) for seed in (3, 4)]
    expected = payoffs(*strategies, length)
    # 99.9 % intervals; gains are already divided by the rounds.
    half = 3.3 * gains.std(0, ddof=1) / episodes**0.5
    assert (np.abs(gains.mean(0) - expected) < half).all() and (half < 0.15).all()


def test_longer_games_come_near_the_stationary_payoff():
    pair = [np.random.default_rng(seed).random(5) for seed in (0, 1)]
    values = [payoffs(*pair, length)[0] for length in (10, 100, 1000, 10000)]
    steps = [abs(after - before) for before, after in pairwise(values)]
    assert steps == sorted(steps, reverse=True) and steps[-1] < 1e-3
