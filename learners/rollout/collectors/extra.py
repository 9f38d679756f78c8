"""More episodes per group than the training loop asks for.

A method that takes a member out of the loss draws one more, so that as many are learned from as
without it (MC-GRPO, arXiv 2601.22582).
"""

from __future__ import annotations

from dataclasses import dataclass

from laconic.envs.checks import whole
from laconic.learners.rollout.collectors.base import Collector


@dataclass(frozen=True, slots=True)
class Extra(Collector):
    """A collector of larger groups."""

    episodes: int = 1
    """Episodes of each group beyond `train.group_size`."""

    def __post_init__(self) -> None:
        """Check the range."""
        whole("learner.collect.episodes", self.episodes, 1)

    def members(self, group_size: int) -> int:
        """Episodes of a group when `group_size` are asked for."""
        return group_size + self.episodes
