"""The counterfactual credit of a message by silence: what would the team have earned without it?

The difference of a difference reward (D. Wolpert, K. Tumer, 2002), with silence as the default
action. Two messages that say the same get no credit, because either could be missed;
`shapley` shares it among them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from laconic.learners.rollout.collectors.base import PlaysGroups
from laconic.learners.rollout.collectors.counterfactual import CounterfactualCredit, Weights
from laconic.learners.rollout.play import collect


def silence(collect: PlaysGroups = collect, greedy: bool = True) -> CounterfactualCredit:
    """Make a collector for `learner.credit=silence`.

    Args:
        collect: plays the groups, one for each start.
        greedy: whether rounds after a message are played on greedily; see `counterfactual`.
    """
    return CounterfactualCredit("silence", differences, collect, greedy)


def differences(speakers: Sequence[str], generator: np.random.Generator) -> Weights:
    """Weights by which a credit is the value of all speakers less that of the others."""
    everybody = frozenset(speakers)
    return {agent: {everybody: 1.0, everybody - {agent}: -1.0} for agent in speakers}
