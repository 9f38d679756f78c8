"""Asks a server for chat completions: many at a time, patiently, and losing nothing that came.

Whatever may pass by itself is asked again up to `Limits.attempts` times with growing, jittered
waits: no connection, a dropped one, a time-out, 408, 409, 425, 429, 5xx, and bodies that are no
chat completion. A `Retry-After` is kept to, by all requests to that server. Anything else, and the
last failed attempt, ends the batch: nothing new is sent, what is under way is taken in, and then
`ServerError` says what came.

One thread with an event loop of its own serves all clients of the process, so that it makes no
difference whether, and in how many threads, the caller has one.
"""

from __future__ import annotations

import asyncio
import os
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

from laconic.envs.errors import SettingError
from laconic.learners.agents.api.answers import Answer, FailedError, FullError, read
from laconic.learners.agents.api.gate import Gate, happens_within
from laconic.learners.agents.api.settings import Server
from laconic.learners.agents.base import Usage
from laconic.learners.errors import ServerError

Body = Mapping[str, Any]

_LOCK = threading.Lock()
_CLIENTS: dict[tuple[Server, int], Client] = {}
"""By server and process."""
_LOOPS: dict[int, asyncio.AbstractEventLoop] = {}
"""By process."""


class Client:
    """What this process has to do with one server; made by `client_of`."""

    def __init__(self, server: Server) -> None:
        """Prepare; the first request connects.

        Raises:
            SettingError: the library that speaks HTTP is not installed.
        """
        self.server = server
        self._http = _new_http(server)
        self._gate = Gate(server.limits.concurrency, server.limits.requests_per_minute)
        self._jitter = random.Random()

    def ask(self, body: Body) -> Answer:
        """The answer to one request.

        Raises:
            ServerError: there is none.
        """
        return next(answer for _, answer in self.stream([body]))

    def stream(self, bodies: Sequence[Body]) -> Iterator[tuple[int, Answer]]:
        """Each answer as it comes, with the place of its request.

        Args:
            bodies: fields of the requests, `model` left out.

        Raises:
            ServerError: a request has no usable answer; after all that came.
        """
        came: SimpleQueue[tuple[int, Answer] | None] = SimpleQueue()
        future = asyncio.run_coroutine_threadsafe(self._all(bodies, came.put), _loop())
        future.add_done_callback(lambda _: came.put(None))
        try:
            while (one := came.get()) is not None:
                yield one
            future.result()
        finally:
            future.cancel()

    async def _all(self, bodies: Sequence[Body], put: Callable[[tuple[int, Answer]], None]) -> None:
        given_up = asyncio.Event()
        errors: list[Exception] = []

        async def one(place: int, body: Body) -> None:
            try:
                answer = await self._patiently(body, given_up)
            except Exception as error:  # Whatever it is, what the others bring is taken in first.
                errors.append(error)
                given_up.set()
            else:
                if answer is not None:
                    put((place, answer))

        async with asyncio.TaskGroup() as group:
            for place, body in enumerate(bodies):
                group.create_task(one(place, body))
        if errors:
            raise errors[0]

    async def _patiently(self, body: Body, given_up: asyncio.Event) -> Answer | None:
        """The answer after as many attempts as it takes; None when others have given up before."""
        spent = Usage()
        attempts = self.server.limits.attempts
        for attempt in range(1, attempts + 1):
            try:
                if not await self._gate.enter(given_up):
                    return None
                try:
                    spent += Usage(calls=1)
                    answer = await self._once(body)
                finally:
                    self._gate.leave()
                return replace(answer, usage=spent + answer.usage)
            except FullError:
                return Answer("", stopped=True, full=True, usage=spent)
            except FailedError as error:
                spent += replace(error.usage, uncounted=0)
                wait = self._wait(error, attempt)
                if wait is None:
                    raise self._error(error, attempt) from error
            if await happens_within(given_up, wait):
                return None
        raise AssertionError("the last attempt answers or raises")

    async def _once(self, body: Body) -> Answer:
        import httpx2

        seconds = self.server.limits.timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                response = await self._http.post(
                    self.server.url,
                    json={"model": self.server.model, **body},
                    headers=self.server.headers(),
                )
        except TimeoutError:
            raise FailedError(f"no whole answer within {seconds:g} seconds") from None
        except httpx2.RequestError as error:
            raise FailedError(f"{type(error).__name__}: {error}") from error
        return read(response.status_code, response.headers, response.content)

    def _wait(self, error: FailedError, attempt: int) -> float | None:
        """Seconds until the next attempt; None for no further one."""
        limits = self.server.limits
        asked = error.wait_seconds
        if not error.again or attempt >= limits.attempts:
            return None
        if asked is None:
            return limits.wait_seconds(attempt, self._jitter.random())
        if asked > limits.longest_retry_after_seconds:
            return None
        self._gate.rest(asked)
        # Those that were sent away together come back apart, and none before its time.
        return asked + limits.wait_seconds(1, self._jitter.random())

    def _error(self, error: FailedError, attempt: int) -> ServerError:
        came = str(error)
        key = self.server.key()
        if key:
            # Servers quote keys that they refuse.
            came = came.replace(key, "***")
        limits, asked = self.server.limits, error.wait_seconds
        if asked is not None and asked > limits.longest_retry_after_seconds:
            came += (
                f" It asks to be left alone for {asked:.0f} seconds, longer than"
                f" limits.longest_retry_after_seconds={limits.longest_retry_after_seconds:g}."
            )
        times = "once" if attempt == 1 else f"{attempt} times"
        return ServerError(
            f"{self.server.url} was asked {times} for a reply of {self.server.model!r} and last"
            f" gave {came}\nCheck that the server runs, and base_url (it usually ends in /v1),"
            " model and api_key_env"
        )


def client_of(server: Server) -> Client:
    """The one client of this process for a server, so that bounds hold for all who ask it."""
    with _LOCK:
        # A forked child has its parent's memory but not its threads.
        key = (server, os.getpid())
        if key not in _CLIENTS:
            _CLIENTS[key] = Client(server)
        return _CLIENTS[key]


def _loop() -> asyncio.AbstractEventLoop:
    """An event loop that runs in a thread of its own until the process ends."""
    with _LOCK:
        if os.getpid() not in _LOOPS:
            loop = _LOOPS[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="model-servers", daemon=True).start()
        return _LOOPS[os.getpid()]


def _new_http(server: Server) -> Any:
    try:
        import httpx2
    except ImportError as error:
        raise SettingError("agent=api needs httpx2; pip install 'laconic[api]'") from error
    most = server.limits.concurrency
    limits = httpx2.Limits(max_connections=most, max_keepalive_connections=most)
    # One time limit holds for a whole request, see `_once`.
    return httpx2.AsyncClient(timeout=None, limits=limits)
