"""HTTP connection to one inference server, with retries.

A request is repeated while a server is busy or paused (429, 502, 503, 504). A lost connection
raises `ConnectionLostError` instead: the server may have come back without its weights, so the
pool restores it first. Any other status raises `RequestRefusedError` at once.
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

from laconic.envs.checks import Count, NotNegative, Positive, check_fields
from laconic.envs.errors import SettingError, install
from laconic.learners import waiting
from laconic.learners.engines.answers import Json
from laconic.learners.errors import ConnectionLostError, RequestRefusedError, ServerError
from laconic.learners.untrusted_files import ENCODING, read_body

T = TypeVar("T")

_BUSY = frozenset({429, 502, 503, 504})
_FIRST_WAIT, _LONGEST_WAIT = 0.05, 2.0
"""Seconds before a request is repeated; the wait doubles from the first to the second."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Time limits and concurrency of the requests to a server."""

    timeout_seconds: Positive = 600.0
    """Maximum seconds for one answer."""
    patience_seconds: NotNegative = 600.0
    """Maximum seconds of retries while a server is busy, paused or gone."""
    concurrency: Count = 256
    """Maximum number of concurrent requests to a server."""

    def __post_init__(self) -> None:
        """Check ranges (`SettingError`)."""
        check_fields(self, "engine")


class EventLoop:
    """An asyncio event loop in a daemon thread."""

    def __init__(self) -> None:
        """Start the thread."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="engine")
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine; cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result."""
        return self.wait(self.submit(work))

    @staticmethod
    def wait(future: Future[T]) -> T:
        """Return the result of a future; cancel it if the wait is interrupted."""
        try:
            return waiting.result(future)
        except BaseException:
            future.cancel()
            raise

    @staticmethod
    def wait_all(futures: Sequence[Future[T]]) -> list[T]:
        """Return the results of all futures; once all are done, raise the first error."""
        try:
            for future in futures:
                with suppress(Exception):
                    waiting.result(future)
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise

    def close(self) -> None:
        """Stop the loop; coroutines that still run are abandoned."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)


@dataclass(slots=True)
class RequestCounts:
    """Counts since the last call of `Engine.metrics`, over all servers."""

    requests: int = 0
    """Number of answered requests."""
    retries: int = 0
    """Number of repeated requests, because a server was busy or gone."""
    restores: int = 0
    """Number of times a server came back and was given its weights again."""


@dataclass(slots=True)
class Server:
    """One server and the requests in progress there."""

    url: str
    """Base URL without a path."""
    retry: RetryPolicy
    """Time limits and concurrency."""
    counts: RequestCounts = field(default_factory=RequestCounts)
    """Counts shared by all servers of an engine."""
    needs_reload: bool = False
    """True if a request was lost, so the weights on the server are unknown."""
    _client: Any = None
    _slots: asyncio.Semaphore | None = None
    _sampling: int = 0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _unlocked: asyncio.Event = field(default_factory=asyncio.Event)
    _idle: asyncio.Event = field(default_factory=asyncio.Event)

    async def get(self, path: str) -> Json:
        """Return the answer to a GET request."""
        return await self._request("GET", path, None)

    async def post(self, path: str, body: Any = None) -> Json:
        """Return the answer to a POST request."""
        return await self._request("POST", path, body)

    async def close(self) -> None:
        """Close all connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    @asynccontextmanager
    async def request_slot(self) -> AsyncIterator[None]:
        """Hold a request slot; wait while another caller has exclusive access."""
        while self._lock.locked():
            await self._unlocked.wait()
        self._sampling += 1
        try:
            yield
        finally:
            self._sampling -= 1
            if not self._sampling:
                self._idle.set()

    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """Hold exclusive access, to replace or restore weights; wait until all slots are free."""
        async with self._lock:
            self._unlocked.clear()
            while self._sampling:
                self._idle.clear()
                await self._idle.wait()
            try:
                yield
            finally:
                self._unlocked.set()

    async def _request(self, method: str, path: str, body: Any) -> Json:
        wait, deadline = _FIRST_WAIT, time.monotonic() + self.retry.patience_seconds
        self._slots = self._slots or asyncio.Semaphore(self.retry.concurrency)
        while True:
            async with self._slots:
                status, content = await self._send(method, path, body)
            if status == 200:
                self.counts.requests += 1
                return Json.parse(content, f"{self.url}{path}")
            if status not in _BUSY or time.monotonic() + wait > deadline:
                text = content.decode("utf-8", "replace")
                raise RequestRefusedError(f"{self.url}{path}", status, text)
            self.counts.retries += 1
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    async def _send(self, method: str, path: str, body: Any) -> tuple[int, bytes]:
        """Return status and body of an answer."""
        httpx = require_httpx()
        if self._client is None:
            self._client = httpx.AsyncClient(
                timeout=httpx.Timeout(self.retry.timeout_seconds, pool=None),
                limits=httpx.Limits(
                    max_connections=self.retry.concurrency,
                    max_keepalive_connections=self.retry.concurrency,
                    # Servers close an idle connection after 5 seconds. A request that reuses it
                    # at that moment would be lost.
                    keepalive_expiry=2.0,
                ),
                # No proxy of the environment between a trainer and its servers.
                trust_env=False,
                headers=ENCODING,
            )
        try:
            async with self._client.stream(method, f"{self.url}{path}", json=body) as answer:
                return answer.status_code, await read_body(answer)
        except ServerError as error:
            raise ServerError(f"{self.url}{path} sent {error}") from None
        except httpx.InvalidURL as error:
            raise SettingError(
                f"engine.url must be an address such as http://127.0.0.1:8000; got {self.url!r}:"
                f" {error}"
            ) from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            reason = str(error) or type(error).__name__
            raise ConnectionLostError(f"{self.url}{path} gave no answer: {reason}") from error


def require_httpx() -> Any:
    """Import the package `httpx2`.

    Raises:
        SettingError: the package is not installed.
    """
    try:
        import httpx2
    except ImportError as error:
        raise SettingError(f"engine=vllm needs the package httpx2: {install('engines')}") from error
    # It logs every request, which would be thousands of lines a step.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    return httpx2
