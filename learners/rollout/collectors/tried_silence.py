"""Silence on trial: some turns are silent on purpose, so that its worth is not forgotten.

While a team is weak, a helper that keeps silent although it knows something spoils the episode,
silence as such is punished, and its word is never drawn again, not even where there is nothing to
say: *silence extinction*, the mirror image of silence collapse. What is never sampled is never
learned. So a share of the turns is played silent, whatever the policy would have said. Where such a
turn did better than what else was said, an update makes it likelier, with a ratio that counts from
what the policy gives it now; where it did worse the policy would not have said it anyway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from laconic.envs.checks import number
from laconic.learners.agents.base import Policy
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.episode import Episode, Group
from laconic.learners.rollout.collectors.base import Collector, Players
from laconic.learners.rollout.collectors.behaviour import scored
from laconic.learners.rollout.collectors.replay import say
from laconic.learners.rollout.play import play
from laconic.learners.rollout.runner import MAX_ROUNDS, Start

Places = frozenset[tuple[str, int]]
"""Agents and rounds of an episode in which silence is tried."""


@dataclass
class TriedSilence(Collector):
    """Plays the policies; a share of the turns is silent on purpose.

    Agents that answer for the team speak as they like: without them there is no answer. Where all
    answer, all try.
    """

    rate: float = 0.1
    """Probability that a turn is silent on purpose, 0 to 1."""
    max_tokens: int = 16384
    """Max. tokens, padding included, of a forward pass that scores such turns."""
    metrics: dict[str, float] = field(default_factory=dict, init=False)
    """Of the last call: `tried_silences`, turns that were silent on purpose."""

    def __post_init__(self) -> None:
        """Check the range."""
        number("learner.collect.rate", self.rate, lowest=0, highest=1)

    def gather(
        self, players: Players, starts: Sequence[Start], group_size: int, seed: int
    ) -> list[Group]:
        """One group a start; which turns are silent on purpose is drawn by the seed."""
        environments, policies = players
        rounds = int((environments[0].metadata or {}).get("max_rounds") or MAX_ROUNDS)
        answering = set(getattr(environments[0], "answering", ()))
        turns = [
            (agent, round)
            for agent in sorted(policies.keys() - answering or policies)
            for round in range(rounds)
            if isinstance(policies[agent], HFPolicy)
        ]
        drawn = np.random.default_rng((seed, 3)).random((len(starts) * group_size, len(turns)))
        tried = [
            frozenset(turn for turn, draw in zip(turns, row, strict=True) if draw < self.rate)
            for row in drawn
        ]
        repeated = (start for start in starts for _ in range(group_size))
        silenced = [_silenced(*each, policies) for each in zip(repeated, tried, strict=True)]
        episodes = play(environments, policies, silenced, seed=seed)
        episodes = self._scored(episodes, tried, policies)
        groups = [episodes[i : i + group_size] for i in range(0, len(episodes), group_size)]
        return [Group(members[0].task, tuple(members)) for members in groups]

    def _scored(
        self, episodes: Sequence[Episode], tried: Sequence[Places], policies: Mapping[str, Policy]
    ) -> list[Episode]:
        """The episodes with the log-probabilities of what was tried, which are counted."""
        marked = [_marked(*each) for each in zip(episodes, tried, strict=True)]
        count = sum(turn.tried for episode in marked for turn in episode.turns)
        self.metrics = {"tried_silences": float(count)}
        found = scored(marked, policies, self.max_tokens)
        return [
            replace(one, turns=tuple(replace(turn, trained=True) for turn in one.turns))
            for one in found
        ]


def _silenced(start: Start, tried: Places, policies: Mapping[str, Policy]) -> Start:
    """The start with silence given for some turns; what is given already stays."""
    silent = {turn: partial(say, policies[turn[0]], "") for turn in tried}
    return replace(start, given={**silent, **start.given})


def _marked(episode: Episode, places: Places) -> Episode:
    """An episode that says which turns were tried; those alone are to be scored."""
    turns = []
    for turn in episode.turns:
        tried = (turn.agent, turn.round) in places
        turns.append(replace(turn, tried=tried, trained=tried))
    return replace(episode, turns=tuple(turns))
