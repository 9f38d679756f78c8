"""Pool of servers with the same weights: sampling, loading, probing, and recovery.

A server that lost a request is asked nothing more until it is up, has the live versions again and
has passed the probe for each. Then the request is repeated with its seed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar, cast

from laconic.learners.engines import probe
from laconic.learners.engines.client import (
    Completion,
    ServerClient,
    ServerDescription,
    check_completion,
    check_top_logprobs,
)
from laconic.learners.engines.probe import ProbeReference, ProbeReply
from laconic.learners.engines.server import Server
from laconic.learners.engines.versions import WeightVersions
from laconic.learners.errors import (
    ConnectionLostError,
    RequestRefusedError,
    ServerError,
    UnknownAdapterError,
)
from laconic.learners.interfaces import Prompt, SampledReply

T = TypeVar("T")
Prompts = Mapping[str, Prompt]
"""Probe prompt of each policy."""

_POLL_SECONDS = 0.1
"""Seconds between two health checks."""


@dataclass(slots=True)
class ServerPool:
    """Servers that all have the same weights."""

    client: ServerClient
    """Client of this kind of server."""
    servers: Sequence[Server]
    """Servers, at least one."""
    descriptions: Mapping[str, ServerDescription]
    """Properties that each server reports, by base URL."""
    versions: WeightVersions
    """Weights on disk."""
    reference: ProbeReference
    """Log-probabilities that the servers should return."""
    adapted: bool
    """True if the policies are adapters; else they are one whole model."""
    first: int = 0
    """Index of the server that gets episode 0."""
    check_process: Callable[[], None] = lambda: None
    """Raises if a server cannot come back."""

    @property
    def agents(self) -> list[str]:
        """Names of the policies."""
        return list(self.reference.texts)

    @property
    def live_versions(self) -> list[int]:
        """Versions on the servers: several of adapters, or one of a whole model."""
        return self.versions.live if self.adapted else self.versions.live[-1:]

    async def sample(self, agent: str, prompt: Prompt) -> SampledReply:
        """Sample one reply with the prompt's version of the weights.

        Raises:
            ServerError: the server stayed away, or returned no valid reply.
        """
        version = self.versions.newest if prompt.version is None else prompt.version
        if version < 0:
            raise ServerError("the engine has no weights yet; call sync() before sampling")
        server = self.servers[(prompt.episode + self.first) % len(self.servers)]

        async def attempt() -> SampledReply:
            # An unloaded adapter, or a whole model that was replaced, cannot be sampled with.
            if version not in self.live_versions:
                raise ServerError(
                    f"an episode that began with version {version} of the weights continues after"
                    f" that version was replaced (newest: {self.versions.newest}); nothing of the"
                    " episode is trained on"
                )
            async with server.request_slot():
                completion = await self._complete(server, agent, prompt, version)
            return SampledReply(completion.ids, completion.logprobs, version)

        return await self._retry(server, attempt)

    async def load(self, version: int, agents: Sequence[str]) -> list[ProbeReply]:
        """Load a version of some policies on every server, and return the replies to the probe.

        Adapters are loaded beside the live ones, and replies in progress continue. A whole model
        replaces the one before, with no reply in progress.
        """
        limit = 1 if self.versions.loaded else probe.FIRST_SAMPLED
        every = self.reference.prompts(version, limit)
        prompts = {agent: every[agent] for agent in agents}
        replies = await _gather(self._load_on(server, version, prompts) for server in self.servers)
        return [reply for each in replies for reply in each]

    async def _load_on(self, server: Server, version: int, prompts: Prompts) -> list[ProbeReply]:
        if self.adapted:
            load = partial(self._load_adapters, server, version, prompts)
            return await self._retry(server, load)
        async with server.exclusive():
            # The server may have been started with the weights of version 0.
            if version or not await self._has(server, version):
                await self._reload(server, version)
            return await self._probe(server, version, prompts)

    async def _load_adapters(
        self, server: Server, version: int, prompts: Prompts
    ) -> list[ProbeReply]:
        await self._load(server, [(agent, version) for agent in prompts])
        try:
            return await self._probe(server, version, prompts)
        except UnknownAdapterError as error:
            raise ServerError(f"{error}, right after it answered that it loaded it") from error

    def verify_weights(
        self, version: int, replies: Sequence[ProbeReply], scores: Sequence[list[float]]
    ) -> None:
        """Raise if a server samples with other weights than it was given.

        Args:
            version: version that was loaded.
            replies: return value of `load`.
            scores: the trainer's log-probabilities of the sampled tokens, one list per reply.

        Raises:
            ServerError: names the server and the weights it samples with.
        """
        for reply in replies:
            loaded = f"version {version} was loaded for {reply.agent} at {reply.url}"
            self.reference.check(reply, version, self.descriptions[reply.url].dtype, loaded)
        for reply, score in zip(replies, scores, strict=True):
            sampled = f"version {version} of {reply.agent} sampled at {reply.url}"
            self.reference.check_sampled(reply, score, self.descriptions[reply.url].dtype, sampled)

    async def verify_newest(self, context: str) -> None:
        """Probe every server for the version of the last sync."""
        newest = self.versions.newest
        await _gather(self._verify(server, newest, context) for server in self.servers)

    async def unload(self, names: Iterable[str]) -> None:
        """Unload adapters on every server."""
        if self.adapted:
            await _gather(self._unload(server, name) for name in names for server in self.servers)

    async def _unload(self, server: Server, name: str) -> None:
        # A server that was restarted does not have it.
        with suppress(RequestRefusedError, ConnectionLostError):
            await self.client.unload(server, name)

    async def shutdown(self, unload: bool) -> None:
        """Close all connections; first unload all adapters of this run, if told to."""
        if unload:
            await self.unload(self.versions.on_disk(self.agents))
        for server in self.servers:
            await server.close()

    async def _retry(self, server: Server, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask a server; restore it and ask again after a lost request."""
        patience = server.retry.patience_seconds
        deadline = time.monotonic() + patience
        while True:
            if server.needs_reload:
                await self._restore(server)
            try:
                return await ask()
            except (ConnectionLostError, UnknownAdapterError) as error:
                if time.monotonic() > deadline:
                    raise ServerError(
                        f"{error}, for {patience:g} seconds (engine.patience_seconds)"
                    ) from error
                server.needs_reload = True
                server.counts.retries += 1

    async def _restore(self, server: Server) -> None:
        """Wait until a server is up, load the live versions, and probe each."""
        async with server.exclusive():
            if not server.needs_reload:
                return
            await wait_until_up(server, self.client.health, self.check_process)
            live = self.live_versions
            if self.adapted:
                loaded = await self.client.adapters(server)
                every = [(agent, version) for version in live for agent in self.agents]
                missing = [pair for pair in every if self.versions.name(*pair) not in loaded]
                await self._load(server, missing)
            elif live and not await self._has(server, *live):
                await self._reload(server, *live)
            for version in live:
                await self._verify(server, version, f"version {version} was loaded again")
            server.needs_reload = False
            server.counts.restores += 1

    async def _load(self, server: Server, pairs: Sequence[tuple[str, int]]) -> None:
        """Load adapters, each given by its policy and version."""
        await _gather(self._load_one(server, *pair) for pair in pairs)

    async def _load_one(self, server: Server, agent: str, version: int) -> None:
        name, path = self.versions.name(agent, version), str(self.versions.path(agent, version))
        try:
            await self.client.load(server, name, path)
        except RequestRefusedError as error:
            # Another process of the run may have loaded it, or only the answer was lost.
            if name not in await self.client.adapters(server):
                raise ServerError(
                    f"the server could not load an adapter from {path!r}, a path that it has to"
                    f" see: {error}. Nothing was trained on its replies; resume the run once it can"
                ) from error

    async def _reload(self, server: Server, version: int) -> None:
        (agent,) = self.agents
        path, name = self.versions.path(agent, version), self.versions.name(agent, version)
        await self.client.reload(server, str(path), name)

    async def _has(self, server: Server, version: int) -> bool:
        """Return whether a server passes the probe for a version."""
        try:
            await self._verify(server, version, "")
        except ServerError:
            return False
        return True

    async def _verify(self, server: Server, version: int, context: str) -> None:
        """Probe a server for every policy; raise if it samples with other weights."""
        for reply in await self._probe(server, version, self.reference.prompts(version, 1)):
            loaded = f"{context} for {reply.agent} at {server.url}"
            self.reference.check(reply, version, self.descriptions[server.url].dtype, loaded)

    async def _probe(self, server: Server, version: int, prompts: Prompts) -> list[ProbeReply]:
        """Let a server continue the probe prompts, all at once."""
        completions = await _gather(
            self._complete(server, agent, prompt, version, probe.TOP_TOKENS)
            for agent, prompt in prompts.items()
        )
        return [
            ProbeReply(agent, server.url, completion)
            for agent, completion in zip(prompts, completions, strict=True)
        ]

    async def _complete(
        self, server: Server, agent: str, prompt: Prompt, version: int, top: int = 0
    ) -> Completion:
        model = self.descriptions[server.url].model
        adapter = self.versions.name(agent, version) if self.adapted else None
        vocabulary = self.reference.vocabulary
        completion = await self.client.complete(server, prompt, model, adapter, top)
        completion = check_completion(completion, prompt, server.url, vocabulary)
        if top:
            check_top_logprobs(completion, top, server.url, vocabulary)
        return completion


async def _gather(work: Iterable[Awaitable[T]]) -> list[T]:
    """Await all at once; raise the first error after all have ended."""
    results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return cast(list[T], results)


async def wait_until_up(server: Server, health: str, check_process: Callable[[], None]) -> None:
    """Poll a server's health path until it answers 200.

    Raises:
        ServerError: its patience ran out, or `check_process` found that it has ended.
    """
    patience = server.retry.patience_seconds
    deadline = time.monotonic() + patience
    while True:
        check_process()
        try:
            await server.get(health)
            return
        except (ConnectionLostError, RequestRefusedError) as error:
            if time.monotonic() > deadline:
                raise ServerError(f"{error}, for {patience:g} seconds") from error
        await asyncio.sleep(_POLL_SECONDS)
