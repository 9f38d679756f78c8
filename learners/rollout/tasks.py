"""Plays each episode as a task of its own: a slow reply, or a slow step, holds up nobody else.

For teams whose replies an engine samples (`learners.engines`). As many episodes go on at a time as
there are environments; one that ends makes room for the next. Every reply has a seed of its own,
which follows from the seed of the play, the place of the episode, its round and the agent, and from
nothing that another episode does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from pettingzoo import ParallelEnv

from laconic.learners.agents import waiting
from laconic.learners.agents.base import Policy, Reply, Request, Streaming
from laconic.learners.episode import Episode
from laconic.learners.rollout.runner import EpisodeRunner, Start

if TYPE_CHECKING:
    from laconic.learners.interfaces import AsyncSampler

T = TypeVar("T")

_THREADS = 32
"""Environments that step, or other servers that are asked, at the same time."""
_SOON = 30.0
"""Seconds that a play which is broken off has to end its requests."""


def sampler_of(policies: Mapping[str, Policy]) -> AsyncSampler | None:
    """Who samples single replies for a team; None where nobody does."""
    from laconic.learners.agents.policy import HFPolicy
    from laconic.learners.interfaces import AsyncSampler

    for policy in policies.values():
        if isinstance(policy, HFPolicy) and isinstance(policy.sampler, AsyncSampler):
            return policy.sampler
    return None


@dataclass
class Tasks:
    """The episodes of one play."""

    environments: Sequence[ParallelEnv[str, Any, Any]]
    """As many episodes go on at a time."""
    policies: Mapping[str, Policy]
    """Who speaks for each agent."""
    starts: Sequence[Start]
    """Where the episodes begin."""
    seed: int
    """Of everything that is sampled."""
    greedy: Callable[[int], bool]
    """Whether the likeliest reply is taken in a round."""
    said: Callable[[int, int, Request, Reply], None]
    """Is told, by the thread that plays, of replies that cost something."""
    ended: Callable[[int, Episode], None]
    """Is told, by the thread that plays, of episodes that are over."""
    _played: dict[int, Episode] = field(default_factory=dict)
    _news: SimpleQueue[Callable[[], None] | None] = field(default_factory=SimpleQueue)
    _over: Event = field(default_factory=Event)

    def play(self, sampler: AsyncSampler) -> list[Episode]:
        """Play all of them; returns them in order.

        Each is played with the weights of the sampler's last sync before it began.

        Raises:
            ServerError: a server failed for good, or its weights changed on the way.
        """
        future = sampler.submit(self._all(sampler))
        future.add_done_callback(lambda _: self._news.put(None))
        try:
            while (tell := waiting.taken(self._news)) is not None:
                tell()
            waiting.result(future)
        except BaseException as error:
            future.cancel()
            # What an environment does is done before anybody else has it.
            self._over.wait(_SOON)
            raise _single(error) from error.__cause__
        sampler.verify()
        return [self._played[place] for place in range(len(self.starts))]

    async def _all(self, sampler: AsyncSampler) -> None:
        places, slow = iter(range(len(self.starts))), asyncio.Semaphore(_THREADS)
        try:
            async with asyncio.TaskGroup() as group:
                for environment in self.environments[: len(self.starts)]:
                    group.create_task(self._one_by_one(environment, places, sampler, slow))
        finally:
            self._over.set()

    async def _one_by_one(
        self,
        environment: ParallelEnv[str, Any, Any],
        places: Iterator[int],
        sampler: AsyncSampler,
        slow: asyncio.Semaphore,
    ) -> None:
        """Play in one environment for as long as there are episodes."""
        for place in places:
            # One version an episode: a ratio covers all turns of an agent, and caches stay right.
            version = sampler.version
            runner = EpisodeRunner(environment, self.starts[place])
            while runner.running:
                asked = [
                    self._reply(place, runner.round, order, request, given, version, slow)
                    for order, (request, given) in enumerate(runner.requests())
                ]
                said = await asyncio.gather(*asked)
                step = partial(runner.step, said)
                if runner.slow:
                    await _in_thread(step, slow)
                else:
                    step()
            self._played[place] = runner.episode()
            self._news.put(partial(self.ended, place, self._played[place]))

    async def _reply(
        self,
        place: int,
        round: int,
        order: int,
        request: Request,
        given: Reply | None,
        version: int,
        slow: asyncio.Semaphore,
    ) -> tuple[Request, Reply]:
        if given is not None:
            return request, given
        from laconic.learners.agents.policy import HFPolicy

        policy, greedy = self.policies[request.agent], self.greedy(round)
        drawn = np.random.SeedSequence((self.seed, place, round, order)).generate_state(1)[0]
        seed = int(drawn) % 2**31
        if isinstance(policy, HFPolicy):
            return request, await policy.answer(
                request, seed=seed, greedy=greedy, episode=place, version=version
            )
        if not isinstance(policy, Streaming):
            (reply,) = policy.reply([request], seed=seed, greedy=greedy)
            return request, reply
        stream = partial(policy.stream, [request], seed=seed, greedy=greedy)
        ((_, reply),) = await _in_thread(lambda: list(stream()), slow)
        self._news.put(partial(self.said, place, round, request, reply))
        return request, reply


async def _in_thread(work: Callable[[], T], slow: asyncio.Semaphore) -> T:
    """Do what waits for others beside the loop, a limited number at a time.

    The threads are no pool, for whose threads the end of a program would wait.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(set_it: Callable[[Any], None], value: Any) -> None:
        if not done.done():
            set_it(value)

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            loop.call_soon_threadsafe(settle, done.set_exception, error)
        else:
            loop.call_soon_threadsafe(settle, done.set_result, result)

    async with slow:
        Thread(target=run, daemon=True).start()
        return await done


def _single(error: BaseException) -> BaseException:
    """The first of several errors that came together."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
