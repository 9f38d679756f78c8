"""The best rules of a jury, against enumeration of every map and of every state."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from laconic.envs.library.jury import theory
from laconic.envs.library.jury.theory import EYES

SHARED = [
    # Words, accuracy in percent.
    (0.0, 71.67),
    (0.5, 82.32),
    (1.0, 85.70),
    (1.5, 86.75),
    (2.0, 86.83),
    (2.5, 86.28),
    (3.0, 84.19),
]


def test_the_frontier_of_three_helpers_and_two_colors() -> None:
    plans = theory.frontier(3)
    assert [one.words for one in plans] == pytest.approx([words for words, _ in SHARED])
    assert [100 * one.accuracy for one in plans] == pytest.approx(
        [accuracy for _, accuracy in SHARED], abs=0.005
    )
    # Two words: the fair and the sharp.
    assert plans[4].rule == ((False, True, True),) * 2


def test_the_best_rule_changes_at_four_prices() -> None:
    steps = theory.steps(3)
    assert [price for price, _ in steps[1:]] == pytest.approx(
        [0.2131, 0.0676, 0.0210, 0.0016], abs=5e-5
    )
    assert [one.words for _, one in steps] == pytest.approx([0.0, 0.5, 1.0, 1.5, 2.0])
    for (upper, plan), (lower, _) in zip(steps, [*steps[1:], (0.0, steps[-1][1])], strict=True):
        price = (min(upper, 1.0) + lower) / 2
        assert theory.best(price, 3) == plan


def test_silence_raises_accuracy_where_words_are_free() -> None:
    free, everyone = theory.best(0.0, 3), theory.plan(((True,) * 3,) * 2, 3)
    assert 100 * (free.accuracy - everyone.accuracy) == pytest.approx(2.64, abs=0.01)


def test_more_helpers_say_more_words() -> None:
    assert [one.words for _, one in theory.steps(6)] == pytest.approx([0.0, 1.0, 2.0, 3.0])
    sharp, fair, everyone = (
        theory.plan(((False,) * (3 - kinds) + (True,) * kinds,) * 2, 6) for kinds in (1, 2, 3)
    )
    assert [one.words for one in (sharp, fair, everyone)] == pytest.approx([2.0, 4.0, 6.0])
    accuracies = [100 * one.accuracy for one in (sharp, fair, everyone)]
    assert accuracies == pytest.approx([92.1, 92.7, 89.9], abs=0.05)


def test_one_agent_needs_many_looks() -> None:
    assert theory.alone(1) == pytest.approx(np.mean(EYES))
    # Two of three looks are right.
    assert theory.alone(3) == pytest.approx(np.mean([r * r * (3 - 2 * r) for r in EYES]))
    best = theory.best(0.0, 3).accuracy
    assert theory.alone(15) < best < theory.alone(17)
    assert theory.alone(1, 4) == pytest.approx(np.mean(EYES))


def test_nothing_beats_a_solver_that_knows_everything() -> None:
    assert theory.everything(0) == pytest.approx(np.mean(EYES))
    assert 100 * theory.everything(3) == pytest.approx(88.28, abs=0.005)
    for colors, helpers in ((2, 3), (3, 2)):
        most = max(one.accuracy for one in theory.frontier(helpers, colors))
        assert most < theory.everything(helpers, colors)


def states(agents: int, colors: int) -> Iterator[tuple[float, int, tuple[tuple[int, int], ...]]]:
    """Yield every state: its probability, the color, and eyes and sight of each agent."""
    for color in range(colors):
        for each in product(product(range(len(EYES)), range(colors)), repeat=agents):
            chance = 1 / colors
            for eyes, seen in each:
                right = EYES[eyes]
                chance *= (right if seen == color else (1 - right) / (colors - 1)) / len(EYES)
            yield chance, color, each


@pytest.mark.parametrize(
    ("rule", "helpers"),
    [
        (((False, True, True), (False, True, True)), 3),
        (((False, False, False), (False, False, True)), 3),
        (((False, False, True), (False, True, True), (True, True, True)), 2),
    ],
)
def test_the_best_answer_has_the_stated_accuracy_over_all_states(rule, helpers) -> None:
    right = words = total = 0.0
    colors = len(rule)
    for chance, color, (own, *others) in states(helpers + 1, colors):
        counts = [0] * (colors + 1)
        for eyes, seen in others:
            counts[1 + seen if rule[seen][eyes] else 0] += 1
        answer = theory.answer(rule, counts, [own[1]], EYES[own[0]])
        right += chance * (answer == color)
        words += chance * (helpers - counts[0])
        total += chance
    plan = theory.plan(rule, helpers)
    assert total == pytest.approx(1.0)
    assert (right, words) == pytest.approx((plan.accuracy, plan.words), abs=1e-9)


def test_the_posterior_is_bayes_rule_by_hand() -> None:
    # Sharp eyes saw the first color, fair eyes the second: .9 x .3 against .1 x .7.
    after = theory.posterior({"a": (0,), "b": (1,)}, {"a": 2, "b": 1}, 2)
    assert after == pytest.approx([0.27 / 0.34, 0.07 / 0.34])
    # Two looks of dim eyes at one color of three: .55 squared against .225 squared.
    after = theory.posterior({"a": (2, 2)}, {"a": 0}, 3)
    assert after[2] == pytest.approx(0.55**2 / (0.55**2 + 2 * 0.225**2))


def maps() -> list[tuple[np.ndarray, float]]:
    """Return the channel, (colors, outputs), and the words of every map of one helper."""
    found = {}
    for outputs in product(range(3), repeat=6):
        table = np.zeros((2, 3))
        for (eyes, seen), output in zip(product(range(3), range(2)), outputs, strict=True):
            table[:, output] += theory.sight(2, EYES[eyes])[:, seen] / 3
        # The two words may change places.
        key = min(tuple(np.round(each, 9).ravel()) for each in (table, table[:, [0, 2, 1]]))
        found.setdefault(key, (table, 1 - table[:, 0].mean()))
    return list(found.values())


SOLVER = np.concatenate([theory.sight(2, right) / 3 for right in EYES], axis=1)


def listened(*channels: np.ndarray) -> np.ndarray:
    """Return the accuracy of the best listener; the last channel may be several, (maps, 2, 3)."""
    *first, last = channels
    joint = np.full((2, 1), 0.5)
    for each in (*first, SOLVER):
        joint = (joint[:, :, None] * each[:, None, :]).reshape(2, -1)
    terms = joint[:, None, :, None] * last.reshape(-1, 2, 3).transpose(1, 0, 2)[:, :, None, :]
    return np.maximum(terms[0], terms[1]).sum(axis=(1, 2))


def test_no_shared_map_to_words_and_silence_is_better_up_to_two_words() -> None:
    best: dict[float, float] = {}
    for table, words in maps():
        key = round(3 * words, 6)
        best[key] = max(best.get(key, 0.0), float(listened(table, table, table)[0]))
    for one in theory.frontier(3)[:5]:
        assert best[round(one.words, 6)] == pytest.approx(one.accuracy, abs=1e-9)
    # Above, words that mean something else than the color that was seen help; none reaches the top.
    assert max(best.values()) == pytest.approx(theory.best(0.0, 3).accuracy, abs=1e-9)


@pytest.mark.slow
def test_maps_of_their_own_gain_at_most_half_a_point() -> None:
    tables = maps()
    channels, words = (np.array(each) for each in zip(*tables, strict=True))
    prices = np.linspace(0.0, 0.3, 61)
    best, most = np.zeros(len(prices)), (0.0, 0.0)
    for i, one in enumerate(channels):
        for j in range(i, len(channels)):
            accuracy = listened(one, channels[j], channels[j:])
            said = words[i] + words[j] + words[j:]
            best = np.maximum(best, (accuracy - prices[:, None] * said).max(axis=1))
            at = int(np.lexsort((said, -np.round(accuracy, 9)))[0])
            most = max(most, (round(accuracy[at], 6), -round(said[at], 6)))
    assert most == (pytest.approx(0.86873, abs=5e-6), pytest.approx(-1.6667, abs=5e-5))
    shared = [
        plan.accuracy - price * plan.words
        for price, plan in ((price, theory.best(price, 3)) for price in prices)
    ]
    gains = best - np.array(shared)
    assert gains.min() >= -1e-9
    # At a price of 0.21. The page says 0.005.
    assert gains.max() == pytest.approx(0.00505, abs=1e-5)
