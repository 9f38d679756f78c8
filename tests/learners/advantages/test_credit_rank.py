"""Credit by rank: weights by hand and over all orders, local rewards, sequences of a group."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

from laconic.learners.advantages.credit import (
    credit,
    local_rewards,
    ndcg,
    own,
    rank,
    rank_weights,
)
from laconic.learners.advantages.group import Advantages
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.training.sequences import sequences_of

SECOND = 1 / math.log2(3)
"""Discount of the second rank, 0.63093; those of the first and the third are 1 and 1/2."""


@pytest.mark.parametrize(
    ("scores", "gains", "expected"),
    [
        # The best ranking.
        ((3, 2, 1), (1, 1, 0), 1.0),
        ((1, 2, 3), (0, 1, 5), 1.0),
        # 1 + 1/2, and at best 1 + SECOND.
        ((3, 2, 1), (1, 0, 1), 1.5 / (1 + SECOND)),
        # 0 + SECOND + 3/2, and at best 3 + SECOND.
        ((2, 1, 0), (0, 1, 3), (SECOND + 1.5) / (3 + SECOND)),
        # The last of two.
        ((1, 0), (0, 1), SECOND),
        # The first two are tied, so each counts (1 + SECOND) / 2.
        ((1, 1, 0), (1, 0, 0), (1 + SECOND) / 2),
        # The last two are tied: 0 + 1 (SECOND + 1/2) / 2, and at best 1.
        ((1, 0, 0), (0, 1, 0), (SECOND + 0.5) / 2),
        # All are tied: the mean of the discounts of four ranks; 1 / log2(5) = 0.43068.
        ((0, 0, 0, 0), (0, 1, 0, 0), (1 + SECOND + 0.5 + 1 / math.log2(5)) / 4),
        # 1/3 + 1/3 + 1/3 and 1 are a tie.
        ((1 / 3 + 1 / 3 + 1 / 3, 1.0), (1, 0), (1 + SECOND) / 2),
        # Where nothing is gained, or all gain the same, every ranking is the best.
        ((1, 2), (0, 0), 1.0),
        ((1, 2), (0.5, 0.5), 1.0),
        ((4,), (1,), 1.0),
    ],
)
def test_gains_are_discounted_by_rank_and_ties_share_their_discounts(scores, gains, expected):
    assert ndcg(scores, gains) == pytest.approx(expected, abs=1e-12)


def by_all_orders(scores: list[int], gains: list[int]) -> float:
    """Return the mean gain over all orders that the scores allow, over the best of all orders."""
    orders = list(permutations(range(len(gains))))

    def gain(order: tuple[int, ...]) -> float:
        return sum(gains[item] / math.log2(place + 2) for place, item in enumerate(order))

    allowed = [
        gain(order)
        for order in orders
        if all(scores[a] >= scores[b] for a, b in zip(order, order[1:], strict=False))
    ]
    return float(np.mean(allowed)) / max(map(gain, orders))


def test_it_is_the_mean_over_all_orders_of_the_ties():
    generator = np.random.default_rng(0)
    tied = 0
    for _ in range(60):
        count = int(generator.integers(1, 7))
        scores, gains = generator.integers(0, 3, (2, count)).tolist()
        if not any(gains):
            continue
        tied += len(set(scores)) < count
        assert ndcg(scores, gains) == pytest.approx(by_all_orders(scores, gains), abs=1e-12)
    assert tied > 20


def played(solved: bool, *turns: tuple[str, int, str, bool | None], common: bool = True) -> Episode:
    """Return an episode of a team a, b, s; turns are agent, round, message and informed."""
    task = dict.fromkeys(("a", "b", "s"), (0.0, float(solved)))
    return Episode(
        "t",
        tuple(
            Turn(agent, round, message, (1,), (2,), (-0.5,), informed=informed)
            for agent, round, message, informed in turns
        ),
        task,
        solved=solved,
        task_rewards=task,
        bills={"a": (0.2, 0.0), "b": (0.1, 0.4), "s": (0.0, 0.0)},
        common=common,
    )


# a holds the fact and b does not; the solver s speaks second.
BOTH_SPEAK = played(True, ("a", 0, "x", True), ("b", 0, "y", False), ("s", 1, "4", None))
AS_IT_SHOULD = played(True, ("a", 0, "x", True), ("b", 0, "", False), ("s", 1, "4", None))
SILENT = played(False, ("a", 0, "", True), ("b", 0, "", False), ("s", 1, "5", None))


def test_the_local_reward_is_speech_of_the_informed_and_silence_of_the_others():
    assert local_rewards(BOTH_SPEAK) == {"a": (1.0, 0.0), "b": (0.0, 0.0), "s": (0.0, 0.0)}
    assert local_rewards(AS_IT_SHOULD) == {"a": (1.0, 0.0), "b": (1.0, 0.0), "s": (0.0, 0.0)}
    assert local_rewards(SILENT) == {"a": (0.0, 0.0), "b": (1.0, 0.0), "s": (0.0, 0.0)}


def test_the_local_reward_of_several_turns_is_their_mean():
    # Right, then wrong: it has nothing more to say and speaks.
    episode = played(True, ("a", 0, "x", True), ("a", 1, "x", False), ("b", 1, "", False))
    assert local_rewards(episode) == {"a": (0.5, 0.0), "b": (0.0, 1.0), "s": (0.0, 0.0)}


def weights_by_hand() -> dict[str, float]:
    # Solved, solved, not. a ranks them 1, 1, 0, which is the best ranking: 1.
    # b ranks them 0, 1, 1. Tied at ranks 1 and 2 are a gain of 1 and one of 0: (1 + SECOND) / 2;
    # the other gain is at rank 3: 1/2. At best 1 + SECOND.
    # s has no local reward: two gains times the mean of three discounts, at best 1 + SECOND.
    best = 1 + SECOND
    agreement = {
        "a": 1.0,
        "b": (best / 2 + 0.5) / best,
        "s": 2 * (best + 0.5) / 3 / best,
    }
    mean = sum(agreement.values()) / 3
    return {agent: value / mean for agent, value in agreement.items()}


def test_weights_are_the_agreements_of_rankings_over_their_mean():
    weights = rank_weights([BOTH_SPEAK, AS_IT_SHOULD, SILENT])
    assert weights == pytest.approx(weights_by_hand(), abs=1e-12)
    # 1, 0.80657 and 0.87104 over their mean, 0.89254.
    assert weights == pytest.approx({"a": 1.12040, "b": 0.90368, "s": 0.97592}, abs=1e-5)


def test_weights_are_equal_in_a_group_of_equal_outcomes_and_for_an_episode_alone():
    equal = pytest.approx(dict.fromkeys("abs", 1.0))
    assert rank_weights([SILENT, SILENT]) == equal
    assert rank_weights([AS_IT_SHOULD, BOTH_SPEAK]) == equal
    assert rank_weights([BOTH_SPEAK]) == equal


def test_losses_of_a_game_are_ranked_as_gains_over_the_worst():
    def lost(amount: float, *turns: tuple[str, int, str, bool | None]) -> Episode:
        task = {"a": (-amount,), "b": (0.0,)}
        made = tuple(Turn(*turn[:3], informed=turn[3]) for turn in turns)
        return Episode("t", made, task, task_rewards=task)

    # Gains over the worst are 2 and 0. a ranks the better first, b the worse: 2 SECOND / 2.
    group = [
        lost(1.0, ("a", 0, "x", True), ("b", 0, "", True)),
        lost(3.0, ("a", 0, "", True), ("b", 0, "x", True)),
    ]
    assert rank_weights(group) == pytest.approx(
        {"a": 2 / (1 + SECOND), "b": 2 * SECOND / (1 + SECOND)}, abs=1e-12
    )


def test_an_agent_gets_its_local_reward_the_teams_by_its_weight_and_its_own_bill():
    credits = rank(AS_IT_SHOULD, {"a": 1.5, "b": 0.7, "s": 0.8})
    # Local in round 0, weight times 1 in round 1.
    assert credits.task == {"a": (1.0, 1.5), "b": (1.0, 0.7), "s": (0.0, 0.8)}
    assert rank(AS_IT_SHOULD).task["b"] == (1.0, 1.0)
    assert credits.cost == own(AS_IT_SHOULD).cost


def test_the_sequences_of_a_group_take_their_weights_from_all_its_episodes():
    group = Group("t", (BOTH_SPEAK, AS_IT_SHOULD, SILENT))
    sequences = sequences_of(group, credit=credit("rank"), advantages=Advantages(scale="none"))
    weights = weights_by_hand()
    local = {"a": (1, 1, 0), "b": (0, 1, 1), "s": (0, 0, 0)}
    assert len(sequences) == 9
    for sequence in sequences:
        solved = sequence.episode < 2
        expected = local[sequence.agent][sequence.episode] + weights[sequence.agent] * solved
        assert sequence.breakdown.task == pytest.approx(expected, abs=1e-12)
    # Agents that are not trained still have their weights.
    alone = sequences_of(
        group, credit=credit("rank"), advantages=Advantages(scale="none"), agents=["b"]
    )
    assert [each.breakdown for each in alone] == [
        each.breakdown for each in sequences if each.agent == "b"
    ]
