"""What the best jury says, by enumeration: accuracy and words of every rule, and the best by price.

A color out of K is hidden. Each agent sees it rightly with the probability r of its eyes, one of
`EYES` with equal chance, and otherwise one of the other colors, uniformly. Each of the N helpers
says the color that it saw or nothing, at the same time and by the same rule; a solver with eyes of
its own hears them and answers. With the messages m, and the solver's eyes e and sight s,

    accuracy = sum over m, e, s of the largest over colors y of
               P(y) P(m | y) P(e) P(s | y, e)

because the best answer is the color of the largest term. Messages count by their number only, so
the sum is over multisets. For three helpers and two colors, no map from eyes and sight to words and
silence that all helpers share is better at 0 to 2 words. Helpers that each have a map of their own
gain at most 0.1 points there, up to 86.87 % in 1.67 words (`tests/envs/library/jury/test_theory.py`
enumerates both).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

EYES = (0.55, 0.7, 0.9)
"""Probability of seeing the color rightly with dim, fair and sharp eyes."""
Array = NDArray[np.float64]
Rule = tuple[tuple[float, ...], ...]
"""(colors, eyes) Probability with which a helper that saw the color with these eyes says it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A rule of the helpers with the best listener."""

    rule: Rule
    """What they say."""
    words: float
    """Words of an episode, in the mean."""
    accuracy: float
    """Probability that the best answer is right."""


def sight(colors: int, right: float) -> Array:
    """Return (colors, colors): the probability to see each color (columns), given the true one."""
    wrong = (1 - right) / (colors - 1)
    return np.full((colors, colors), wrong) + np.eye(colors) * (right - wrong)


def heard(rule: Rule) -> Array:
    """Return (colors, colors + 1): the probability of silence and of each word, by true color."""
    colors = len(rule)
    table = np.zeros((colors, colors + 1))
    for eyes, right in enumerate(EYES):
        sights = sight(colors, right) / len(EYES)
        for color in range(colors):
            table[:, 1 + color] += rule[color][eyes] * sights[:, color]
            table[:, 0] += (1 - rule[color][eyes]) * sights[:, color]
    return table


def accuracy(rule: Rule, helpers: int) -> float:
    """Return the accuracy of the best listener to helpers that follow a rule."""
    colors, speech = len(rule), heard(rule)
    sights = np.concatenate([sight(colors, right) / len(EYES) for right in EYES], axis=1)
    total = 0.0
    for counts in _counts(helpers, colors + 1):
        likely = _multinomial(counts) * np.prod(speech ** np.array(counts), axis=1)
        total += float((likely[:, None] * sights).max(axis=0).sum())
    return total / colors


def plan(rule: Rule, helpers: int) -> Plan:
    """Return a rule with its words and accuracy."""
    words = helpers * float(1 - heard(rule)[:, 0].mean())
    return Plan(rule, words, accuracy(rule, helpers))


def rules(colors: int) -> Iterator[Rule]:
    """Yield every rule without chance, of those that differ in the names of the colors one."""
    yield from combinations_with_replacement(product((0.0, 1.0), repeat=len(EYES)), colors)


@cache
def frontier(helpers: int, colors: int = 2) -> tuple[Plan, ...]:
    """Return the most accurate rule at each number of words, fewest words first."""
    best: dict[float, Plan] = {}
    for candidate in (plan(rule, helpers) for rule in rules(colors)):
        words = round(candidate.words, 9)
        if words not in best or candidate.accuracy > best[words].accuracy + 1e-12:
            best[words] = candidate
    return tuple(best[words] for words in sorted(best))


def best(price: float, helpers: int, colors: int = 2) -> Plan:
    """Return the rule with the largest accuracy less price x words; of equal ones the briefest.

    Args:
        price: task reward that a word costs.
        helpers: number of helpers.
        colors: number of colors.
    """
    return max(frontier(helpers, colors), key=lambda each: each.accuracy - price * each.words)


def steps(helpers: int, colors: int = 2) -> list[tuple[float, Plan]]:
    """Return the best rules by price, dearest first: each is best at prices below its own.

    The first is silence, below an infinite price. Consecutive prices are the slopes of the upper
    hull of accuracy over words.
    """
    plans = frontier(helpers, colors)
    hull = [(math.inf, plans[0])]
    while True:
        last = hull[-1][1]
        further = [
            ((each.accuracy - last.accuracy) / (each.words - last.words), each.words, each)
            for each in plans
            if each.words > last.words + 1e-9
        ]
        slope, _, steepest = max(further, key=lambda step: step[:2], default=(0.0, 0.0, last))
        if slope <= 0:
            return hull
        hull.append((slope, steepest))


def alone(looks: int, colors: int = 2) -> float:
    """Return the best accuracy of one agent with a number of independent looks by its own eyes."""
    total = 0.0
    for right in EYES:
        sights = sight(colors, right)
        for counts in _counts(looks, colors):
            likely = _multinomial(counts) * np.prod(sights ** np.array(counts), axis=1)
            total += float(likely.max()) / len(EYES)
    return total / colors


def everything(helpers: int, colors: int = 2) -> float:
    """Return the accuracy of a solver that knows the eyes and the sight of all agents."""
    total, agents = 0.0, helpers + 1
    for eyes in combinations_with_replacement(range(len(EYES)), agents):
        ways = _multinomial([eyes.count(each) for each in range(len(EYES))])
        likely = np.ones((colors, 1))
        for each in eyes:
            sights = sight(colors, EYES[each])
            likely = (likely[:, :, None] * sights[:, None, :]).reshape(colors, -1)
        total += ways * float(likely.max(axis=0).sum()) / len(EYES) ** agents
    return total / colors


def answer(rule: Rule, counts: Sequence[int], looks: Sequence[int], right: float) -> int:
    """Return the best answer of the solver, the index of a color; the first of equal ones.

    Args:
        rule: rule of the helpers.
        counts: (colors + 1,) helpers that were silent, and that said each color.
        looks: colors that the solver saw.
        right: probability of its own eyes.
    """
    likely = np.prod(heard(rule) ** np.array(counts), axis=1)
    for color in looks:
        likely *= sight(len(rule), right)[:, color]
    return int(np.argmax(likely > likely.max() * (1 - 1e-9)))


def posterior(looks: Mapping[str, Sequence[int]], eyes: Mapping[str, int], colors: int) -> Array:
    """Return (colors,): the probability of each color, given all that all agents saw.

    Args:
        looks: agent -> colors that it saw.
        eyes: agent -> index of its eyes in `EYES`.
        colors: number of colors.
    """
    likely: Array = np.ones(colors)
    for agent, views in looks.items():
        for color in views:
            likely *= sight(colors, EYES[eyes[agent]])[:, color]
    shares: Array = likely / likely.sum()
    return shares


def _counts(total: int, kinds: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to divide a number among kinds."""
    if kinds == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _counts(total - first, kinds - 1):
            yield (first, *rest)


def _multinomial(counts: Sequence[int]) -> int:
    """Return the number of orders of a multiset with these counts."""
    ways, total = 1, 0
    for count in counts:
        total += count
        ways *= math.comb(total, count)
    return ways
