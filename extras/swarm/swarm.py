"""Swarm sharing, SAPO (arXiv 2509.08721): runs learn from the episodes of other runs.

A run ("node") has its own policies, tasks and prices. It plays a part of the groups of each step
and shares them through a folder as text. The rest are groups of other nodes, replayed here
(`extras.swarm.replay`). Groups without contrast have advantages of 0, so they are neither shared
nor taken; local rewards decide. Nodes can be of any number, size and speed: parallel processes, or
one run after the other.

Foreign messages were not sampled from the policy that learns from them. The method does not correct
for this; `correct` does, for objectives with a ratio.

The groups that a node takes depend on the files in the folder at that time. Two runs with the same
seed are equal only if they find the same files. Do not share another node's evaluation tasks. Files
stay until a user removes them.

Other nodes contribute only text, which `exchange` and `replay` check, so no node can stop another
one. A node can still teach badly: a swarm is for nodes that trust each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pettingzoo import ParallelEnv

from laconic.envs.checks import Count, Whole, Word, check_fields
from laconic.envs.errors import SettingError
from laconic.envs.task import named_tasks
from laconic.extras.swarm.exchange import (
    DamagedError,
    Exchange,
    SharedGroup,
    share,
)
from laconic.extras.swarm.replay import benchmark_of, replay_groups
from laconic.learners.advantages.credit import Credit, credit, for_group
from laconic.learners.episode import Group
from laconic.learners.interfaces import Policy
from laconic.learners.rollout.collectors.base import Collector, Players
from laconic.learners.rollout.collectors.counterfactual import MEASURES
from laconic.learners.rollout.play import Start, collect

_LEVEL = 1e-9
"""Differences of returns below this, in reward units, are rounding."""


@dataclass(slots=True)
class Swarm(Collector):
    """Collector that plays and shares a part of the groups, and takes the rest from other nodes."""

    folder: str
    """Folder of the swarm, for its nodes alone."""
    name: Word
    """Name of this node, unique in the swarm."""
    own: Count = 4
    """Number of own groups per `foreign` ones."""
    foreign: Whole = 4
    """Number of foreign groups per `own` ones, rounded down; 0 only shares."""
    newest: Count = 256
    """Number of newest files of all other nodes from which groups are drawn."""
    correct: bool = False
    """True to weight foreign messages by their probability here over that of their author."""
    strange_tasks: bool = True
    """True to accept unknown tasks too, graded by the answers that come with them. Known tasks
    are always graded by the node's own answers."""
    credit: Word = "own"
    """Credit of the learner, which decides whether a group has contrast."""
    microbatch_tokens: Count = 16384
    """Largest number of tokens, padding included, of a forward pass over foreign messages. Groups
    in which an agent has more are left out."""
    metrics: dict[str, float] = field(default_factory=dict, init=False)
    """Counts of the last call: groups by origin and by reason of refusal, and unreadable files."""
    _exchange: Exchange = field(init=False, repr=False)
    _seen: set[str] = field(default_factory=set, init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the settings, without writing anything.

        Raises:
            SettingError: a setting is out of its range, or the credit needs replays of its own.
        """
        check_fields(self, "learner.collect")
        if self.credit in MEASURES:
            raise SettingError(
                "messages of other runs have no counterfactual credit; with learner.collect=Swarm"
                f" choose learner.credit=own, team or outcome, got {self.credit!r}"
            )
        credit(self.credit)
        self._exchange = Exchange(self.folder, self.name)

    def gather(
        self, players: Players, starts: Sequence[Start], group_size: int, seed: int
    ) -> list[Group]:
        """Take groups of other nodes, play the rest and share them.

        The environments need named tasks, as `envs.make` gives them. Taken groups replace the last
        starts and keep their own number of episodes. The seed also names the files.

        Returns:
            One group per start: own ones, then foreign ones. If other nodes offer too few, more own
            groups are played; without foreign ones the result is that of `collect`.

        Raises:
            SettingError: the environment's tasks have no names, the folder cannot be written to,
                or `correct` meets a policy that computes its log-probabilities again.
        """
        environments, policies = players
        tasks = named_tasks(environments[0])
        if self.correct and any(
            getattr(policy, "recompute_logprobs", False) for policy in policies.values()
        ):
            raise SettingError(
                "learner.collect.correct=true needs the log-probabilities of the authors, which"
                " agent.recompute_logprobs=true replaces; set one of the two to false"
            )
        self.metrics = dict.fromkeys(
            ("damaged_files", "unfit_groups", "level_groups", "published_groups"), 0.0
        )
        count = len(starts) * self.foreign // (self.own + self.foreign)
        generator, share_now = np.random.default_rng((seed, 2)), starts[0].price_share
        foreign = self._take(environments, policies, count, generator, share_now)
        starts = starts[: len(starts) - len(foreign)]
        own = collect(environments, policies, starts, group_size, seed=seed)
        for index, (start, group) in enumerate(zip(starts, own, strict=True)):
            if has_contrast(group, credit(self.credit)):
                task = tasks[group.task]
                shared = share(benchmark_of(environments[0]), group, task, start.seed)
                published = self._exchange.publish(shared, f"{seed}-{index}")
                self.metrics["published_groups"] += float(published)
        self.metrics |= {"own_groups": float(len(own)), "foreign_groups": float(len(foreign))}
        return [*own, *foreign]

    def state_dict(self) -> dict[str, Any]:
        """Return the names of files that were read; none is read twice."""
        return {"seen": sorted(self._seen)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state of `state_dict`."""
        self._seen = set(state["seen"])

    def _take(
        self,
        environments: Sequence[ParallelEnv[str, Any, Any]],
        policies: Mapping[str, Policy],
        limit: int,
        generator: np.random.Generator,
        price_share: float,
    ) -> list[Group]:
        """Draw groups of other nodes that have contrast here, uniformly, up to a number."""
        groups: list[Group] = []
        offered = [name for name in self._exchange.offered(self.newest) if name not in self._seen]
        names = [offered[index] for index in generator.permutation(len(offered))] if limit else []
        while names and len(groups) < limit:
            count = limit - len(groups)
            shared, names = self._read(names[:count]), names[count:]
            replayed = replay_groups(
                environments,
                policies,
                shared,
                max_tokens=self.microbatch_tokens,
                correct=self.correct,
                strange_tasks=self.strange_tasks,
                price_share=price_share,
            )
            fitting = [group for group in replayed if group is not None]
            contrasting = [group for group in fitting if has_contrast(group, credit(self.credit))]
            self.metrics["unfit_groups"] += len(replayed) - len(fitting)
            self.metrics["level_groups"] += len(fitting) - len(contrasting)
            groups += contrasting
        return groups

    def _read(self, names: Sequence[str]) -> list[SharedGroup]:
        """Read the groups of some files; a damaged file is skipped and may be complete later."""
        groups = []
        for name in names:
            try:
                groups.append(self._exchange.read(name))
                self._seen.add(name)
            except DamagedError:
                self.metrics["damaged_files"] += 1.0
        return groups


def has_contrast(group: Group, credit: Credit) -> bool:
    """Return whether X = T - C of any agent differs between two episodes of a group."""
    credit = for_group(credit, group.episodes)
    totals: dict[str, list[float]] = {}
    for episode in group.episodes:
        credits = credit(episode)
        for agent, task in credits.task.items():
            totals.setdefault(agent, []).append(sum(task) - sum(credits.cost[agent]))
    return any(max(values) - min(values) > _LEVEL for values in totals.values())
