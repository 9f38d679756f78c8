"""Silence on trial: some turns are silent on purpose, so that its worth is never forgotten.

While a team is weak, a helper that keeps silent although it knows something spoils the episode,
silence as such is punished, and its word is never drawn again, not even where there is nothing to
say: *silence extinction*, the mirror image of silence collapse. What is never sampled is never
learned. So a share of the turns is played silent whatever the policy would have said; an update
trains on them as on all others, and counts their probability from what the policy gives them now.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from laconic.envs.checks import number
from laconic.learners.agents.base import Policy, Reply, Request
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.rollout.collectors.base import Collector, Players
from laconic.learners.rollout.collectors.behaviour import scored
from laconic.learners.rollout.collectors.replay import say
from laconic.learners.rollout.play import play
from laconic.learners.rollout.runner import MAX_ROUNDS, Start

Given = Mapping[tuple[str, int], Reply | Callable[[Request], Reply | None]]


@dataclass
class TriedSilence(Collector):
    """Plays the policies, a share of whose turns is silent on purpose.

    Agents that answer for a team are left alone: without their words there is no answer. Where all
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
        trying = set(policies) - set(getattr(environments[0], "answering", ())) or set(policies)
        rounds = int(environments[0].metadata.get("max_rounds") or MAX_ROUNDS)
        generator = np.random.default_rng((seed, 3))
        tried = [
            {
                (agent, round)
                for agent in sorted(trying)
                for round in range(rounds)
                if isinstance(policies[agent], HFPolicy) and generator.random() < self.rate
            }
            for _ in range(len(starts) * group_size)
        ]
        repeated = [
            replace(start, given={**_silent(places, policies), **start.given})
            for start, places in zip(np.repeat(starts, group_size), tried, strict=True)
        ]
        episodes = play(environments, policies, repeated, seed=seed)
        episodes = _scored(episodes, tried, policies, self.max_tokens)
        self.metrics = {
            "tried_silences": float(
                sum(
                    _is_tried(turn, places)
                    for one, places in zip(episodes, tried, strict=True)
                    for turn in one.turns
                )
            )
        }
        cut = range(0, len(episodes), group_size)
        groups = [episodes[first : first + group_size] for first in cut]
        return [Group(members[0].task, tuple(members)) for members in groups]


def _silent(places: set[tuple[str, int]], policies: Mapping[str, Policy]) -> Given:
    return {place: _Say(policies[place[0]]) for place in places}


@dataclass(frozen=True)
class _Say:
    policy: Policy

    def __call__(self, request: Request) -> Reply:
        return say(self.policy, "", request)


def _is_tried(turn: Turn, places: set[tuple[str, int]]) -> bool:
    return (turn.agent, turn.round) in places


def _scored(
    episodes: Sequence[Episode],
    tried: Sequence[set[tuple[str, int]]],
    policies: Mapping[str, Policy],
    max_tokens: int,
) -> list[Episode]:
    """The episodes with the log-probabilities of what was tried."""
    asked = [
        replace(
            one,
            turns=tuple(replace(turn, trained=_is_tried(turn, places)) for turn in one.turns),
        )
        for one, places in zip(episodes, tried, strict=True)
    ]
    found = scored(asked, policies, max_tokens)
    return [
        replace(one, turns=tuple(replace(turn, trained=True) for turn in one.turns))
        for one in found
    ]
