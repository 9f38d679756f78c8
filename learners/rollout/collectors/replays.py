"""Plays episodes again with some messages unsaid, many at a time, and tells what the team earned.

Up to the round in question a replay is the recorded episode, given reply by reply, tokens included;
in that round some agents are silent instead of what they said; the rounds after it are played on by
the policies. Works with environments that are deterministic under `reset(seed, options)` and equal
actions. Knows nothing of what the returns are compared for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pettingzoo import ParallelEnv

from laconic.learners.agents.base import Policy, Reply
from laconic.learners.episode import Episode
from laconic.learners.rollout.play import Start, play, replies_of

Given = dict[tuple[str, int], Reply]


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """An episode to be played again from the end of one of its rounds."""

    start: Start
    """Where the episode began."""
    episode: Episode
    """The episode as recorded."""
    round: int
    """The last round that is given."""
    unsaid: frozenset[str] = frozenset()
    """Agents that are silent in that round, whatever they said; empty changes nothing."""


def team_return(episode: Episode) -> float:
    """The sum of all agents' returns; 0 without agents."""
    return float(sum(episode.returns.values()))


def team_returns(
    environments: Sequence[ParallelEnv[str, Any, Any]],
    policies: Mapping[str, Policy],
    replays: Sequence[Replay],
    *,
    seed: int,
    greedy: bool = True,
) -> tuple[list[float], int]:
    """What the team earns in each replay.

    Replays of one start with equal replies so far are played once. None is played where the
    recorded episode is its outcome: nothing is unsaid, and no round is left or rounds are sampled.

    Args:
        environments: equal environments; so many replays advance together.
        policies: who speaks for each agent.
        replays: what to play.
        seed: of the rounds that are sampled.
        greedy: whether rounds after the given ones are decoded greedily, or sampled.

    Returns:
        (replays,) the sum of all agents' returns in each; and how many episodes were played.
    """
    silences = {agent: _silence(policy) for agent, policy in policies.items()}
    returns = [team_return(replay.episode) for replay in replays]
    places: dict[object, list[int]] = {}
    starts: list[Start] = []
    for index, replay in enumerate(replays):
        if not replay.unsaid and (_is_last(replay) or not greedy):
            continue
        given = _given(replay, silences)
        # Log-probabilities are left out: equal replies may differ in their last bit.
        said = frozenset((*who, reply.message, reply.reply_ids) for who, reply in given.items())
        shared = places.setdefault((id(replay.start), said), [])
        if not shared:
            starts.append(replace(replay.start, given={**replay.start.given, **given}))
        shared.append(index)
    played = play(environments, policies, starts, seed=seed, greedy=greedy)
    for episode, indices in zip(played, places.values(), strict=True):
        for index in indices:
            returns[index] = team_return(episode)
    return returns, len(played)


def _is_last(replay: Replay) -> bool:
    rounds = max((len(rewards) for rewards in replay.episode.rewards.values()), default=0)
    return replay.round + 1 >= rounds


def _given(replay: Replay, silences: Mapping[str, tuple[int, ...]]) -> Given:
    """The replies up to the round, silence among them where a message is to be unsaid."""
    given = replies_of(turn for turn in replay.episode.turns if turn.round <= replay.round)
    for agent in replay.unsaid:
        said, silence = given[agent, replay.round], silences[agent]
        given[agent, replay.round] = Reply("", said.prompt_ids, silence, (0.0,) * len(silence))
    return given


def _silence(policy: Policy) -> tuple[int, ...]:
    """The tokens in which a policy is silent; a script has none."""
    write = getattr(policy, "write", None)
    return tuple(write("")) if write else ()
