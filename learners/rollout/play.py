"""Plays episodes in lockstep: environments and policies in, groups of episodes out.

All episodes of a step advance together. In each round every policy gets one batched call with the
requests of all its agents in all episodes. Works with any PettingZoo `ParallelEnv` over text: an
observation is a string, or a dict with a string under `text`; `tokens_left`, where there is one,
says in its first entry what the next message may have.

Knows no particular benchmark. Reads these info keys where an environment has them: `task`,
`message`, `cut`, `informed`, `tokens_said`, `tokens_read`, `score`, `solved`, `answer`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from pettingzoo import ParallelEnv

from laconic.learners.agents.base import Policy, Reply, Request, Streaming
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.rollout.runner import Start, Table

__all__ = ["Collector", "Start", "Watch", "collect", "play", "replies_of"]

_THREADS = 32
"""Environments that step at the same time; they wait, so there are more than processors."""


class Collector(Protocol):
    """Turns starts into groups of episodes; a learner may bring its own as `collect`."""

    def __call__(
        self,
        environments: Sequence[ParallelEnv[str, Any, Any]],
        policies: Mapping[str, Policy],
        starts: Sequence[Start],
        group_size: int,
        *,
        seed: int,
    ) -> list[Group]:
        """As `collect` below."""
        ...


class Watch:
    """Told of what happens in a play as it happens; this one does not mind.

    A place is that of the episode's start among the starts of the play.
    """

    def said(self, place: int, round: int, request: Request, reply: Reply) -> None:
        """A reply came that was asked of a `Streaming` policy."""

    def ended(self, place: int, episode: Episode) -> None:
        """An episode is over; the others may go on."""


def play(
    environments: Sequence[ParallelEnv[str, Any, Any]],
    policies: Mapping[str, Policy],
    starts: Sequence[Start],
    *,
    seed: int,
    greedy: bool = False,
    greedy_from: int | None = None,
    watch: Watch | None = None,
) -> list[Episode]:
    """Play one episode from each start, as many at a time as there are environments.

    Args:
        environments: equal environments.
        policies: who speaks for each agent.
        starts: where the episodes begin.
        seed: of everything that is sampled; equal calls give equal episodes.
        greedy: let policies take their likeliest reply.
        greedy_from: the round from which on they do so in any case; None for no round.
        watch: told of replies and episodes as they come; None for nobody.

    Returns:
        One episode for each start, in order.
    """
    episodes: list[Episode] = []
    for offset in range(0, len(starts), len(environments)):
        tables = [
            Table(environment, start)
            for environment, start in zip(environments, starts[offset:], strict=False)
        ]
        seeds = np.random.default_rng((seed, offset))
        watched = _Watched(watch, offset)
        while any(table.open for table in tables):
            _play_round(tables, policies, seeds, _likeliest(tables, greedy, greedy_from), watched)
            watched.end(tables)
        episodes += [table.episode() for table in tables]
    return episodes


def collect(
    environments: Sequence[ParallelEnv[str, Any, Any]],
    policies: Mapping[str, Policy],
    starts: Sequence[Start],
    group_size: int,
    *,
    seed: int,
) -> list[Group]:
    """Play `group_size` episodes from each start: one group a start."""
    repeated = [start for start in starts for _ in range(group_size)]
    episodes = play(environments, policies, repeated, seed=seed)
    groups = [episodes[i : i + group_size] for i in range(0, len(episodes), group_size)]
    return [Group(members[0].task, tuple(members)) for members in groups]


def replies_of(turns: Iterable[Turn]) -> dict[tuple[str, int], Reply]:
    """The replies of some turns by agent and round, for `Start.given` of another play."""
    return {
        (turn.agent, turn.round): Reply(
            message=turn.message if turn.written is None else turn.written,
            prompt_ids=turn.prompt_ids,
            reply_ids=turn.reply_ids,
            behaviour_logprobs=turn.behaviour_logprobs,
        )
        for turn in turns
    }


class _Watched:
    """A watch, and what it was told of the tables that play now."""

    def __init__(self, watch: Watch | None, offset: int) -> None:
        self._watch, self._offset = watch, offset
        self._over: set[int] = set()

    def said(self, place: int, round: int, request: Request, reply: Reply) -> None:
        if self._watch is not None:
            self._watch.said(self._offset + place, round, request, reply)

    def end(self, tables: Sequence[Table]) -> None:
        if self._watch is None:
            return
        for place, table in enumerate(tables):
            if not table.open and place not in self._over:
                self._over.add(place)
                self._watch.ended(self._offset + place, table.episode())


def _likeliest(tables: Sequence[Table], greedy: bool, greedy_from: int | None) -> bool:
    """Whether policies take their likeliest reply in the round that begins."""
    now = next(table.round for table in tables if table.open)
    return greedy or (greedy_from is not None and now >= greedy_from)


def _play_round(
    tables: Sequence[Table],
    policies: Mapping[str, Policy],
    seeds: np.random.Generator,
    greedy: bool,
    watched: _Watched,
) -> None:
    places = [place for place, table in enumerate(tables) if table.open]
    asked = [(tables[place], tables[place].requests()) for place in places]
    flat = [(place, request) for place, (_, requests) in enumerate(asked) for request in requests]
    replies = [asked[place][0].given(request) for place, request in flat]
    by_policy: dict[int, list[int]] = {}
    for index, (_, request) in enumerate(flat):
        if replies[index] is None:
            by_policy.setdefault(id(policies[request.agent]), []).append(index)
    for indices in by_policy.values():
        policy = policies[flat[indices[0]][1].agent]
        seed = int(seeds.integers(2**31))
        requests = [flat[index][1] for index in indices]
        streaming = isinstance(policy, Streaming)
        for one, reply in _answers(policy, requests, seed, greedy):
            place, request = flat[indices[one]]
            replies[indices[one]] = reply
            if streaming:
                watched.said(places[place], asked[place][0].round, request, reply)
    by_table: dict[int, list[Reply]] = {place: [] for place in range(len(asked))}
    for (place, _), answer in zip(flat, replies, strict=True):
        if answer is not None:
            by_table[place].append(answer)
    _step(asked, by_table)


def _answers(
    policy: Policy, requests: Sequence[Request], seed: int, greedy: bool
) -> Iterator[tuple[int, Reply]]:
    """The reply to each request with the request's place, in the order in which they come."""
    if isinstance(policy, Streaming):
        yield from policy.stream(requests, seed=seed, greedy=greedy)
        return
    answers = policy.reply(requests, seed=seed, greedy=greedy)
    if len(answers) != len(requests):
        raise ValueError(
            f"{type(policy).__name__}.reply must give one reply per request ({len(requests)});"
            f" got {len(answers)}"
        )
    yield from enumerate(answers)


def _step(
    asked: Sequence[tuple[Table, Sequence[Request]]], replies: Mapping[int, Sequence[Reply]]
) -> None:
    """Step all tables; at the same time where a step waits for other processes."""

    def step(place: int) -> None:
        table, requests = asked[place]
        table.step(requests, replies[place])

    if any(table.slow for table, _ in asked):
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(step, range(len(asked))))
    else:
        for place in range(len(asked)):
            step(place)
