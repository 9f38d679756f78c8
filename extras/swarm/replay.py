"""Replay the episodes of other runs as if this run's policies had spoken in them.

The messages are said again in the environments of this run, so observations, budgets, prices and
scores are local. Each message is re-tokenized for the policy of its agent and gets the
log-probability that this policy now gives it. The importance ratio of an update then begins at 1,
although the policy would hardly have sampled these words. This is the choice of SAPO (arXiv
2509.08721); `correct` counts from the author's probability instead.

Imported text is untrusted: it is re-tokenized, re-priced and re-graded, and a group that cannot be
replayed word for word is left out. A task that this run knows is graded by its own answer and
details. Only an unknown task is graded by those of its author.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

from pettingzoo import ParallelEnv

from laconic.envs.task import Task
from laconic.extras.swarm.exchange import SharedEpisode, SharedGroup, SharedMessage
from laconic.learners.advantages.credit import own
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.interfaces import Policy
from laconic.learners.rollout.collectors.demonstrations import SilentPolicy, say
from laconic.learners.rollout.play import Start, play
from laconic.learners.training.logprobs import recomputed
from laconic.learners.training.sequences import episode_sequences

log = logging.getLogger(__name__)

Pair = tuple[Episode, SharedEpisode]
"""Episode as replayed here, and as it was shared."""
_LONGEST_TOKEN = 16
"""Largest mean number of characters per token; a longer text is not tokenized at all."""


def replay_groups(
    environments: Sequence[ParallelEnv[str, Any, Any]],
    policies: Mapping[str, Policy],
    groups: Sequence[SharedGroup],
    *,
    max_tokens: int,
    correct: bool = False,
    strange_tasks: bool = True,
    price_share: float = 1.0,
) -> list[Group | None]:
    """Replay shared groups and compute the log-probabilities of their messages.

    A group does not fit if any of these holds: another team or benchmark; a task without details,
    or with a known name and another text; a missing reply; words that a policy cannot write; more
    than `max_tokens`; any error of an environment or a policy; with `correct`, no log-probability
    of the author.

    Args:
        environments: equal environments that can be reset to a `Task`.
        policies: policy of each agent.
        groups: groups as they were shared.
        max_tokens: largest number of tokens of a forward pass, including padding. It also limits
            the tokens that an agent reads and says in an episode.
        correct: True if log-probabilities count from those of the author. The probability ratio of
            a message is truncated at 1 (V-trace, arXiv 1802.01561) and spread evenly over its
            tokens.
        strange_tasks: whether to take unknown tasks, with the answers of their authors.
        price_share: part of the price of words that this run charges.

    Returns:
        For each shared group the group as replayed here; None if it does not fit.
    """
    limits = {"max_tokens": max_tokens, "correct": correct}
    played, players = [], (environments, policies)
    for shared in groups:
        task = _playable(shared, environments[0], max_tokens, strange_tasks)
        fitting = [] if task is None else _played(*players, shared, task, price_share, limits)
        played.append(fitting)
    flat = [pair for pairs in played for pair in pairs]
    scored = iter(_counted(flat, policies, max_tokens, correct))
    groups_here = (tuple(islice(scored, len(pairs))) for pairs in played)
    return [
        Group(episodes[0].task, episodes, own=False) if episodes else None
        for episodes in groups_here
    ]


def benchmark_of(environment: ParallelEnv[str, Any, Any]) -> str:
    """Return the name of an environment's benchmark; empty if it has none."""
    return str(getattr(getattr(environment, "benchmark", None), "name", ""))


def _played(
    environments: Sequence[ParallelEnv[str, Any, Any]],
    policies: Mapping[str, Policy],
    shared: SharedGroup,
    task: Task,
    price_share: float,
    limits: Mapping[str, Any],
) -> list[Pair]:
    """Replay the episodes of a group; empty if one of them does not fit."""
    agents, pairs = environments[0].possible_agents, list[Pair]()
    if set(shared.agents) != set(agents):
        return []
    mute = dict.fromkeys(agents, SilentPolicy())
    try:
        starts = [
            Start(shared.seed, task, _replies(episode, policies), price_share=price_share)
            for episode in shared.episodes
        ]
        # For most groups that do not fit, the first episode already shows it.
        for part in (slice(1), slice(1, None)):
            episodes = play(environments, mute, starts[part], seed=0)
            pairs += zip(episodes, shared.episodes[part], strict=True)
            if not all(_fits(replay, original, task.key, **limits) for replay, original in pairs):
                return []
    except Exception:  # Environments, graders and tokenizers may fail on untrusted data.
        log.debug("a group of task %r cannot be replayed", shared.task.key, exc_info=True)
        return []
    return pairs


def _playable(
    shared: SharedGroup,
    environment: ParallelEnv[str, Any, Any],
    max_tokens: int,
    strange_tasks: bool,
) -> Task | None:
    """Return the task as graded here: this run's own if it has one of that name or text."""
    own: Mapping[str, Task] = getattr(environment, "tasks", {})
    if shared.benchmark != benchmark_of(environment):
        return None
    texts = (shared.task.text, *(item.text for episode in shared.episodes for item in episode))
    if max(map(len, texts)) > max_tokens * _LONGEST_TOKEN:
        return None
    same = own.get(shared.task.key.partition("/")[2])
    if same is not None and _read_by_agents(same) != _read_by_agents(shared.task):
        return None
    same = same or next(
        (item for item in own.values() if _read_by_agents(item) == _read_by_agents(shared.task)),
        None,
    )
    if same is not None:
        return replace(same, key=shared.task.key)
    return shared.task if shared.has_details and strange_tasks else None


def _read_by_agents(task: Task) -> tuple[Any, ...]:
    return task.question, task.statements, task.source_text


def _replies(shared: SharedEpisode, policies: Mapping[str, Policy]) -> dict[tuple[str, int], Any]:
    return {
        (message.agent, message.round): partial(say, policies[message.agent], message.text)
        for message in shared
    }


def _fits(
    episode: Episode, shared: SharedEpisode, key: str, *, max_tokens: int, correct: bool
) -> bool:
    """Return whether an episode was replayed as shared, with finite rewards.

    No agent may have more tokens than a forward pass takes.
    """
    shared_turns = {(message.agent, message.round): message for message in shared}
    tokens: Counter[str] = Counter()
    for turn in episode.turns:
        tokens[turn.agent] += len(turn.prompt_ids) + len(turn.reply_ids)
    return (
        episode.task == key
        and max(tokens.values(), default=0) <= max_tokens
        and all(math.isfinite(sum(pay)) for pay in episode.rewards.values())
        and all(
            _is_said(turn, shared_turns.get((turn.agent, turn.round)), correct)
            for turn in episode.turns
        )
    )


def _is_said(turn: Turn, shared: SharedMessage | None, correct: bool) -> bool:
    """Return whether a turn equals the shared message, or its beginning if a limit cut it."""
    if shared is None or (correct and turn.reply_ids and shared.logprob is None):
        return False
    written = turn.written or ""
    return shared.text.startswith(written) and bool(written) == bool(shared.text)


def _counted(
    pairs: Sequence[Pair], policies: Mapping[str, Policy], max_tokens: int, correct: bool
) -> list[Episode]:
    """Return the episodes with the log-probabilities that an update counts from."""
    episodes = scored([episode for episode, _ in pairs], policies, max_tokens)
    if not correct:
        return episodes
    counted = []
    for episode, (_, messages) in zip(episodes, pairs, strict=True):
        authors = {(message.agent, message.round): message.logprob for message in messages}
        turns = (
            replace(
                turn,
                behavior_logprobs=_from_author(
                    turn.behavior_logprobs, authors.get((turn.agent, turn.round))
                ),
            )
            for turn in episode.turns
        )
        counted.append(replace(episode, turns=tuple(turns)))
    return counted


def _from_author(logprobs: tuple[float, ...], author: float | None) -> tuple[float, ...]:
    """Return log-probabilities for which the ratio of a reply is that to its author, at most 1."""
    if author is None or not logprobs:
        return logprobs
    above = min(0.0, (sum(logprobs) - author) / len(logprobs))
    return tuple(each - above for each in logprobs)


def scored(
    episodes: Sequence[Episode], policies: Mapping[str, Policy], max_tokens: int
) -> list[Episode]:
    """Return the episodes with log-probabilities of trained turns from a forward pass.

    Turns of scripts and context turns stay as they are.

    Args:
        episodes: episodes in the tokens of these policies.
        policies: policy of each agent.
        max_tokens: largest number of tokens, padding included, of a forward pass.
    """
    logprobs_of: dict[tuple[int, str], Iterator[float]] = {}
    for policy, agents in _speakers(policies):
        sequences = [
            sequence
            for index, episode in enumerate(episodes)
            for sequence in episode_sequences(episode, index, own, "episode", agents)
        ]
        temperature = policy.sampling.temperature
        for sequence in recomputed(policy.model, sequences, policy.pad_id, temperature, max_tokens):
            generated = zip(sequence.behavior_logprobs, sequence.generated, strict=True)
            logprobs_of[sequence.episode, sequence.agent] = iter(
                [logprob for logprob, is_own in generated if is_own]
            )
    scored = []
    for index, episode in enumerate(episodes):
        turns = []
        for turn in episode.turns:
            if turn.trained and (index, turn.agent) in logprobs_of:
                logprobs = tuple(islice(logprobs_of[index, turn.agent], len(turn.reply_ids)))
                turn = replace(turn, behavior_logprobs=logprobs)
            turns.append(turn)
        scored.append(replace(episode, turns=tuple(turns)))
    return scored


def _speakers(policies: Mapping[str, Policy]) -> list[tuple[HFPolicy, list[str]]]:
    """Return every policy with weights, and the agents that it speaks for."""
    speakers: dict[int, tuple[HFPolicy, list[str]]] = {}
    for agent, policy in policies.items():
        if isinstance(policy, HFPolicy):
            speakers.setdefault(id(policy), (policy, []))[1].append(agent)
    return list(speakers.values())
