"""The servers of an engine: who is asked what, and what happens when one is lost.

A server that was lost is asked nothing more until it is back, has the weights of the last sync
again, and has passed the probe again; then what was lost is asked once more, with the same seed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar, cast

from laconic.learners.engines.base import Prompt, Sampled
from laconic.learners.engines.dialect import Described, Dialect, check_reply
from laconic.learners.engines.expected import Expected, Spoken
from laconic.learners.engines.http import Server
from laconic.learners.engines.versions import Versions
from laconic.learners.errors import Lost, Refused, ServerError, UnknownAdapter

T = TypeVar("T")

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
    from_disk: bool = True
    """Whether servers read a whole model from where it was written; else they are handed it."""
    alive: Callable[[], None] = lambda: None
    """Raises if a server cannot come back."""

    @property
    def agents(self) -> list[str]:
        """Names of the policies."""
        return list(self.expected.texts)

    async def ask(self, agent: str, prompt: Prompt) -> Sampled:
        """One reply, by the weights of a version, whatever becomes of the server meanwhile.

        Raises:
            ServerError: the server stayed away, or gave what cannot be a reply.
        """
        version = self.versions.newest if prompt.version is None else prompt.version
        if version < 0:
            raise ServerError("no weights were handed to the engine; call its sync first")
        server = self.servers[(prompt.episode + self.first) % len(self.servers)]
        patience = server.patience.patience_seconds
        until = time.monotonic() + patience
        while True:
            if server.doubted:
                await self._restore(server)
            try:
                async with server.turn():
                    return await self._complete(server, agent, prompt, version)
            except (Lost, UnknownAdapter) as error:
                if time.monotonic() > until:
                    raise ServerError(
                        f"{error}, for {patience:g} seconds (engine.patience_seconds)"
                    ) from error
                server.doubted = True
                server.counts.retries += 1

    async def take_up(self, version: int) -> list[Spoken]:
        """Load a version everywhere, and hear what every server makes of the texts."""
        heard = await asyncio.gather(*(self._take_up(server, version) for server in self.servers))
        return [one for each in heard for one in each]

    async def _take_up(self, server: Server, version: int) -> list[Spoken]:
        place = self.servers.index(server)
        async with server.quiet():
            if self.adapted:
                await self._load(server, [(agent, version) for agent in self.agents])
            elif self.from_disk and (version or not await self._speaks_so(server, version)):
                await self._reload(server, version)
            scores = await self._scores(server, version)
            prompts = self.expected.prompts(version)
            drawn = await _each(
                self._complete(server, agent, one, version) for agent, one in prompts.items()
            )
        return [
            Spoken(agent, place, scores[agent], prompts[agent], one)
            for agent, one in zip(prompts, drawn, strict=True)
        ]

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
            self.expected.judge(one.agent, one.scores, self._dtype_of(server), said)
        for one, scores in zip(spoken, wanted, strict=True):
            server = self.servers[one.server]
            said = f"{sampled} {one.agent} sampled at {server.url}"
            self.expected.judge_drawn(one, scores, self._dtype_of(server), said)

    async def prove_all(self, what: str) -> None:
        """Have the version of the last sync proved on every server."""
        for server in self.servers:
            async with server.quiet():
                await self._prove(server, self.versions.newest, what)

    async def forget(self, names: Sequence[str]) -> None:
        """Let every server unload some adapters."""
        named = names if self.adapted else ()
        await _each(self._unload(server, name) for server in self.servers for name in named)

    async def _unload(self, server: Server, name: str) -> None:
        # A server that was started again never had it.
        with suppress(Refused, Lost):
            await self.talk.unload(server, name)

    async def leave(self) -> None:
        """Unload what this engine has loaded, and let go of all connections."""
        if self.adapted:
            window = self.versions.window()
            await self.forget([self.versions.name(a, v) for v in window for a in self.agents])
        for server in self.servers:
            await server.close()

    def _dtype_of(self, server: Server) -> str | None:
        """What a server says it computes in."""
        return self.described[self.servers.index(server)].dtype

    async def _complete(self, server: Server, agent: str, prompt: Prompt, version: int) -> Sampled:
        base = self.described[self.servers.index(server)].model
        raw = await self.talk.complete(server, prompt, base, self._adapter(agent, version))
        check_reply(raw, prompt, server.url, self.expected.vocabulary)
        return Sampled(raw.ids, raw.logprobs, version)

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
        except (Refused, Lost) as error:
            # Another process of the run may have been first, or the answer alone was lost.
            if name not in await self.talk.adapters(server):
                raise ServerError(
                    f"an adapter could not be loaded from {place!r}, which the server has to see:"
                    f" {error}. Nothing was trained on it; go on with the run when it can be"
                ) from error

    async def _reload(self, server: Server, version: int) -> None:
        if not self.from_disk:
            raise ServerError(
                f"{server.url} does not speak with version {version}, and nothing of it is on disk"
                " (engine.transfer=nccl); resume=true hands it over again"
            )
        (agent,) = self.agents
        place, name = self.versions.place(agent, version), self.versions.name(agent, version)
        await self.talk.reload(server, str(place), name)

    async def _speaks_so(self, server: Server, version: int) -> bool:
        try:
            await self._prove(server, version, "")
        except ServerError:
            return False
        return True

    async def _scores(self, server: Server, version: int) -> dict[str, list[float]]:
        """What a server gives the text of every policy; one after another, see `Server.quiet`."""
        base = self.described[self.servers.index(server)].model
        return {
            agent: await self.talk.score(server, ids, base, self._adapter(agent, version))
            for agent, ids in self.expected.texts.items()
        }

    async def _prove(self, server: Server, version: int, what: str) -> None:
        """Have a server score the text of every policy; raises where it is not as expected."""
        for agent, given in (await self._scores(server, version)).items():
            named = f"{what} for {agent} at {server.url}"
            self.expected.judge(agent, given, self._dtype_of(server), named)

    async def _restore(self, server: Server) -> None:
        """Wait for a server, give it what it has to have, and have it proved."""
        async with server.quiet():
            if not server.doubted:
                return
            await wait_until_up(server, self.talk.health, self.alive)
            newest = self.versions.newest
            if self.adapted:
                await self._load_missing(server, self.versions.window())
            elif not await self._speaks_so(server, newest):
                await self._reload(server, newest)
            await self._prove(server, newest, f"version {newest} was loaded again")
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
