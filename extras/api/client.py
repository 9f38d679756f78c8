"""Client for chat completions: many requests at a time, and no answer is lost.

`openai.AsyncOpenAI` sends the requests and repeats those that failed. `_http_client` adds features
that the library lacks: a bound on concurrent requests, a pace, one time limit for a whole answer,
the current API key, and a repetition if a body is not a chat completion.

One thread with an event loop serves all clients of a process, so any number of threads may ask.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from queue import SimpleQueue
from typing import Any

from laconic.envs.errors import SettingError, install
from laconic.extras.api.answers import (
    Answer,
    UnusableAnswerError,
    is_lasting,
    is_too_long,
    read,
    show,
)
from laconic.extras.api.settings import REMEDIES, Endpoint
from laconic.learners import waiting
from laconic.learners.errors import ServerError
from laconic.learners.interfaces import Usage
from laconic.learners.untrusted_files import ENCODING, read_body

Body = Mapping[str, Any]

_LOCK = threading.Lock()


@dataclass
class _Batch:
    """Requests of one call of `stream`; the first final failure cancels all that wait."""

    calls: list[_Call] = field(default_factory=list)
    error: Exception | None = None

    def give_up(self, error: Exception) -> None:
        """Send nothing more, because of an error; answers in progress are still received."""
        self.error = self.error or error
        for call in self.calls:
            if call.waits and call.task is not None:
                call.task.cancel()


@dataclass
class _Call:
    """One request with its repetitions."""

    batch: _Batch
    task: asyncio.Task[Any] | None = field(default_factory=asyncio.current_task)
    usage: Usage = Usage()
    """Requests sent so far, and tokens of their unusable answers."""
    waits: bool = True
    """True if it waits to be sent, so that cancelling it loses no answer."""
    answer: Answer | None = None
    refusal: str = ""
    """Text of the server that refused the request as it is (status 400 or 422)."""
    problem: str = ""
    """Outcome of the last attempt, if it failed."""

    def fail(self, problem: str) -> None:
        """Note a failed attempt; stop here if the batch has given up."""
        self.problem, self.waits = problem, True
        if self.batch.error is not None:
            raise asyncio.CancelledError


_CALL: ContextVar[_Call] = ContextVar("call")
"""Call that the current task serves."""


class Client:
    """Connection to one endpoint; made by `client_of`."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Prepare the library's client; the first request connects.

        Raises:
            SettingError: the package openai is not installed.
        """
        try:
            import openai
        except ImportError as error:
            raise SettingError(f"agent=api needs the package openai: {install('api')}") from error
        self.endpoint = endpoint
        client = openai.AsyncOpenAI(
            base_url=endpoint.base_url,
            # Replaced in each request by the key of the moment.
            api_key="unused",
            max_retries=endpoint.limits.attempts - 1,
            timeout=None,
            http_client=_http_client(endpoint),
        )
        self._create = client.chat.completions.with_raw_response.create

    def stream(self, bodies: Sequence[Body]) -> Iterator[tuple[int, Answer]]:
        """Yield each answer as it comes, with the index of its request.

        Args:
            bodies: request fields, with `messages` and without `model`.

        Raises:
            ServerError: a request has no usable answer; raised after all answers that came.
        """
        answers: SimpleQueue[tuple[int, Answer] | None] = SimpleQueue()
        future = asyncio.run_coroutine_threadsafe(self._all(bodies, answers.put), _loop())
        future.add_done_callback(lambda _: answers.put(None))
        try:
            while (item := waiting.get(answers)) is not None:
                yield item
            waiting.result(future)
        finally:
            future.cancel()

    async def _all(self, bodies: Sequence[Body], put: Callable[[tuple[int, Answer]], None]) -> None:
        batch = _Batch()

        async def answer(index: int, body: Body) -> None:
            try:
                put((index, await self._answer(body, batch)))
            except Exception as error:  # Whatever it is, answers in progress are received first.
                batch.give_up(error)

        async with asyncio.TaskGroup() as group:
            for index, body in enumerate(bodies):
                group.create_task(answer(index, body))
        if batch.error is not None:
            raise batch.error

    async def _answer(self, body: Body, batch: _Batch) -> Answer:
        import openai

        call = _Call(batch)
        batch.calls.append(call)
        _CALL.set(call)
        try:
            await self._create(
                model=self.endpoint.model, messages=body["messages"], extra_body=body
            )
        except (openai.APIStatusError, openai.APIConnectionError):
            call.waits = False
        if call.answer is not None:
            return replace(call.answer, usage=call.usage + call.answer.usage)
        endpoint, count = self.endpoint, call.usage.calls
        raise ServerError(
            f"{endpoint.url} was asked {'once' if count == 1 else f'{count} times'} for a reply of"
            f" {endpoint.model!r} and last returned {call.problem}. Check that the server runs, and"
            f" check {endpoint.config_group}.base_url (it usually ends in /v1),"
            f" {endpoint.config_group}.model and {endpoint.config_group}.api_key_env"
            + "".join(
                f". If the server does not take {name}, set"
                f" {endpoint.config_group}.sampling.{REMEDIES[name]}"
                for name in REMEDIES
                if name in body and re.search(rf"\b{name}\b", call.refusal)
            )
        )


def _http_client(endpoint: Endpoint) -> Any:
    """Return the library's HTTP client with the bounds of an endpoint."""
    import openai

    # The library has changed from httpx to httpx2; its errors decide what it repeats.
    httpx = import_module(openai.DefaultAsyncHttpxClient.__mro__[1].__module__.partition(".")[0])
    limits = endpoint.limits
    slots = asyncio.Semaphore(limits.concurrency)
    interval = 60.0 / limits.requests_per_minute if limits.requests_per_minute else 0.0
    next_start = 0.0

    class HttpClient(openai.DefaultAsyncHttpxClient):  # type: ignore[misc, valid-type]
        async def send(self, request: Any, **options: Any) -> Any:
            nonlocal next_start
            call = _CALL.get()
            async with slots:
                start = max(time.monotonic(), next_start)
                next_start = start + interval
                await asyncio.sleep(start - time.monotonic())
                if call.batch.error is not None:
                    raise asyncio.CancelledError
                call.usage, call.waits = call.usage + Usage(calls=1), False
                # The key of the moment alone, and nothing that the library finds by itself.
                for name in ("authorization", "openai-organization", "openai-project"):
                    request.headers.pop(name, None)
                request.headers.update(ENCODING)
                if key := endpoint.key():
                    request.headers["authorization"] = f"Bearer {key}"
                try:
                    # A limit of the library's would start anew with every piece of an answer.
                    async with asyncio.timeout(limits.timeout_seconds):
                        response = await super().send(request, **{**options, "stream": True})
                        try:
                            content = await read_body(response)
                        finally:
                            await response.aclose()
                except ServerError as error:
                    # The library repeats requests that failed with such a status.
                    call.fail(str(error))
                    return httpx.Response(502, request=request)
                except TimeoutError:
                    call.fail(f"no whole answer within {limits.timeout_seconds:g} seconds")
                    raise httpx.ReadTimeout(call.problem, request=request) from None
                except httpx.RequestError as error:
                    call.fail(f"{type(error).__name__}: {error}")
                    raise
            # The library reads the body from a whole response.
            response = httpx.Response(
                response.status_code, headers=response.headers, content=content, request=request
            )
            if response.status_code == 200:
                try:
                    call.answer = read(content, key)
                except UnusableAnswerError as error:
                    call.usage += replace(error.usage, uncounted=0)
                    # The library repeats requests that failed with such a status.
                    response.status_code = 502
                    call.fail(str(error))
            elif is_too_long(response.status_code, content):
                call.answer = Answer("", stopped=True, full=True)
            else:
                after = response.headers.get("retry-after")
                call.fail(
                    f"HTTP {response.status_code}: {show(content, key)}"
                    + (f" (Retry-After: {after!r})" if after else "")
                )
                if response.status_code in (400, 422):
                    call.refusal = content.decode("utf-8", "replace")
                if is_lasting(response.status_code, content):
                    response.headers["x-should-retry"] = "false"
            return response

    return HttpClient(follow_redirects=False, timeout=None)


def client_of(endpoint: Endpoint) -> Client:
    """Return this process's only client of an endpoint, so that its bounds hold for all callers."""
    with _LOCK:
        return _client(endpoint, os.getpid())


# By process, because a forked child has its parent's memory but not its threads.
@cache
def _client(endpoint: Endpoint, process: int) -> Client:
    return Client(endpoint)


def _loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of this process's client thread, which runs until the process ends."""
    with _LOCK:
        return _started_loop(os.getpid())


@cache
def _started_loop(process: int) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="model-servers", daemon=True).start()
    return loop
