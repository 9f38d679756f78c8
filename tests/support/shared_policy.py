"""A solver and a helper that share one policy, and their rewards."""

from __future__ import annotations

from dataclasses import replace

import pytest
from updates import Speakers, group_of

from laconic.learners.agents.hf import HFPolicy
from laconic.learners.episode import Group, Turn


@pytest.fixture
def policy(make_policy) -> HFPolicy:
    return make_policy(max_reply_tokens=8)


@pytest.fixture
def speakers(policy) -> Speakers:
    return {"solver_0": policy, "helper_0": policy}


@pytest.fixture
def group(speakers) -> Group:
    """Four episodes of a solver and a helper who share one policy."""
    return group_of(speakers, [(1.0, 0.5), (0.0, 0.0), (0.5, -1.0), (0.0, 0.25)])


@pytest.fixture
def off_policy(group) -> Group:
    """Return the group with shifted behavior log-probabilities, so that ratios differ and clip."""
    shifts = (0.0, 0.06, -0.06, 0.3, -0.3)

    def moved(turn: Turn, index: int) -> Turn:
        shift = shifts[index % len(shifts)]
        return replace(turn, behavior_logprobs=tuple(x + shift for x in turn.behavior_logprobs))

    episodes = tuple(
        replace(
            episode,
            turns=tuple(moved(turn, place * 3 + n) for n, turn in enumerate(episode.turns)),
        )
        for place, episode in enumerate(group.episodes)
    )
    return replace(group, episodes=episodes)
