"""Replays the episodes of others here, as if this run's own policies had spoken in them.

What was written elsewhere is said again in the environments at hand, so observations, budgets,
prices and scores are local ones. Every message is put into the tokens of the policy that speaks for
its agent here, and gets the log-probability which that policy gives it now: the importance ratio of
an update then begins at 1, although the policy would hardly have drawn these words. That is the
choice of SAPO (arXiv 2509.08721); the alternative, `correct`, counts from the author's probability.

Of the text of others nothing is believed but that it was said: a group that cannot be played here
word for word is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

from pettingzoo import ParallelEnv

from laconic.envs.task import Task
from laconic.learners.advantages.credit import own
from laconic.learners.agents.base import Policy, Reply, Request
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.rollout.collectors.exchange import (
    SharedEpisode,
    SharedGroup,
    SharedMessage,
)
from laconic.learners.rollout.play import Start, play
from laconic.learners.training.logprobs import recomputed
from laconic.learners.training.sequences import episode_sequences

Pair = tuple[Episode, SharedEpisode]
"""An episode as it went here, and as it was shared."""


def replay_groups(
    environments: Sequence[ParallelEnv[str, Any, Any]],
    policies: Mapping[str, Policy],
    groups: Sequence[SharedGroup],
    *,
    max_tokens: int,
    correct: bool = False,
) -> list[Group | None]:
    """Play shared groups, and measure how likely their messages are here.

    Args:
        environments: equal environments that can be reset to a `Task`.
        policies: who speaks for each agent.
        groups: as they were shared.
        max_tokens: max. tokens, padding included, of one forward pass.
        correct: count log-probabilities from those of the author, the probability ratio of a
            message truncated at 1 (V-trace, arXiv 1802.01561) and spread evenly over its tokens.

    Returns:
        For each shared group the group as this run would have played it, or None where it does not
        fit: another team or benchmark, a task whose details are not here, a reply that the
        environment asks for and the episode does not have, words that a policy here cannot write,
        or, with `correct`, no log-probability of the author.
    """
    played = [_played(environments, policies, shared, correct) for shared in groups]
    flat = [pair for pairs in played for pair in pairs]
    measured = iter(_measured(flat, policies, max_tokens, correct))
    found = (tuple(islice(measured, len(pairs))) for pairs in played)
    return [Group(one[0].task, one, own=False) if one else None for one in found]


def benchmark_of(environment: ParallelEnv[str, Any, Any]) -> str:
    """Name of the benchmark behind an environment; empty where it does not say."""
    return str(getattr(getattr(environment, "benchmark", None), "name", ""))


class _Mute:
    """Answers for what was not shared; such an episode is left out."""

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        return [Reply("")] * len(requests)


def _played(
    environments: Sequence[ParallelEnv[str, Any, Any]],
    policies: Mapping[str, Policy],
    shared: SharedGroup,
    correct: bool,
) -> list[Pair]:
    """The episodes of a group as they go here; none where one of them does not fit."""
    agents = environments[0].possible_agents
    task = _playable(shared, environments[0])
    if task is None or set(shared.agents) != set(agents):
        return []
    starts = [Start(shared.seed, task, _given(one, policies)) for one in shared.episodes]
    episodes = play(environments, dict.fromkeys(agents, _Mute()), starts, seed=0)
    pairs = list(zip(episodes, shared.episodes, strict=True))
    return pairs if all(_fits(*pair, task.key, correct) for pair in pairs) else []


def _playable(shared: SharedGroup, environment: ParallelEnv[str, Any, Any]) -> Task | None:
    """The task; details that could not be shared come from an equal task of this run."""
    if shared.benchmark != benchmark_of(environment):
        return None
    if shared.has_details:
        return shared.task
    same = getattr(environment, "tasks", {}).get(shared.task.key.partition("/")[2])
    if same is None or replace(same, key=shared.task.key, details={}) != shared.task:
        return None
    return replace(shared.task, details=same.details)


def _given(shared: SharedEpisode, policies: Mapping[str, Policy]) -> dict[tuple[str, int], Any]:
    return {(one.agent, one.round): partial(_say, policies[one.agent], one.text) for one in shared}


def _say(policy: Policy, text: str, request: Request) -> Reply:
    return policy.quote(request, text) if isinstance(policy, HFPolicy) else Reply(text)


def _fits(episode: Episode, shared: SharedEpisode, key: str, correct: bool) -> bool:
    """Whether an episode went here as it was shared."""
    said = {(one.agent, one.round): one for one in shared}
    return episode.task == key and all(
        _is_said(turn, said.get((turn.agent, turn.round)), correct) for turn in episode.turns
    )


def _is_said(turn: Turn, shared: SharedMessage | None, correct: bool) -> bool:
    """Whether a turn is what was shared, or its beginning where a reply has no room for more."""
    if shared is None or (correct and turn.reply_ids and shared.logprob is None):
        return False
    written = turn.written or ""
    return shared.text.startswith(written) and bool(written) == bool(shared.text)


def _measured(
    pairs: Sequence[Pair],
    policies: Mapping[str, Policy],
    max_tokens: int,
    correct: bool,
) -> list[Episode]:
    """The episodes, in order, with the log-probabilities of a forward pass as behaviour."""
    found: dict[tuple[int, str], Iterator[float]] = {}
    for policy, agents in _speakers(policies):
        sequences = [
            one
            for index, (episode, _) in enumerate(pairs)
            for one in episode_sequences(episode, index, own, "episode", agents)
        ]
        temperature = policy.speech.temperature
        for one in recomputed(policy.model, sequences, policy.pad_id, temperature, max_tokens):
            generated = zip(one.behaviour_logprobs, one.generated, strict=True)
            found[one.episode, one.agent] = iter([each for each, mine in generated if mine])
    episodes = []
    for index, (episode, messages) in enumerate(pairs):
        authors = {(one.agent, one.round): one.logprob for one in messages} if correct else {}
        turns = []
        for turn in episode.turns:
            logprobs = tuple(islice(found.get((index, turn.agent), ()), len(turn.reply_ids)))
            author = authors.get((turn.agent, turn.round))
            turns.append(replace(turn, behaviour_logprobs=_from_author(logprobs, author)))
        episodes.append(replace(episode, turns=tuple(turns)))
    return episodes


def _speakers(policies: Mapping[str, Policy]) -> list[tuple[HFPolicy, list[str]]]:
    """Every set of weights with the agents that speak by it."""
    found: dict[int, tuple[HFPolicy, list[str]]] = {}
    for agent, policy in policies.items():
        if isinstance(policy, HFPolicy):
            found.setdefault(id(policy), (policy, []))[1].append(agent)
    return list(found.values())


def _from_author(logprobs: tuple[float, ...], author: float | None) -> tuple[float, ...]:
    """Behaviour under which the ratio of a reply is that to its author, at most 1."""
    if author is None or not logprobs:
        return logprobs
    above = min(0.0, (sum(logprobs) - author) / len(logprobs))
    return tuple(each - above for each in logprobs)
