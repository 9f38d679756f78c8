"""More episodes per group than the training loop asks for.

A method that takes a member out of the loss draws one more, so that as many are learned from as
without it (MC-GRPO, arXiv 2601.22582).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pettingzoo import ParallelEnv

from laconic.envs.errors import SettingError
from laconic.learners.agents.base import Policy
from laconic.learners.episode import Group
from laconic.learners.rollout.collectors.base import Collector
from laconic.learners.rollout.play import Start, collect


@dataclass(frozen=True, slots=True)
class Extra(Collector):
    """A `learners.rollout.play.Collector` of larger groups."""

    episodes: int = 1
    """Episodes of each group beyond `train.group_size`."""

    def __post_init__(self) -> None:
        """Check the range.

        Raises:
            SettingError: the number is no whole number or below 1.
        """
        whole = isinstance(self.episodes, int) and not isinstance(self.episodes, bool)
        if not whole or self.episodes < 1:
            raise SettingError(
                "collect.episodes must be a whole number of at least 1, the episodes of a group"
                f" beyond train.group_size; got {self.episodes!r}"
            )

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
        """Play the groups; see `learners.rollout.play.collect`."""
        return collect(environments, policies, starts, self.members(group_size), seed=seed)
