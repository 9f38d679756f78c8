"""Plays the episodes of others here, as if this run's own policies had spoken in them.

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
from laconic.learners.rollout.collectors.exchange import Shared, Told
from laconic.learners.rollout.play import Start, play
from laconic.learners.training.logprobs import recomputed
from laconic.learners.training.sequences import episode_sequences


def retell(
    environments: Sequence[ParallelEnv[str, Any, Any]],
    policies: Mapping[str, Policy],
    groups: Sequence[Shared],
    *,
    max_tokens: int,
    correct: bool = False,
) -> list[Group | None]:
    """Play shared groups, and measure how likely their messages are here.

    Args:
        environments: equal environments that can be reset to a `Task`.
        policies: who speaks for each agent.
        groups: as they were shared.
        max_tokens: most tokens, padding included, of one forward pass.
        correct: count log-probabilities from those of the author, the probability ratio of a
            message truncated at 1 (V-trace, arXiv 1802.01561) and spread evenly over its tokens.

    Returns:
        For each shared group the group as this run would have played it, or None where it does not
        fit: another team or benchmark, a task whose details are not here, a reply that the
        environment asks for and the episode does not have, words that a policy here cannot write,
        or, with `correct`, no log-probability of the author.
    """
    agents = environments[0].possible_agents
    fitting = {
        index: task
        for index, shared in enumerate(groups)
        if set(shared.agents) == set(agents)
        and (task := _playable(shared, environments[0])) is not None
    }
    told = [(index, one) for index in fitting for one in groups[index].episodes]
    starts = [Start(groups[i].seed, fitting[i], _given(one, policies)) for i, one in told]
    played = play(environments, dict.fromkeys(agents, _Mute()), starts, seed=0)
    kept: dict[int, list[tuple[Episode, tuple[Told, ...]]]] = {}
    for (index, one), episode in zip(told, played, strict=True):
        kept.setdefault(index, []).append((episode, one))
    whole = {
        index: pairs
        for index, pairs in kept.items()
        if all(_fits(episode, one, fitting[index].key, correct) for episode, one in pairs)
    }
    flat = [pair for pairs in whole.values() for pair in pairs]
    measured = iter(_measured(flat, policies, max_tokens, correct))
    found = {i: tuple(islice(measured, len(pairs))) for i, pairs in whole.items()}
    return [
        Group(fitting[index].key, found[index], own=False) if index in found else None
        for index in range(len(groups))
    ]


class _Mute:
    """Answers for what was not told; such an episode is left out."""

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        return [Reply("")] * len(requests)


def benchmark_of(environment: ParallelEnv[str, Any, Any]) -> str:
    """Name of the benchmark behind an environment; empty where it does not say."""
    return str(getattr(getattr(environment, "benchmark", None), "name", ""))


def _playable(shared: Shared, environment: ParallelEnv[str, Any, Any]) -> Task | None:
    """The task; details that could not be shared come from an equal task of this run."""
    if shared.benchmark != benchmark_of(environment):
        return None
    if shared.has_details:
        return shared.task
    same = getattr(environment, "tasks", {}).get(shared.task.key.partition("/")[2])
    if same is None or replace(same, key=shared.task.key, details={}) != shared.task:
        return None
    return replace(shared.task, details=same.details)


def _given(told: Sequence[Told], policies: Mapping[str, Policy]) -> dict[tuple[str, int], Any]:
    return {(one.agent, one.round): partial(_say, policies[one.agent], one.text) for one in told}


def _say(policy: Policy, text: str, request: Request) -> Reply:
    return policy.quote(request, text) if isinstance(policy, HFPolicy) else Reply(text)


def _fits(episode: Episode, told: Sequence[Told], key: str, correct: bool) -> bool:
    """Whether an episode went here as it was told."""
    said = {(one.agent, one.round): one for one in told}
    return episode.task == key and all(
        _is_told(turn, said.get((turn.agent, turn.round)), correct) for turn in episode.turns
    )


def _is_told(turn: Turn, told: Told | None, correct: bool) -> bool:
    """Whether a turn is what was told, or its beginning where the reply has no room for more."""
    if told is None or (correct and turn.reply_ids and told.logprob is None):
        return False
    written = turn.written or ""
    return told.text.startswith(written) and bool(written) == bool(told.text)


def _measured(
    told: Sequence[tuple[Episode, Sequence[Told]]],
    policies: Mapping[str, Policy],
    max_tokens: int,
    correct: bool,
) -> list[Episode]:
    """The episodes, in order, with the log-probabilities of a forward pass as behaviour."""
    found: dict[tuple[int, str], Iterator[float]] = {}
    for policy, agents in _speakers(policies):
        sequences = [
            one
            for index, (episode, _) in enumerate(told)
            for one in episode_sequences(episode, index, own, "episode", agents)
        ]
        temperature = policy.speech.temperature
        for one in recomputed(policy.model, sequences, policy.pad_id, temperature, max_tokens):
            generated = zip(one.behaviour_logprobs, one.generated, strict=True)
            found[one.episode, one.agent] = iter([each for each, mine in generated if mine])
    episodes = []
    for index, (episode, messages) in enumerate(told):
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
