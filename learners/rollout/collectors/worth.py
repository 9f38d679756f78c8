"""A collector that measures what every message was worth to its team.

A rule says by which sets of a round's speakers a message is measured: the value of a set is the
team's return when these say what they said, the others of the round are silent, all before is as
recorded, and the rounds after are played on. The return is the sum over agents: a message serves
every agent that is paid for the outcome, and costs whoever the environment charges for it. With the
mean, as in `credit.team`, advantages would differ by their epsilon alone, but a token would seem
cheaper the larger the team. A silent turn is worth 0 and needs no replay.

With `greedy`, rounds are played on in the likeliest way for every set alike. A worth is then exact
for a team that decodes those rounds greedily. For one that samples them it is an estimate, free of
the luck of the later draws and blind to what they might have changed. Without `greedy` the rounds
are sampled, and the recorded episode stands for the whole set: right on average, but noisy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from pettingzoo import ParallelEnv

from laconic.envs.errors import SettingError
from laconic.learners.agents.base import Policy
from laconic.learners.episode import Episode, Group
from laconic.learners.rollout.collectors.base import Collector as Base
from laconic.learners.rollout.collectors.replays import Replay, team_returns
from laconic.learners.rollout.play import Collector, Start, collect

Weights = Mapping[str, Mapping[frozenset[str], float]]
"""For each speaker, the weights with which the values of sets of speakers add up to its worth."""
Rule = Callable[[Sequence[str], np.random.Generator], Weights]
"""Speakers of a round and a generator -> weights."""


@dataclass(slots=True)
class Worth(Base):
    """Plays groups by another collector and notes in every turn what its message was worth."""

    credit: str = field()
    """Name of the credit that pays by it (`learners.advantages.credit`)."""
    rule: Rule
    """The sets of speakers that a message is measured by."""
    collect: Collector = collect
    """Plays the groups, one for each start."""
    greedy: bool = True
    """Whether later rounds are played on greedily, or sampled."""
    metrics: dict[str, float] = field(default_factory=dict, init=False)
    """Of the last call: `replays`, episodes played again from some round on."""

    def __call__(
        self,
        environments: Sequence[ParallelEnv[str, Any, Any]],
        policies: Mapping[str, Policy],
        starts: Sequence[Start],
        group_size: int,
        *,
        seed: int,
    ) -> list[Group]:
        """Play the groups, then the replays of all their rounds at once.

        Args:
            environments: equal environments, deterministic under a reset with a seed.
            policies: who speaks for each agent.
            starts: where the groups begin.
            group_size: episodes of a group.
            seed: of everything that is drawn.

        Returns:
            The groups of `collect`, every turn with its `worth`.

        Raises:
            SettingError: `collect` does not play one group for each start.
        """
        groups = self.collect(environments, policies, starts, group_size, seed=seed)
        if len(groups) != len(starts):
            raise SettingError(
                f"learner.credit={self.credit} plays episodes again from their start and needs a"
                f" learner.collect with one group a start ({len(starts)}); got {len(groups)} groups"
            )
        generator = np.random.default_rng((seed, 1))
        rounds = [
            (one, self.rule(sorted(_speakers(one)), generator))
            for start, group in zip(starts, groups, strict=True)
            for episode in group.episodes
            for one in _rounds(start, episode)
        ]
        asked = [(one, said) for one, weights in rounds for said in _sets(weights)]
        returns, played = team_returns(
            environments,
            policies,
            [replace(one, unsaid=_speakers(one) - said) for one, said in asked],
            seed=int(generator.integers(2**31)),
            greedy=self.greedy,
        )
        self.metrics = {**getattr(self.collect, "metrics", {}), "replays": float(played)}
        values = {(id(one), said): each for (one, said), each in zip(asked, returns, strict=True)}
        worths = {
            (id(one.episode), one.round, agent): sum(
                weight * values[id(one), said] for said, weight in each.items()
            )
            for one, weights in rounds
            for agent, each in weights.items()
        }
        return [
            replace(group, episodes=tuple(_noted(episode, worths) for episode in group.episodes))
            for group in groups
        ]


def _sets(weights: Weights) -> dict[frozenset[str], None]:
    """The sets of speakers that anybody's worth is made of, once each, in order."""
    return {said: None for each in weights.values() for said in each}


def _rounds(start: Start, episode: Episode) -> list[Replay]:
    """The rounds in which somebody spoke."""
    spoken = {turn.round for turn in episode.turns if turn.message}
    return [Replay(start, episode, round) for round in sorted(spoken)]


def _speakers(one: Replay) -> frozenset[str]:
    return frozenset(
        turn.agent for turn in one.episode.turns if turn.round == one.round and turn.message
    )


def _noted(episode: Episode, worths: Mapping[tuple[int, int, str], float]) -> Episode:
    return replace(
        episode,
        turns=tuple(
            replace(turn, worth=worths.get((id(episode), turn.round, turn.agent), 0.0))
            for turn in episode.turns
        ),
    )
