"""Asks a server for chat completions: many at a time, again where it helps, and losing no answer.

`openai.AsyncOpenAI` sends requests and sorts faults. What to do about them is decided here, because
its own retries know neither a body that is no chat completion, nor a `Retry-After` above two
minutes or for all requests alike, nor a bound of requests under way. The table of faults is in
docs/serving.md.

One thread with an event loop of its own serves all clients of the process, so that it makes no
difference whether, and in how many threads, the caller has one.
"""

from __future__ import annotations

import asyncio
import os
import random
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import count
from queue import SimpleQueue
from typing import Any

from laconic.envs.errors import SettingError
from laconic.learners.agents import waiting
from laconic.learners.agents.api.answers import Answer, FailedError, read, refused
from laconic.learners.agents.api.gate import Gate
from laconic.learners.agents.api.settings import Server
from laconic.learners.agents.base import Usage
from laconic.learners.errors import ServerError

Body = Mapping[str, Any]

_LOCK = threading.Lock()


class Client:
    """What this process has to do with one server; made by `client_of`."""

    def __init__(self, server: Server) -> None:
        """Prepare; the first request connects.

        Raises:
            SettingError: the package openai is not installed.
        """
        self.server = server
        self._create = _create(server)
        self._gate = Gate(server.limits.concurrency, server.limits.requests_per_minute)

    def ask(self, body: Body) -> Answer:
        """The answer to one request.

        Raises:
            ServerError: there is none.
        """
        return next(answer for _, answer in self.stream([body]))

    def stream(self, bodies: Sequence[Body]) -> Iterator[tuple[int, Answer]]:
        """Each answer as it comes, with the index of its request.

        Args:
            bodies: fields of the requests, `messages` among them, `model` left out.

        Raises:
            ServerError: a request has no usable answer; after all that came.
        """
        came: SimpleQueue[tuple[int, Answer] | None] = SimpleQueue()
        future = asyncio.run_coroutine_threadsafe(self._all(bodies, came.put), _loop())
        future.add_done_callback(lambda _: came.put(None))
        try:
            while (one := waiting.taken(came)) is not None:
                yield one
            waiting.result(future)
        finally:
            future.cancel()

    async def _all(self, bodies: Sequence[Body], put: Callable[[tuple[int, Answer]], None]) -> None:
        batch = _Batch()

        async def one(place: int, body: Body) -> None:
            try:
                put((place, await self._answer(body, batch)))
            except Exception as error:  # Whatever it is, what the others bring is taken in first.
                batch.give_up(error)

        async with asyncio.TaskGroup() as group:
            for place, body in enumerate(bodies):
                group.create_task(one(place, body))
        if batch.error is not None:
            raise batch.error

    async def _answer(self, body: Body, batch: _Batch) -> Answer:
        """The answer after as many attempts as it takes."""
        spent = Usage()
        for attempt in count(1):
            with batch.waiting():
                await self._gate.enter()
            try:
                spent += Usage(calls=1)
                answer = await self._once(body)
            except FailedError as error:
                if error.full:
                    return Answer("", stopped=True, full=True, usage=spent)
                spent += replace(error.usage, uncounted=0)
                wait = self._wait(error, attempt)
            else:
                return replace(answer, usage=spent + answer.usage)
            finally:
                self._gate.leave()
            with batch.waiting():
                await asyncio.sleep(wait)
        raise AssertionError("the last attempt answers or raises")

    async def _once(self, body: Body) -> Answer:
        import openai

        seconds, key = self.server.limits.timeout_seconds, self.server.key()
        try:
            # The library's own limit starts anew with every piece of an answer.
            async with asyncio.timeout(seconds):
                response = await self._create(
                    model=self.server.model,
                    messages=body["messages"],
                    extra_body=body,
                    # The key alone, as it is now, and nothing that the library finds by itself.
                    extra_headers={
                        "Authorization": f"Bearer {key}" if key else openai.Omit(),
                        "OpenAI-Organization": openai.Omit(),
                        "OpenAI-Project": openai.Omit(),
                    },
                )
        except TimeoutError:
            raise FailedError(f"no whole answer within {seconds:g} seconds") from None
        except openai.APIStatusError as error:
            came = error.response
            raise refused(came.status_code, came.headers, came.content, key) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise FailedError(f"{type(cause).__name__}: {cause}") from None
        return read(response.content, key)

    def _wait(self, error: FailedError, attempt: int) -> float:
        """Seconds until the next attempt.

        Raises:
            ServerError: there is to be none.
        """
        limits, asked = self.server.limits, error.wait_seconds
        longest = limits.longest_retry_after_seconds
        if not error.again or attempt >= limits.attempts or (asked or 0.0) > longest:
            raise self._error(error, attempt) from None
        if asked is None:
            return limits.wait_seconds(attempt, random.random())
        self._gate.rest(asked)
        # Those that were sent away together come back apart, and none before its time.
        return asked + limits.wait_seconds(1, random.random())

    def _error(self, error: FailedError, attempt: int) -> ServerError:
        came = str(error)
        limits, asked, group = self.server.limits, error.wait_seconds, self.server.key_group
        if asked is not None and asked > limits.longest_retry_after_seconds:
            longest = limits.longest_retry_after_seconds
            came += (
                f" It asks to be left alone for {asked:.0f} seconds, longer than"
                f" {group}.limits.longest_retry_after_seconds={longest:g}."
            )
        times = "once" if attempt == 1 else f"{attempt} times"
        return ServerError(
            f"{self.server.url} was asked {times} for a reply of {self.server.model!r} and last"
            f" gave {came}\nCheck that the server runs, and {group}.base_url (it usually ends in"
            f" /v1), {group}.model and {group}.api_key_env"
        )


class _Batch:
    """Requests of which the first that fails for good ends all that are not under way."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self._waiting: set[asyncio.Task[Any] | None] = set()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While it lasts this task is given up with the batch."""
        if self.error is not None:
            raise asyncio.CancelledError
        task = asyncio.current_task()
        self._waiting.add(task)
        try:
            yield
        finally:
            self._waiting.discard(task)

    def give_up(self, error: Exception) -> None:
        """Send nothing more, for this reason."""
        self.error = self.error or error
        for task in self._waiting:
            if task is not None:
                task.cancel()


def client_of(server: Server) -> Client:
    """The one client of this process for a server, so that bounds hold for all who ask it."""
    with _LOCK:
        return _client(server, os.getpid())


# A forked child has its parent's memory but not its threads: hence one for each process.
@cache
def _client(server: Server, process: int) -> Client:
    return Client(server)


def _loop() -> asyncio.AbstractEventLoop:
    """An event loop that runs in a thread of its own until the process ends."""
    with _LOCK:
        return _started_loop(os.getpid())


@cache
def _started_loop(process: int) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="model-servers", daemon=True).start()
    return loop


def _create(server: Server) -> Callable[..., Awaitable[Any]]:
    """The library's call for one chat completion; what it returns has the body as it came."""
    try:
        import openai
    except ImportError as error:
        raise SettingError("agent=api needs openai; pip install 'laconic[api]'") from error
    client = openai.AsyncOpenAI(
        base_url=server.base_url,
        # Sent with each request instead, see `_once`.
        api_key="unused",
        max_retries=0,
        timeout=None,
        http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False, timeout=None),
    )
    return client.chat.completions.with_raw_response.create
