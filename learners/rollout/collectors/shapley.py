"""The counterfactual credit of a message as its Shapley value among those of its round.

The speakers of a round join one after the other; the credit of a message is what it adds when its
author joins, on average over the orders (L. Shapley, 1953). The credits of a round add up to what
all its messages together made of silence. Few speakers are measured in all orders; of more, orders
are sampled (J. Castro, D. Gómez, J. Tejada, 2009), and the sum still holds in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from math import factorial

import numpy as np

from laconic.envs.checks import whole
from laconic.learners.rollout.collectors.base import PlaysGroups
from laconic.learners.rollout.collectors.counterfactual import CounterfactualCredit, Weights
from laconic.learners.rollout.play import collect


def shapley(
    collect: PlaysGroups = collect, greedy: bool = True, samples: int = 4
) -> CounterfactualCredit:
    """Make a collector for `learner.credit=shapley`.

    Args:
        collect: plays the groups, one for each start.
        greedy: whether rounds after a message are played on greedily; see `counterfactual`.
        samples: orders that are drawn, at least 1, where all of them would need more replays; with
            4, up to three speakers are measured exactly.
    """
    whole("learner.collect.samples", samples, 1)
    return CounterfactualCredit("shapley", partial(shares, samples=samples), collect, greedy)


def shares(speakers: Sequence[str], generator: np.random.Generator, *, samples: int) -> Weights:
    """Weights that make a speaker's credit its Shapley value; none without speakers.

    Exact where all sets of speakers are no more than `samples` drawn orders could ask for.
    """
    count = len(speakers)
    # An order asks for the values of nobody, of everybody, and of count - 1 sets between them.
    if 2**count <= 2 + samples * max(count - 1, 0):
        return _exact(speakers)
    weights: dict[str, dict[frozenset[str], float]] = {agent: {} for agent in speakers}
    for _ in range(samples):
        order = [speakers[place] for place in generator.permutation(count)]
        for place, agent in enumerate(order):
            with_it, without = frozenset(order[: place + 1]), frozenset(order[:place])
            weights[agent][with_it] = weights[agent].get(with_it, 0.0) + 1 / samples
            weights[agent][without] = weights[agent].get(without, 0.0) - 1 / samples
    return weights


def _exact(speakers: Sequence[str]) -> Weights:
    """Return the Shapley weights: s! (n - 1 - s)! / n! for joining s of the other n - 1."""
    count = len(speakers)
    weights: dict[str, dict[frozenset[str], float]] = {agent: {} for agent in speakers}
    for agent in speakers:
        others = [other for other in speakers if other != agent]
        for size in range(count):
            weight = factorial(size) * factorial(count - 1 - size) / factorial(count)
            for before in map(frozenset, combinations(others, size)):
                weights[agent][before | {agent}] = weight
                weights[agent][before] = -weight
    return weights
