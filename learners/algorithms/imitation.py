"""Imitation: a policy learns from demonstrations before it learns from reward.

The learner is a `GroupLearner` on groups of `learners.rollout.collectors.demonstrations`. All
sequences have the advantage 1 under an objective without a ratio, so the loss is the mean negative
log-likelihood of the demonstrations, in nats per token.
"""

from __future__ import annotations

from collections.abc import Sequence

from laconic.learners.advantages.group import Estimator, Key, Part


class Imitated(Estimator):
    """Constant advantage: every demonstration is worth imitating."""

    group_by: tuple[Part, ...] = ("task",)

    def __call__(self, returns: Sequence[float], keys: Sequence[Key]) -> tuple[float, ...]:
        """Return the advantage 1 for every return; see `Estimator`."""
        return (1.0,) * len(returns)
