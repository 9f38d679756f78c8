"""Replays the episodes of others here, as if this run's own policies had spoken in them.

What was written elsewhere is said again in the environments at hand, so observations, budgets,
prices and scores are local ones. Every message is put into the tokens of the policy that speaks for
its agent here, and gets the log-probability which that policy gives it now: the importance ratio of
an update then begins at 1, although the policy would hardly have drawn these words. That is the
choice of SAPO (arXiv 2509.08721); the alternative, `correct`, counts from the author's probability.

Of the text of others nothing is believed but that it was said: a group that cannot be played here
word for word is left out. A task that this run has too is graded by this run's own answer and
details; for one that it has not, those of the others are all there is.
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
from laconic.learners.rollout.collectors.demonstrations import Mute, say
from laconic.learners.rollout.play import Start, play
from laconic.learners.training.logprobs import recomputed
from laconic.learners.training.sequences import episode_sequences

log = logging.getLogger(__name__)

Pair = tuple[Episode, SharedEpisode]
"""An episode as it went here, and as it was shared."""
_LONGEST_TOKEN = 16
"""Characters of a token, at most, over a whole text; a longer text is not even put into tokens."""


def replay_groups(
    environments: Sequence[ParallelEnv[str, Any, Any]],
    policies: Mapping[str, Policy],
    groups: Sequence[SharedGroup],
    *,
    max_tokens: int,
    correct: bool = False,
    strange_tasks: bool = True,
) -> list[Group | None]:
    """Play shared groups, and measure how likely their messages are here.

    Args:
        environments: equal environments that can be reset to a `Task`.
        policies: who speaks for each agent.
        groups: as they were shared.
        max_tokens: max. tokens, padding included, of one forward pass, and thus of what one agent
            reads and says in an episode.
        correct: count log-probabilities from those of the author, the probability ratio of a
            message truncated at 1 (V-trace, arXiv 1802.01561) and spread evenly over its tokens.
        strange_tasks: take tasks that the environments do not have, with the answers of others.

    Returns:
        For each shared group the group as this run would have played it, or None where it does not
        fit: another team or benchmark, a task whose details are not here, or that is another one
        here by the same name, a reply that the environment asks for and the episode does not have,
        words that a policy here cannot write, more of them than `max_tokens`, whatever else an
        environment or a policy refuses, or, with `correct`, no log-probability of the author.
    """
    limits = {"max_tokens": max_tokens, "correct": correct}
    played = []
    for shared in groups:
        task = _playable(shared, environments[0], max_tokens, strange_tasks)
        played.append([] if task is None else _played(environments, policies, shared, task, limits))
    flat = [pair for pairs in played for pair in pairs]
    measured = iter(_counted(flat, policies, max_tokens, correct))
    found = (tuple(islice(measured, len(pairs))) for pairs in played)
    return [Group(one[0].task, one, own=False) if one else None for one in found]


def benchmark_of(environment: ParallelEnv[str, Any, Any]) -> str:
    """Name of the benchmark behind an environment; empty where it does not say."""
    return str(getattr(getattr(environment, "benchmark", None), "name", ""))


def _played(
    environments: Sequence[ParallelEnv[str, Any, Any]],
    policies: Mapping[str, Policy],
    shared: SharedGroup,
    task: Task,
    limits: Mapping[str, Any],
) -> list[Pair]:
    """The episodes of a group as they go here; none where one of them does not fit."""
    agents, pairs = environments[0].possible_agents, list[Pair]()
    if set(shared.agents) != set(agents):
        return []
    mute = dict.fromkeys(agents, Mute())
    try:
        starts = [Start(shared.seed, task, _given(one, policies)) for one in shared.episodes]
        # The first by itself: most groups that do not fit need no more.
        for part in (slice(1), slice(1, None)):
            episodes = play(environments, mute, starts[part], seed=0)
            pairs += zip(episodes, shared.episodes[part], strict=True)
            if not all(_fits(one, its, task.key, **limits) for one, its in pairs):
                return []
    except Exception:  # Whatever an environment, grader or tokenizer makes of data of strangers.
        log.debug("a group of task %r cannot be played here", shared.task.key, exc_info=True)
        return []
    return pairs


def _playable(
    shared: SharedGroup,
    environment: ParallelEnv[str, Any, Any],
    max_tokens: int,
    strange_tasks: bool,
) -> Task | None:
    """The task as it is graded here: this run's own one where it has it, by its name or text."""
    own: Mapping[str, Task] = getattr(environment, "tasks", {})
    if shared.benchmark != benchmark_of(environment):
        return None
    texts = (shared.task.text, *(one.text for episode in shared.episodes for one in episode))
    if max(map(len, texts)) > max_tokens * _LONGEST_TOKEN:
        return None
    same = own.get(shared.task.key.partition("/")[2])
    if same is not None and _read_by_agents(same) != _read_by_agents(shared.task):
        return None
    same = same or next(
        (one for one in own.values() if _read_by_agents(one) == _read_by_agents(shared.task)), None
    )
    if same is not None:
        return replace(same, key=shared.task.key)
    return shared.task if shared.has_details and strange_tasks else None


def _read_by_agents(task: Task) -> tuple[Any, ...]:
    return task.question, task.statements, task.source_text


def _given(shared: SharedEpisode, policies: Mapping[str, Policy]) -> dict[tuple[str, int], Any]:
    return {(one.agent, one.round): partial(say, policies[one.agent], one.text) for one in shared}


def _fits(
    episode: Episode, shared: SharedEpisode, key: str, *, max_tokens: int, correct: bool
) -> bool:
    """Whether an episode went here as it was shared, with pay that can be compared.

    No agent may have more tokens than one forward pass takes.
    """
    said = {(one.agent, one.round): one for one in shared}
    tokens: Counter[str] = Counter()
    for turn in episode.turns:
        tokens[turn.agent] += len(turn.prompt_ids) + len(turn.reply_ids)
    return (
        episode.task == key
        and max(tokens.values(), default=0) <= max_tokens
        and all(math.isfinite(sum(pay)) for pay in episode.rewards.values())
        and all(
            _is_said(turn, said.get((turn.agent, turn.round)), correct) for turn in episode.turns
        )
    )


def _is_said(turn: Turn, shared: SharedMessage | None, correct: bool) -> bool:
    """Whether a turn is what was shared, or its beginning where a reply has no room for more."""
    if shared is None or (correct and turn.reply_ids and shared.logprob is None):
        return False
    written = turn.written or ""
    return shared.text.startswith(written) and bool(written) == bool(shared.text)


def _counted(
    pairs: Sequence[Pair], policies: Mapping[str, Policy], max_tokens: int, correct: bool
) -> list[Episode]:
    """The episodes, in order, with the log-probabilities that an update counts from."""
    episodes = scored([episode for episode, _ in pairs], policies, max_tokens)
    if not correct:
        return episodes
    counted = []
    for episode, (_, messages) in zip(episodes, pairs, strict=True):
        authors = {(one.agent, one.round): one.logprob for one in messages}
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
    """Behaviour under which the ratio of a reply is that to its author, at most 1."""
    if author is None or not logprobs:
        return logprobs
    above = min(0.0, (sum(logprobs) - author) / len(logprobs))
    return tuple(each - above for each in logprobs)


def scored(
    episodes: Sequence[Episode], policies: Mapping[str, Policy], max_tokens: int
) -> list[Episode]:
    """The episodes, in order, with what a forward pass now gives the turns that are trained.

    Turns of scripts, and turns that are context, stay as they are.

    Args:
        episodes: as they were played here, in the tokens of these policies.
        policies: who spoke for each agent.
        max_tokens: max. tokens, padding included, of one forward pass.
    """
    found: dict[tuple[int, str], Iterator[float]] = {}
    for policy, agents in _speakers(policies):
        sequences = [
            one
            for index, episode in enumerate(episodes)
            for one in episode_sequences(episode, index, own, "episode", agents)
        ]
        temperature = policy.speech.temperature
        for one in recomputed(policy.model, sequences, policy.pad_id, temperature, max_tokens):
            generated = zip(one.behavior_logprobs, one.generated, strict=True)
            found[one.episode, one.agent] = iter([each for each, mine in generated if mine])
    scored = []
    for index, episode in enumerate(episodes):
        turns = []
        for turn in episode.turns:
            if turn.trained and (index, turn.agent) in found:
                logprobs = tuple(islice(found[index, turn.agent], len(turn.reply_ids)))
                turn = replace(turn, behavior_logprobs=logprobs)
            turns.append(turn)
        scored.append(replace(episode, turns=tuple(turns)))
    return scored


def _speakers(policies: Mapping[str, Policy]) -> list[tuple[HFPolicy, list[str]]]:
    """Every set of weights with the agents that speak by it."""
    found: dict[int, tuple[HFPolicy, list[str]]] = {}
    for agent, policy in policies.items():
        if isinstance(policy, HFPolicy):
            found.setdefault(id(policy), (policy, []))[1].append(agent)
    return list(found.values())
