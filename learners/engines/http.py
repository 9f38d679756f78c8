"""Asking servers by HTTP from a loop of its own, with patience for those that pause or restart.

A request is made again when a server is busy or paused (502, 503, 504, 429); one that was lost with
its connection is the engine's to repeat, because the server may have come back without the weights
it had. Everything else that is no answer is `Refused` at once.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from laconic.envs.checks import number, whole
from laconic.envs.errors import SettingError
from laconic.learners.agents import waiting
from laconic.learners.errors import Lost, Refused

T = TypeVar("T")

_BUSY = frozenset({429, 502, 503, 504})
_FIRST_WAIT, _LONGEST_WAIT = 0.05, 2.0
"""Seconds before a request is made again; the wait doubles up to the second."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long servers are waited for."""

    timeout_seconds: float = 600.0
    """Most seconds that one answer may take."""
    patience_seconds: float = 600.0
    """Most seconds for which a server that is busy, paused or gone is asked again."""
    concurrency: int = 256
    """Most requests under way at a server."""

    def __post_init__(self) -> None:
        """Check ranges (`SettingError`)."""
        number("engine.timeout_seconds", self.timeout_seconds, above=0)
        number("engine.patience_seconds", self.patience_seconds, lowest=0)
        whole("engine.concurrency", self.concurrency, 1)


class Loop:
    """An event loop in a thread that ends with the program."""

    def __init__(self) -> None:
        """Start it."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="engine")
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin something; cancelling the future ends it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something and wait for it."""
        return self.wait(self.submit(work))

    @staticmethod
    def wait(begun: Future[T]) -> T:
        """What was begun here gives; an interrupt of the waiting ends it."""
        try:
            return waiting.result(begun)
        except BaseException:
            begun.cancel()
            raise

    @staticmethod
    def wait_all(begun: Sequence[Future[T]]) -> list[T]:
        """What several give; the first error is raised when all have ended."""
        try:
            for one in begun:
                with suppress(Exception):
                    waiting.result(one)
            return [one.result() for one in begun]
        except BaseException:
            for one in begun:
                one.cancel()
            raise

    def close(self) -> None:
        """Stop; what still went on is left."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)


@dataclass(slots=True)
class Counts:
    """What happened since somebody last looked."""

    requests: int = 0
    """Requests that were answered."""
    retries: int = 0
    """Requests that were made again, because a server was busy or gone."""
    restores: int = 0
    """Times that a server came back and was given its weights again."""


@dataclass(slots=True)
class Server:
    """One server, and the requests under way at it."""

    url: str
    """Its address without a path."""
    patience: Patience
    """How long it is waited for."""
    counts: Counts = field(default_factory=Counts)
    """Of all servers of an engine."""
    doubted: bool = False
    """Whether a request was lost, so that nobody knows which weights it has now."""
    _client: Any = None
    _room: asyncio.Semaphore | None = None
    _under_way: int = 0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _free: asyncio.Event = field(default_factory=asyncio.Event)
    _idle: asyncio.Event = field(default_factory=asyncio.Event)

    async def get(self, path: str) -> Any:
        """What stands at a path, as JSON or, where it is none, as text."""
        return await self._asked("GET", path, None)

    async def post(self, path: str, body: Any = None) -> Any:
        """The answer to a request, as JSON or, where it is none, as text."""
        return await self._asked("POST", path, body)

    async def close(self) -> None:
        """Let go of all connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Within it a reply is asked for; it begins when nobody has the server for himself."""
        while self._lock.locked():
            await self._free.wait()
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    @asynccontextmanager
    async def quiet(self) -> AsyncIterator[None]:
        """Within it no reply is under way: a whole model is exchanged, or a server restored."""
        async with self._lock:
            self._free.clear()
            while self._under_way:
                self._idle.clear()
                await self._idle.wait()
            try:
                yield
            finally:
                self._free.set()

    async def _asked(self, method: str, path: str, body: Any) -> Any:
        wait, until = _FIRST_WAIT, time.monotonic() + self.patience.patience_seconds
        self._room = self._room or asyncio.Semaphore(self.patience.concurrency)
        while True:
            async with self._room:
                answer = await self._once(method, path, body)
            if answer.status_code == 200:
                self.counts.requests += 1
                return _content(answer)
            if answer.status_code not in _BUSY or time.monotonic() + wait > until:
                raise Refused(f"{self.url}{path}", answer.status_code, answer.text)
            self.counts.retries += 1
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    async def _once(self, method: str, path: str, body: Any) -> Any:
        httpx = require_httpx()
        if self._client is None:
            most = self.patience.concurrency
            self._client = httpx.AsyncClient(
                timeout=httpx.Timeout(self.patience.timeout_seconds, pool=None),
                limits=httpx.Limits(
                    max_connections=most,
                    max_keepalive_connections=most,
                    # Servers let go of a silent connection after 5 seconds; one that is used just
                    # then would be lost.
                    keepalive_expiry=2.0,
                ),
                # A proxy of the environment must not come between a trainer and its servers.
                trust_env=False,
            )
        try:
            return await self._client.request(method, f"{self.url}{path}", json=body)
        except httpx.InvalidURL as error:
            raise SettingError(
                f"engine.url must be an address; got {self.url!r}: {error}"
            ) from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            what = str(error) or type(error).__name__
            raise Lost(f"{self.url}{path} gave no answer: {what}") from error


def require_httpx() -> Any:
    """The package `httpx2`.

    Raises:
        SettingError: it is not installed.
    """
    try:
        import httpx2
    except ImportError as error:
        raise SettingError(
            "engines that are servers are asked by the package httpx2: pip install"
            " 'laconic[engines]'"
        ) from error
    # A line for every request would be thousands a step.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    return httpx2


def _content(answer: Any) -> Any:
    try:
        return answer.json()
    except ValueError:
        return answer.text
