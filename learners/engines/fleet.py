"""The servers of an engine: who is asked what, and what happens when one is lost.

A server that was lost is asked nothing more until it is back, has the weights of the last sync
again, and has passed the probe again; then what was lost is asked once more, with the same seed.
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
from laconic.learners.engines.dialect import (
    Described,
    Dialect,
    Raw,
    check_likeliest,
    check_reply,
)
from laconic.learners.engines.expected import Expected, Spoken
from laconic.learners.engines.http import Server
from laconic.learners.engines.versions import Versions
from laconic.learners.errors import Lost, Refused, ServerError, UnknownAdapter
from laconic.learners.interfaces import Prompt, SampledReply

T = TypeVar("T")
Prompts = Mapping[str, Prompt]
"""What is to be gone on with, by policy."""

_LOOK = 0.1
"""Seconds between two looks at whether a server is up."""


@dataclass(slots=True)
class Fleet:
    """Servers that all have the same weights."""

    talk: Dialect
    """How they are spoken to."""
    servers: Sequence[Server]
    """At least one."""
    described: Sequence[Described]
    """What each says of itself."""
    versions: Versions
    """The weights on disk."""
    expected: Expected
    """What they have to say."""
    adapted: bool
    """Whether the policies are adapters, or one whole model."""
    first: int = 0
    """The server that has the first episode."""
    alive: Callable[[], None] = lambda: None
    """Raises if a server cannot come back."""

    @property
    def agents(self) -> list[str]:
        """Names of the policies."""
        return list(self.expected.texts)

    @property
    def speaking(self) -> list[int]:
        """The versions that servers have: adapters of several, or one whole model."""
        window = self.versions.window()
        return window if self.adapted else window[-1:]

    async def ask(self, agent: str, prompt: Prompt) -> SampledReply:
        """One reply, by the weights of a version, whatever becomes of the server meanwhile.

        Raises:
            ServerError: the server stayed away, or gave what cannot be a reply.
        """
        version = self.versions.newest if prompt.version is None else prompt.version
        if version < 0:
            raise ServerError("no weights were handed to the engine; call its sync first")
        server = self.servers[(prompt.episode + self.first) % len(self.servers)]

        async def reply() -> SampledReply:
            # Nobody is asked for what was unloaded, or for a whole model that gave way to another.
            if version not in self.speaking:
                raise ServerError(
                    f"version {version} of the weights speaks no more ({self.versions.newest} does)"
                    " and an episode that was begun with it goes on; nothing of it is trained on"
                )
            async with server.turn():
                raw = await self._complete(server, agent, prompt, version)
            return SampledReply(raw.ids, raw.logprobs, version)

        return await self._again(server, reply)

    async def _again(self, server: Server, ask: Callable[[], Awaitable[T]]) -> T:
        """What a server gives, asked again when it was lost and is back."""
        patience = server.patience.patience_seconds
        until = time.monotonic() + patience
        while True:
            if server.doubted:
                await self._restore(server)
            try:
                return await ask()
            except (Lost, UnknownAdapter) as error:
                if time.monotonic() > until:
                    raise ServerError(
                        f"{error}, for {patience:g} seconds (engine.patience_seconds)"
                    ) from error
                server.doubted = True
                server.counts.retries += 1

    async def take_up(self, version: int, agents: Sequence[str]) -> list[Spoken]:
        """Load a version of some policies everywhere; hear what servers make of their texts.

        Adapters are loaded beside those that speak, and replies under way go on. A whole model
        takes the place of the one before, which nobody speaks with meanwhile.
        """
        every = self.expected.prompts(version, 1 if self.versions.good else probe.SAMPLED)
        prompts = {agent: every[agent] for agent in agents}
        heard = await _each(self._take_up(server, version, prompts) for server in self.servers)
        return [one for each in heard for one in each]

    async def _take_up(self, server: Server, version: int, prompts: Prompts) -> list[Spoken]:
        if self.adapted:
            return await self._again(server, partial(self._load_and_hear, server, version, prompts))
        async with server.quiet():
            if version or not await self._speaks_so(server, version):
                await self._reload(server, version)
            return await self._hear(server, version, prompts)

    async def _load_and_hear(self, server: Server, version: int, prompts: Prompts) -> list[Spoken]:
        await self._load(server, [(agent, version) for agent in prompts])
        try:
            return await self._hear(server, version, prompts)
        except UnknownAdapter as error:
            raise ServerError(f"{error}, although it was told to load it") from error

    async def _hear(self, server: Server, version: int, prompts: Prompts) -> list[Spoken]:
        """How a server goes on with the texts of some policies, asked all at once."""
        place = self.servers.index(server)
        likeliest = partial(self._complete, server, version=version, likeliest=probe.LIKELIEST)
        answers = await _each(likeliest(agent, one) for agent, one in prompts.items())
        return [Spoken(agent, place, one) for agent, one in zip(prompts, answers, strict=True)]

    def judge(self, version: int, spoken: Sequence[Spoken], wanted: Sequence[list[float]]) -> None:
        """Stop where a server speaks with other weights than it was given.

        Args:
            version: that was loaded.
            spoken: what `take_up` gave.
            wanted: what the trainer gives the tokens drawn, for each.

        Raises:
            ServerError: says which server speaks with what.
        """
        loaded, sampled = f"version {version} was loaded", f"version {version} of"
        for one in spoken:
            server = self.servers[one.server]
            said = f"{loaded} for {one.agent} at {server.url}"
            self.expected.judge(one.agent, version, one.answer, self._dtype_of(server), said)
        for one, scores in zip(spoken, wanted, strict=True):
            server = self.servers[one.server]
            said = f"{sampled} {one.agent} sampled at {server.url}"
            self.expected.judge_drawn(one, scores, self._dtype_of(server), said)

    async def prove_all(self, what: str) -> None:
        """Have the version of the last sync proved on every server."""
        newest = self.versions.newest
        await _each(self._prove(server, newest, what) for server in self.servers)

    async def forget(self, names: Sequence[str]) -> None:
        """Let every server unload some adapters."""
        named = names if self.adapted else ()
        await _each(self._unload(server, name) for server in self.servers for name in named)

    async def _unload(self, server: Server, name: str) -> None:
        # A server that was started again never had it.
        with suppress(Refused, Lost):
            await self.talk.unload(server, name)

    async def leave(self, unload: bool) -> None:
        """Let go of all connections, and have what this engine has loaded unloaded if need be."""
        if unload:
            await self.forget(self.versions.written(self.agents))
        for server in self.servers:
            await server.close()

    def _dtype_of(self, server: Server) -> str | None:
        """What a server says it computes in."""
        return self.described[self.servers.index(server)].dtype

    async def _complete(
        self, server: Server, agent: str, prompt: Prompt, version: int, likeliest: int = 0
    ) -> Raw:
        base = self.described[self.servers.index(server)].model
        adapter, vocabulary = self._adapter(agent, version), self.expected.vocabulary
        raw = await self.talk.complete(server, prompt, base, adapter, likeliest)
        raw = check_reply(raw, prompt, server.url, vocabulary)
        if likeliest:
            check_likeliest(raw, likeliest, server.url, vocabulary)
        return raw

    async def _load_missing(self, server: Server, versions: Sequence[int]) -> None:
        there = await self.talk.adapters(server)
        every = [(agent, version) for version in versions for agent in self.agents]
        await self._load(server, [one for one in every if self.versions.name(*one) not in there])

    async def _load(self, server: Server, wanted: Sequence[tuple[str, int]]) -> None:
        names = {self.versions.name(*one): str(self.versions.place(*one)) for one in wanted}
        await _each(self._load_one(server, *one) for one in names.items())

    async def _load_one(self, server: Server, name: str, place: str) -> None:
        try:
            await self.talk.load(server, name, place)
        except Refused as error:
            # Another process of the run may have been first, or the answer alone was lost.
            if name not in await self.talk.adapters(server):
                raise ServerError(
                    f"an adapter could not be loaded from {place!r}, which the server has to see:"
                    f" {error}. Nothing was trained on it; go on with the run when it can be"
                ) from error

    async def _reload(self, server: Server, version: int) -> None:
        (agent,) = self.agents
        place, name = self.versions.place(agent, version), self.versions.name(agent, version)
        await self.talk.reload(server, str(place), name)

    async def _speaks_so(self, server: Server, version: int) -> bool:
        try:
            await self._prove(server, version, "")
        except ServerError:
            return False
        return True

    async def _prove(self, server: Server, version: int, what: str) -> None:
        """Have a server go on with the text of every policy; raises where it is not as expected."""
        prompts = self.expected.prompts(version, 1)
        for one in await self._hear(server, version, prompts):
            named, dtype = f"{what} for {one.agent} at {server.url}", self._dtype_of(server)
            self.expected.judge(one.agent, version, one.answer, dtype, named)

    async def _restore(self, server: Server) -> None:
        """Wait for a server, give it what it has to have, and have it proved."""
        async with server.quiet():
            if not server.doubted:
                return
            await wait_until_up(server, self.talk.health, self.alive)
            speaking = self.speaking
            if self.adapted:
                await self._load_missing(server, speaking)
            elif speaking and not await self._speaks_so(server, *speaking):
                await self._reload(server, *speaking)
            for version in speaking:
                await self._prove(server, version, f"version {version} was loaded again")
            server.doubted = False
            server.counts.restores += 1

    def _adapter(self, agent: str, version: int) -> str | None:
        return self.versions.name(agent, version) if self.adapted else None


async def _each(asked: Iterable[Awaitable[T]]) -> list[T]:
    """All at once; the first error is raised when everything that was begun has ended."""
    found = await asyncio.gather(*asked, return_exceptions=True)
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return cast(list[T], found)


async def wait_until_up(server: Server, health: str, alive: Callable[[], None]) -> None:
    """Ask for a server's health until it has some.

    Raises:
        ServerError: it had none for as long as its patience is, or it can have none any more.
    """
    seconds = server.patience.patience_seconds
    until = time.monotonic() + seconds
    while True:
        alive()
        try:
            await server.get(health)
            return
        except (Lost, Refused) as error:
            if time.monotonic() > until:
                raise ServerError(f"{error}, for {seconds:g} seconds") from error
        await asyncio.sleep(_LOOK)
