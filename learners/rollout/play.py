"""Plays episodes: environments and policies in, groups of episodes out.

All episodes of a step advance together, unless an engine samples each reply by itself
(`learners.rollout.tasks`). In each round every policy gets one batched call with the
requests of all its agents in all episodes. Works with any PettingZoo `ParallelEnv` over text; what
is read from one is in `learners.rollout.runner`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from threading import Thread
from typing import Any

import numpy as np
from pettingzoo import ParallelEnv

from laconic.learners.agents import waiting
from laconic.learners.agents.base import Policy, Remembering, Reply, Request, Streaming
from laconic.learners.episode import Episode, Group, Turn
from laconic.learners.rollout.runner import EpisodeRunner, Start
from laconic.learners.rollout.tasks import Tasks, sampler_of

__all__ = ["Listener", "Start", "collect", "play", "replies_of"]

_THREADS = 32
"""Environments that step at the same time; they wait, so there are more than processors."""


class Listener:
    """Is called while episodes are played; this one ignores it.

    A place is that of the episode's start among the starts of the play.
    """

    def said(self, place: int, round: int, request: Request, reply: Reply) -> None:
        """A `Streaming` policy gave a reply."""

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
    listener: Listener | None = None,
) -> list[Episode]:
    """Play one episode from each start, in order, as many at a time as there are environments.

    Args:
        environments: equal environments.
        policies: who speaks for each agent.
        starts: where the episodes begin.
        seed: of everything that is sampled; equal calls give equal episodes.
        greedy: let policies take their likeliest reply.
        greedy_from: the round from which on they do so in any case; None for no round.
        listener: called with replies and episodes as they come.
    """
    listener = listener or Listener()
    if (sampler := sampler_of(policies)) is not None:

        def likeliest(round: int) -> bool:
            return greedy or (greedy_from is not None and round >= greedy_from)

        tell = listener.said, listener.ended
        return Tasks(environments, policies, starts, seed, likeliest, *tell).play(sampler)
    played: dict[int, Episode] = {}
    for offset in range(0, len(starts), len(environments)):
        together = zip(environments, starts[offset:], strict=False)
        running = {offset + i: EpisodeRunner(*pair) for i, pair in enumerate(together)}
        seeds = np.random.default_rng((seed, offset))
        with ExitStack() as stack:
            for policy in {id(policy): policy for policy in policies.values()}.values():
                if isinstance(policy, Remembering):
                    stack.enter_context(policy.remembering())
            while running:
                for place in [place for place, runner in running.items() if not runner.running]:
                    played[place] = running.pop(place).episode()
                    listener.ended(place, played[place])
                if running:
                    now = next(iter(running.values())).round
                    first = greedy or (greedy_from is not None and now >= greedy_from)
                    _play_round(running, policies, seeds, first, listener)
    return [played[place] for place in range(len(starts))]


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
            truncated=turn.truncated,
            thought=turn.thought,
            version=turn.version,
        )
        for turn in turns
    }


def _play_round(
    runners: Mapping[int, EpisodeRunner],
    policies: Mapping[str, Policy],
    seeds: np.random.Generator,
    greedy: bool,
    listener: Listener,
) -> None:
    """Ask for the replies that no start gives, one call per policy, and step the environments."""
    asked = [(place, *pair) for place, one in runners.items() for pair in one.requests()]
    replies = [given for _, _, given in asked]
    by_policy: dict[int, list[int]] = {}
    for index, (_, request, given) in enumerate(asked):
        if given is None:
            by_policy.setdefault(id(policies[request.agent]), []).append(index)
    for indices in by_policy.values():
        policy = policies[asked[indices[0]][1].agent]
        requests = [asked[index][1] for index in indices]
        for one, reply in _answers(policy, requests, int(seeds.integers(2**31)), greedy):
            replies[indices[one]] = reply
            if isinstance(policy, Streaming):
                place, request, _ = asked[indices[one]]
                listener.said(place, runners[place].round, request, reply)
    said: dict[int, list[tuple[Request, Reply]]] = {place: [] for place in runners}
    for (place, request, _), answer in zip(asked, replies, strict=True):
        if answer is not None:
            said[place].append((request, answer))
    if any(runner.slow for runner in runners.values()):
        _step_at_once(list(zip(runners.values(), said.values(), strict=True)))
    else:
        for place, runner in runners.items():
            runner.step(said[place])


def _step_at_once(steps: Sequence[tuple[EpisodeRunner, list[tuple[Request, Reply]]]]) -> None:
    """Step environments that wait for other processes, many at a time.

    The threads are no pool, because the end of a program waits for those of a pool, however long a
    step takes; and a program that is told to end should.
    """
    left: deque[int] = deque(range(len(steps)))
    errors: dict[int, BaseException] = {}

    def work() -> None:
        with suppress(IndexError):
            while not errors:
                index = left.popleft()
                runner, said = steps[index]
                try:
                    runner.step(said)
                except BaseException as error:
                    errors[index] = error

    threads = [Thread(target=work, daemon=True) for _ in range(min(_THREADS, len(steps)))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            waiting.ended(thread)
    finally:
        left.clear()
    if errors:
        raise errors[min(errors)]


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
