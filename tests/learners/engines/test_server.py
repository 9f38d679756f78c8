"""Requests to a server are repeated while it is busy, and take turns with exclusive access."""

from __future__ import annotations

import asyncio

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.engines.server import EventLoop, RetryPolicy, Server, require_httpx
from laconic.learners.errors import RequestRefusedError


def test_a_loop_returns_results_and_raises_errors():
    loop = EventLoop()

    async def add(a, b):
        await asyncio.sleep(0)
        return a + b

    assert loop.run(add(1, 2)) == 3
    with pytest.raises(TypeError):
        loop.run(add(1, "2"))
    loop.close()


def test_of_several_futures_the_first_error_is_raised_when_all_are_done():
    loop, ended = EventLoop(), []

    async def work(number, fails):
        await asyncio.sleep(0.01 * number)
        ended.append(number)
        if fails:
            raise ValueError(number)
        return number

    assert EventLoop.wait_all([loop.submit(work(number, False)) for number in (2, 1)]) == [2, 1]
    ended.clear()
    with pytest.raises(ValueError, match="1"):
        EventLoop.wait_all([loop.submit(work(number, number < 3)) for number in (1, 2, 3)])
    assert ended == [1, 2, 3]
    loop.close()


def test_exclusive_access_waits_for_requests_and_requests_wait_for_it():
    server, events = Server("http://here", RetryPolicy()), []

    async def request(name, seconds):
        async with server.request_slot():
            events.append(f"{name} begins")
            await asyncio.sleep(seconds)
            events.append(f"{name} ends")

    async def exclusive():
        await asyncio.sleep(0.01)
        async with server.exclusive():
            events.append("exclusive begins")
            await asyncio.sleep(0.05)
            events.append("exclusive ends")

    async def late():
        await asyncio.sleep(0.03)
        await request("late", 0)

    async def all_of_them():
        await asyncio.gather(request("first", 0.04), exclusive(), late())

    asyncio.run(all_of_them())
    assert events == [
        *("first begins", "first ends", "exclusive begins", "exclusive ends"),
        *("late begins", "late ends"),
    ]


@pytest.mark.parametrize(("status", "seconds", "calls"), [(400, 5.0, 1), (503, 0.0, 1)])
def test_an_error_status_is_raised_with_the_servers_text(fault_server, status, seconds, calls):
    fault_server.faults.extend([str(status)] * 5)
    url = fault_server.base_url.removesuffix("/v1")
    server = Server(url, RetryPolicy(5.0, seconds))

    async def ask():
        try:
            return await server.post("/v1/completions", {"messages": []})
        finally:
            await server.close()

    with pytest.raises(RequestRefusedError, match=f"answered {status}.*a fault") as raised:
        asyncio.run(ask())
    assert raised.value.status == status and fault_server.calls == calls


def test_concurrent_requests_are_bounded(fault_server):
    fault_server.seconds = 0.02
    url = fault_server.base_url.removesuffix("/v1")
    server = Server(url, RetryPolicy(concurrency=3))

    async def ask():
        await asyncio.gather(*(server.post("/v1/x", {"messages": []}) for _ in range(9)))
        await server.close()

    asyncio.run(ask())
    assert fault_server.calls == 9 and fault_server.most == 3
    assert server.counts.requests == 9


def test_a_missing_http_package_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "httpx2", None)
    with pytest.raises(SettingError, match=r"laconic-marl\[engines\]"):
        require_httpx()
