"""Refill of groups without contrast: groups of other tasks in place of those that teach nothing.

If all episodes of a group have the same advantage, nothing is learned from it. DAPO (arXiv
2503.14476, "dynamic sampling") leaves such groups out and samples more prompts until the batch is
full; DLER (arXiv 2510.15110) does so for short reasoning. Here the learner judges a group as it
will compare it, charges included, and the number of further groups is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from pettingzoo import ParallelEnv

from laconic.envs.checks import Count, checked
from laconic.envs.errors import SettingError
from laconic.learners.episode import Group
from laconic.learners.prices.schedule import PassRate, Price
from laconic.learners.rollout.collectors.base import Collector, Players
from laconic.learners.rollout.play import collect
from laconic.learners.rollout.runner import Start


class DynamicSampling(Collector):
    """Plays independent episodes, and further groups in place of those without contrast.

    A further group that has no contrast either is dropped. Groups that cannot be replaced stay, so
    the number of groups of an update never changes. `metrics` counts the further groups
    (`extra_groups`) and the replaced ones (`refilled_groups`).
    """

    own_starts = True

    @checked("learner.collect")
    def __init__(self, extra: Count = 16) -> None:
        """Take the largest number of further groups of an update (`SettingError` if below 1)."""
        self.extra = extra
        self.metrics: Mapping[str, float] = {}
        self._has_contrast: Callable[[Group], bool] | None = None
        self._rank, self._count = 0, 1

    @property
    def kind(self) -> str:
        """Name of the setting, for messages."""
        return "learner/collect=contrast"

    def bind(self, learner: Any, rank: int = 0, count: int = 1) -> None:
        """Connect the collector with its learner; processes share the further groups.

        Raises:
            SettingError: the learner compares no groups (it has no `has_contrast`), or its price
                steers a figure of all episodes.
        """
        has_contrast = getattr(learner, "has_contrast", None)
        if has_contrast is None:
            raise SettingError(
                "learner/collect=contrast replaces groups in which a learner has nothing to"
                " compare, and this learner compares no groups; choose one that does"
                " (learner=gspo), or learner/collect=null"
            )
        check_steering(learner.price)
        self._has_contrast, self._rank, self._count = has_contrast, rank, count

    def gather(
        self, players: Players, starts: Sequence[Start], group_size: int, seed: int
    ) -> list[Group]:
        """Play one group per start, and replace those without contrast while groups are left."""
        if self._has_contrast is None:
            self.bind(None)
        assert self._has_contrast is not None
        groups = collect(*players, starts, group_size, seed=seed)
        flat = [place for place, group in enumerate(groups) if not self._has_contrast(group)]
        generator = np.random.default_rng((seed, 2))
        budget = len(range(self._rank, self.extra, self._count))
        used = {group.task for group in groups}
        played = refilled = 0
        while flat and budget:
            further = [
                replace(start, price_share=starts[0].price_share)
                for start in self._starts(
                    players.environments[0], used, min(len(flat), budget), generator
                )
            ]
            if not further:
                break
            seed = int(generator.integers(2**31))
            for group in collect(*players, further, group_size, seed=seed):
                used.add(group.task)
                if self._has_contrast(group):
                    groups[flat.pop(0)] = group
                    refilled += 1
            played += len(further)
            budget -= len(further)
        self.metrics = {"extra_groups": float(played), "refilled_groups": float(refilled)}
        return groups

    def _starts(
        self,
        environment: ParallelEnv[str, Any, Any],
        used: set[str],
        count: int,
        generator: np.random.Generator,
    ) -> list[Start]:
        """Draw starts of up to `count` tasks that were not used; processes draw different ones."""
        seeds = generator.integers(2**31, size=count).tolist()
        tasks = getattr(environment, "tasks", None)
        if not isinstance(tasks, Mapping):
            return [Start(seed) for seed in seeds]
        keys = [key for key in [*tasks][self._rank :: self._count] if key not in used]
        chosen = generator.permutation(len(keys))[:count]
        return [Start(seed, keys[place]) for seed, place in zip(seeds, chosen, strict=False)]


def check_steering(price: Price) -> None:
    """Refuse a price that steers a figure of all episodes, of which this collector selects some.

    The pass rate of the groups that are kept may charge them: they are those that are learned from.

    Raises:
        SettingError: the price observes metrics other than the pass rate.
    """
    if type(price).observe is not Price.observe and not isinstance(price, PassRate):
        raise SettingError(
            f"learner/price ({type(price).__name__}) follows the sampled episodes, of which"
            " learner/collect=contrast keeps those of some tasks only; choose"
            " learner/price=pass_rate or fixed, or learner/collect=null"
        )
