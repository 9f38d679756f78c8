"""Swarm sharing, SAPO (arXiv 2509.08721): runs learn from what other runs played, as text.

A run ("node") has its own policies, tasks and prices. Of the groups of a step it plays a part by
itself and shares them through a folder; the rest are groups that other nodes shared, played again
here (`extras.swarm.replay`). Groups in which all earn the same have only advantages
of 0: they are not shared, and not taken either, by the rewards that they bring here. Any number of
nodes, of any size, at any speed: parallel processes, or one run after the other.

Foreign words were not drawn from the policy that learns from them. The method does not correct for
that; `correct` is the control that does, for objectives with a ratio.

What is taken depends on what lies in the folder at that moment, so two runs with one seed are equal
only when they find the same files. Whoever shares tasks should see to it that they are not another
node's evaluation tasks. Files stay until somebody removes them.

Of other nodes nothing is needed but their words (`exchange` and `replay` say what is refused), so
none of them can stop this one; what they teach is another matter. A swarm is for nodes that mean
well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pettingzoo import ParallelEnv

from laconic.envs.checks import whole
from laconic.envs.errors import SettingError
from laconic.envs.task import named_tasks
from laconic.extras.swarm.exchange import (
    DamagedError,
    Exchange,
    SharedGroup,
    share,
)
from laconic.extras.swarm.replay import benchmark_of, replay_groups
from laconic.learners.advantages.credit import Credit, charge_factor, credit
from laconic.learners.episode import Group
from laconic.learners.interfaces import Policy
from laconic.learners.rollout.collectors.base import Collector, Players
from laconic.learners.rollout.collectors.measures import MEASURES
from laconic.learners.rollout.play import Start, collect

_LEVEL = 1e-9
"""Returns that differ by less, in reward units, differ by rounding alone."""


@dataclass(slots=True)
class Swarm(Collector):
    """Plays a part of the groups, shares them, and takes the rest from other nodes."""

    folder: str
    """Shared by the nodes of one swarm, and by nobody else."""
    name: str
    """Name of this node, one that no other node has."""
    own: int = 4
    """Own groups for every `foreign` ones."""
    foreign: int = 4
    """Groups of others for every `own` ones, rounded down; 0 only shares."""
    newest: int = 256
    """Of so many files, the newest of all other nodes together, groups are drawn."""
    correct: bool = False
    """Whether foreign messages are weighed by their probability here over that of their author."""
    strange_tasks: bool = True
    """Whether tasks that this node does not have are taken as well, graded by the answers of the
    others. Tasks that it has are graded by its own answers in any case."""
    credit: str = "own"
    """By what returns a group is judged to have contrast: the credit of the learner."""
    charge_power: float = 0.0
    """The learner's power of the pass rate by which costs are weighed in these returns."""
    microbatch_tokens: int = 16384
    """Max. tokens, padding included, of one forward pass over foreign messages; groups in which one
    agent reads and says more are left out."""
    metrics: dict[str, float] = field(default_factory=dict, init=False)
    """Of the last call: groups by where they came from and why they were passed over, and files
    that could not be read."""
    _exchange: Exchange = field(init=False, repr=False)
    _seen: set[str] = field(default_factory=set, init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the settings; nothing is written yet.

        Raises:
            SettingError: a setting is out of its range, or the credit needs replays of its own.
        """
        whole("learner.collect.own", self.own, 1)
        whole("learner.collect.foreign", self.foreign, 0)
        whole("learner.collect.newest", self.newest, 1)
        whole("learner.collect.microbatch_tokens", self.microbatch_tokens, 1)
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
        """Take what others have, play the rest, and share it.

        The environments need named tasks, as `envs.make` gives them. Of the last starts, as many
        are left out as groups are taken. Foreign groups have as many episodes as they have. The
        seed also names the files.

        Returns:
            As many groups as starts: own ones, then foreign ones. Where others have too little to
            offer, own ones take their place; without foreign ones it is what `collect` plays.

        Raises:
            SettingError: the environment's tasks have no names, the folder cannot be written to,
                or `correct` meets a policy that computes its log-probabilities again.
        """
        environments, policies = players
        tasks = named_tasks(environments[0])
        if self.correct and any(
            getattr(one, "recompute_logprobs", False) for one in policies.values()
        ):
            raise SettingError(
                "learner.collect.correct=true needs the log-probabilities of the authors, which"
                " agent.recompute_logprobs=true replaces; set one of the two to false"
            )
        self.metrics = dict.fromkeys(
            ("damaged_files", "unfit_groups", "level_groups", "published_groups"), 0.0
        )
        wanted = len(starts) * self.foreign // (self.own + self.foreign)
        foreign = self._take(environments, policies, wanted, np.random.default_rng((seed, 2)))
        starts = starts[: len(starts) - len(foreign)]
        own = collect(environments, policies, starts, group_size, seed=seed)
        for index, (start, group) in enumerate(zip(starts, own, strict=True)):
            if has_contrast(group, credit(self.credit), self.charge_power):
                task = tasks[group.task]
                shared = share(benchmark_of(environments[0]), group, task, start.seed)
                published = self._exchange.publish(shared, f"{seed}-{index}")
                self.metrics["published_groups"] += float(published)
        self.metrics |= {"own_groups": float(len(own)), "foreign_groups": float(len(foreign))}
        return [*own, *foreign]

    def state_dict(self) -> dict[str, Any]:
        """The files that were taken or passed over; none is looked at twice."""
        return {"seen": sorted(self._seen)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of `state_dict`."""
        self._seen = set(state["seen"])

    def _take(
        self,
        environments: Sequence[ParallelEnv[str, Any, Any]],
        policies: Mapping[str, Policy],
        wanted: int,
        generator: np.random.Generator,
    ) -> list[Group]:
        """Groups of others with contrast here, drawn uniformly; as many as there are."""
        taken: list[Group] = []
        offered = [name for name in self._exchange.offered(self.newest) if name not in self._seen]
        names = [offered[index] for index in generator.permutation(len(offered))] if wanted else []
        while names and len(taken) < wanted:
            count = wanted - len(taken)
            read, names = self._read(names[:count]), names[count:]
            replayed = replay_groups(
                environments,
                policies,
                read,
                max_tokens=self.microbatch_tokens,
                correct=self.correct,
                strange_tasks=self.strange_tasks,
            )
            found = [group for group in replayed if group is not None]
            contrasting = [
                group
                for group in found
                if has_contrast(group, credit(self.credit), self.charge_power)
            ]
            self.metrics["unfit_groups"] += len(replayed) - len(found)
            self.metrics["level_groups"] += len(found) - len(contrasting)
            taken += contrasting
        return taken

    def _read(self, names: Sequence[str]) -> list[SharedGroup]:
        """What lies in some files; one that is damaged may be whole at the next step.

        Whatever is wrong with a file costs that file and no more: others write to the folder too.
        """
        read = []
        for name in names:
            try:
                read.append(self._exchange.read(name))
                self._seen.add(name)
            except DamagedError:
                self.metrics["damaged_files"] += 1.0
        return read


def has_contrast(group: Group, credit: Credit, charge_power: float = 0.0) -> bool:
    """Return whether some agent's X = T - w C differs between two episodes of a group."""
    factor = charge_factor(group.episodes, charge_power)
    totals: dict[str, list[float]] = {}
    for episode in group.episodes:
        credits = credit(episode)
        for agent, task in credits.task.items():
            value = sum(task) - factor * sum(credits.cost[agent])
            totals.setdefault(agent, []).append(value)
    return any(max(values) - min(values) > _LEVEL for values in totals.values())
