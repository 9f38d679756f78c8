"""More episodes per group than the training loop asks for.

A method that takes a member out of the loss draws one more, so that as many are learned from as
without it (MC-GRPO, arXiv 2601.22582).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pettingzoo import ParallelEnv

from laconic.learners.agents.base import Policy
from laconic.learners.episode import Group
from laconic.learners.errors import check_count
from laconic.learners.rollout.collectors.base import Collector
from laconic.learners.rollout.play import Start, collect


@dataclass(frozen=True, slots=True)
class Extra(Collector):
    """A `learners.rollout.play.Collector` of larger groups."""

    episodes: int = 1
    """Episodes of each group beyond `train.group_size`."""

    def __post_init__(self) -> None:
        """Check the range."""
        check_count("learner.collect.episodes", self.episodes, 1)

    def members(self, group_size: int) -> int:
        """Episodes of a group when `group_size` are asked for."""
        return group_size + self.episodes

    def __call__(
        self,
        environments: Sequence[ParallelEnv[str, Any, Any]],
        policies: Mapping[str, Policy],
        starts: Sequence[Start],
        group_size: int,
        *,
        seed: int,
    ) -> list[Group]:
        """Play the groups."""
        return collect(environments, policies, starts, self.members(group_size), seed=seed)
