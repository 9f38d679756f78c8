"""Imitation: a policy learns to speak as others do, before it learns from reward.

It is a `GroupLearner` of demonstrated groups (`learners.rollout.collectors.demonstrations`) whose
sequences all have the advantage 1 under an objective without a ratio: the loss is the mean negative
log-likelihood of what was said, in nats per token.
"""

from __future__ import annotations

from collections.abc import Sequence

from laconic.learners.advantages.group import Estimator, Key, Part


class Imitated(Estimator):
    """Compares nothing: whatever was said is worth saying."""

    group_by: tuple[Part, ...] = ("task",)

    def __call__(self, returns: Sequence[float], keys: Sequence[Key]) -> tuple[float, ...]:
        """The advantage 1 for every return; see `Estimator`."""
        return (1.0,) * len(returns)
