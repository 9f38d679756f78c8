"""Playing of episodes: environments and policies in, groups of episodes out.

All episodes of a step advance together: in each round every policy gets one batched call with the
requests of all its agents in all episodes. If an engine samples each reply by itself, the episodes
run as asyncio tasks instead (`learners.rollout.async_episodes`).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from os.path import commonprefix
from threading import Thread
from typing import Any

import numpy as np
from pettingzoo import ParallelEnv

from laconic.envs.contract import replay
from laconic.envs.contract.episodes import broken
from laconic.learners import waiting
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.interfaces import Policy, Remembering, Reply, Request, Streaming
from laconic.learners.rollout.runner import EpisodeRunner, Listener, Start

__all__ = ["Listener", "Start", "collect", "play", "replies_of"]

_THREADS = 32
"""Environments that step at the same time; they wait for others, so more than there are cores."""


def play(
    environments: Sequence[ParallelEnv[str, Any, Any]],
    policies: Mapping[str, Policy],
    starts: Sequence[Start],
    *,
    seed: int,
    greedy: bool = False,
    greedy_from: int | None = None,
    listener: Listener | None = None,
) -> list[Episode]:
    """Play one episode from each start and return them in order.

    Args:
        environments: equal environments; this number of episodes runs at a time.
        policies: policy of each agent.
        starts: initial states of the episodes.
        seed: seed of everything sampled; equal calls give equal episodes.
        greedy: whether policies take their likeliest reply.
        greedy_from: round from which they do so in any case. None: no round.
        listener: receives replies and episodes as they come.
    """
    first = 0 if greedy else math.inf if greedy_from is None else greedy_from
    samplers = (getattr(policy, "sampler", None) for policy in policies.values())
    # Samplers that take coroutines sample each reply by itself.
    sampler = next((each for each in samplers if hasattr(each, "submit")), None)
    if sampler is not None:
        from laconic.learners.rollout.async_episodes import AsyncEpisodes

        episodes = AsyncEpisodes(environments, policies, starts, seed, first, listener)
        return _equal_beginnings(starts, episodes.play(sampler))
    played: dict[int, Episode] = {}
    for offset in range(0, len(starts), len(environments)):
        together = zip(environments, starts[offset:], strict=False)
        runners = {offset + i: EpisodeRunner(*pair) for i, pair in enumerate(together)}
        seeds = np.random.default_rng((seed, offset))
        with ExitStack() as stack:
            for policy in {id(policy): policy for policy in policies.values()}.values():
                if isinstance(policy, Remembering):
                    stack.enter_context(policy.remembering())
            while runners:
                for place in [place for place, runner in runners.items() if not runner.running]:
                    played[place] = runners.pop(place).episode()
                    if listener is not None:
                        listener.ended(place, played[place])
                if runners:
                    round = next(iter(runners.values())).round
                    _play_round(runners, policies, seeds, round >= first, listener)
    return _equal_beginnings(starts, [played[place] for place in range(len(starts))])


def _equal_beginnings(starts: Sequence[Start], episodes: list[Episode]) -> list[Episode]:
    """Return episodes of equal starts, such as the members of a group, which began alike.

    Members that read different tasks would be compared as if they had solved the same one.

    Raises:
        ContractError: two of them began differently.
    """
    first: tuple[Start, dict[str, str]] | None = None
    task = ""
    for start, episode in zip(starts, episodes, strict=True):
        reads = {turn.agent: turn.read for turn in episode.turns if turn.round == 0}
        alike = first is not None and all(
            getattr(first[0], name) == getattr(start, name) for name in ("seed", "task", "topology")
        )
        if first is None or not alike:
            first, task = (start, reads), episode.task
        elif episode.task != task:
            received = f"the tasks {task!r:.80} and {episode.task!r:.80} in infos"
            raise broken(replay, f"{received} at two resets with seed {start.seed}")
        elif first[1] != reads:
            agent = next(a for a in {**reads, **first[1]} if reads.get(a) != first[1].get(a))
            texts = " and ".join(_differing(first[1].get(agent), reads.get(agent)))
            received = f"{texts} at two resets with seed {start.seed}; draw from that seed only"
            raise broken(replay, received, agent)
    return episodes


def _differing(*texts: str | None) -> list[str]:
    """Return two texts for a message, from shortly before their first difference."""
    place = len(commonprefix([text or "" for text in texts]))
    return [repr(text and text[max(0, place - 20) : place + 60]) for text in texts]


def collect(
    environments: Sequence[ParallelEnv[str, Any, Any]],
    policies: Mapping[str, Policy],
    starts: Sequence[Start],
    group_size: int,
    *,
    seed: int,
) -> list[Group]:
    """Play `group_size` episodes from each start; return one group per start."""
    repeated = [start for start in starts for _ in range(group_size)]
    episodes = play(environments, policies, repeated, seed=seed)
    groups = [episodes[i : i + group_size] for i in range(0, len(episodes), group_size)]
    return [Group(members[0].task, tuple(members)) for members in groups]


def replies_of(turns: Iterable[Turn]) -> dict[tuple[str, int], Reply]:
    """Return the replies of some turns by agent and round, for `Start.replies` of another play."""
    return {
        (turn.agent, turn.round): Reply(
            message=turn.message if turn.written is None else turn.written,
            prompt_ids=turn.prompt_ids,
            reply_ids=turn.reply_ids,
            behavior_logprobs=turn.behavior_logprobs,
            truncated=turn.truncated,
            thought=turn.thought,
            version=turn.version,
            extra=turn.extra,
        )
        for turn in turns
    }


def _play_round(
    runners: Mapping[int, EpisodeRunner],
    policies: Mapping[str, Policy],
    seeds: np.random.Generator,
    greedy: bool,
    listener: Listener | None,
) -> None:
    """Ask for the replies that no start holds, one call per policy, and step the environments."""
    turns = [(place, *pair) for place, runner in runners.items() for pair in runner.requests()]
    replies = [reply for _, _, reply in turns]
    by_policy: dict[int, list[int]] = {}
    for index, (_, request, reply) in enumerate(turns):
        if reply is None:
            by_policy.setdefault(id(policies[request.agent]), []).append(index)
    for indices in by_policy.values():
        policy = policies[turns[indices[0]][1].agent]
        requests = [turns[index][1] for index in indices]
        for position, reply in _answers(policy, requests, int(seeds.integers(2**31)), greedy):
            replies[indices[position]] = reply
            if listener is not None and isinstance(policy, Streaming):
                place, request, _ = turns[indices[position]]
                listener.said(place, runners[place].round, request, reply)
    by_place: dict[int, list[tuple[Request, Reply]]] = {place: [] for place in runners}
    for (place, request, _), reply in zip(turns, replies, strict=True):
        if reply is not None:
            by_place[place].append((request, reply))
    if any(runner.slow for runner in runners.values()):
        _step_at_once(list(zip(runners.values(), by_place.values(), strict=True)))
    else:
        for place, runner in runners.items():
            runner.step(by_place[place])


def _step_at_once(steps: Sequence[tuple[EpisodeRunner, list[tuple[Request, Reply]]]]) -> None:
    """Step environments that wait for other processes, up to `_THREADS` at a time.

    The threads are daemons and not a pool: Python waits for the threads of a pool at exit, however
    long a step takes.
    """
    pending: deque[int] = deque(range(len(steps)))
    errors: dict[int, BaseException] = {}

    def work() -> None:
        with suppress(IndexError):
            while not errors:
                index = pending.popleft()
                runner, replies = steps[index]
                try:
                    runner.step(replies)
                except BaseException as error:
                    errors[index] = error

    threads = [Thread(target=work, daemon=True) for _ in range(min(_THREADS, len(steps)))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            waiting.join(thread)
    finally:
        pending.clear()
    if errors:
        raise errors[min(errors)]


def _answers(
    policy: Policy, requests: Sequence[Request], seed: int, greedy: bool
) -> Iterator[tuple[int, Reply]]:
    """Yield the index of each request with its reply, in the order in which they come."""
    if isinstance(policy, Streaming):
        yield from policy.stream(requests, seed=seed, greedy=greedy)
        return
    replies = policy.reply(requests, seed=seed, greedy=greedy)
    if len(replies) != len(requests):
        raise ValueError(
            f"{type(policy).__name__}.reply must give one reply per request ({len(requests)});"
            f" got {len(replies)}"
        )
    yield from enumerate(replies)
