"""Playing of episodes as asyncio tasks, so that a slow reply or step delays only its own episode.

For teams whose replies an engine samples (`learners.engines`). One episode runs per environment;
when it ends, the next one starts there. The seed of a reply depends on the seed of the play, the
place of the episode, the round and the order of the request, and on nothing in other episodes.
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

from laconic.learners import waiting
from laconic.learners.episode import Episode
from laconic.learners.interfaces import AsyncPolicy, Policy, Reply, Request, Streaming
from laconic.learners.rollout.runner import EpisodeRunner, Listener, Start

if TYPE_CHECKING:
    from laconic.learners.interfaces import AsyncSampler

T = TypeVar("T")

_THREADS = 32
"""Environments that step, or other servers that are asked, at the same time."""
_CANCEL_SECONDS = 30.0
"""Seconds that a canceled play has to end its requests."""


@dataclass
class AsyncEpisodes:
    """Episodes of one play, run on the event loop of a sampler."""

    environments: Sequence[ParallelEnv[str, Any, Any]]
    """Equal environments; one episode runs in each at a time."""
    policies: Mapping[str, Policy]
    """Policy of each agent."""
    starts: Sequence[Start]
    """Initial states of the episodes."""
    seed: int
    """Seed of everything sampled."""
    greedy_from: float
    """Round from which policies take their most likely reply; infinity: no round."""
    listener: Listener | None = None
    """Receives replies and episodes, on the thread that called `play`."""
    _played: dict[int, Episode] = field(default_factory=dict)
    _events: SimpleQueue[Callable[[], None] | None] = field(default_factory=SimpleQueue)
    _finished: Event = field(default_factory=Event)

    def play(self, sampler: AsyncSampler) -> list[Episode]:
        """Play all episodes and return them in order.

        Each episode uses the weights of the sampler's last sync before it began.

        Raises:
            ServerError: a server failed for good, or its weights changed during the play.
        """
        future = sampler.submit(self._play_all(sampler))
        future.add_done_callback(lambda _: self._events.put(None))
        try:
            while (event := waiting.get(self._events)) is not None:
                event()
            waiting.result(future)
        except BaseException as error:
            future.cancel()
            # Let environments finish their steps before anyone else uses them.
            self._finished.wait(_CANCEL_SECONDS)
            raise _first_error(error) from error.__cause__
        sampler.verify()
        return [self._played[place] for place in range(len(self.starts))]

    async def _play_all(self, sampler: AsyncSampler) -> None:
        places, slow = iter(range(len(self.starts))), asyncio.Semaphore(_THREADS)
        try:
            async with asyncio.TaskGroup() as group:
                for environment in self.environments[: len(self.starts)]:
                    group.create_task(self._play_in(environment, places, sampler, slow))
        finally:
            self._finished.set()

    async def _play_in(
        self,
        environment: ParallelEnv[str, Any, Any],
        places: Iterator[int],
        sampler: AsyncSampler,
        slow: asyncio.Semaphore,
    ) -> None:
        """Play episodes in one environment until no start is left."""
        for place in places:
            # One version per episode: a ratio covers all turns of an agent, and caches stay valid.
            version = sampler.version
            runner = EpisodeRunner(environment, self.starts[place])
            while runner.running:
                replies = [
                    self._reply(place, runner.round, order, request, reply, version, slow)
                    for order, (request, reply) in enumerate(runner.requests())
                ]
                step = partial(runner.step, await asyncio.gather(*replies))
                if runner.slow:
                    await _in_thread(step, slow)
                else:
                    step()
            self._played[place] = runner.episode()
            if self.listener is not None:
                self._events.put(partial(self.listener.ended, place, self._played[place]))

    async def _reply(
        self,
        place: int,
        round: int,
        order: int,
        request: Request,
        reply: Reply | None,
        version: int,
        slow: asyncio.Semaphore,
    ) -> tuple[Request, Reply]:
        """Return the reply of the start, or ask the agent's policy."""
        if reply is not None:
            return request, reply
        policy, greedy = self.policies[request.agent], round >= self.greedy_from
        state = np.random.SeedSequence((self.seed, place, round, order)).generate_state(1)[0]
        seed = int(state) % 2**31
        if isinstance(policy, AsyncPolicy):
            return request, await policy.answer(
                request, seed=seed, greedy=greedy, episode=place, version=version
            )
        if not isinstance(policy, Streaming):
            (reply,) = policy.reply([request], seed=seed, greedy=greedy)
            return request, reply
        stream = partial(policy.stream, [request], seed=seed, greedy=greedy)
        ((_, reply),) = await _in_thread(lambda: list(stream()), slow)
        if self.listener is not None:
            self._events.put(partial(self.listener.said, place, round, request, reply))
        return request, reply


async def _in_thread(work: Callable[[], T], slow: asyncio.Semaphore) -> T:
    """Run blocking work in a daemon thread, a limited number at a time.

    A thread pool would keep the program alive at exit until its threads end.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(set_it: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            set_it(value)

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            loop.call_soon_threadsafe(settle, future.set_exception, error)
        else:
            loop.call_soon_threadsafe(settle, future.set_result, result)

    async with slow:
        Thread(target=run, daemon=True).start()
        return await future


def _first_error(error: BaseException) -> BaseException:
    """Return the first of several errors that came together."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
