"""Servers are asked with patience, one reply at a time or nobody at all."""

from __future__ import annotations

import asyncio

import pytest

from laconic.envs.errors import SettingError
from laconic.learners.engines.http import Counts, Loop, Patience, Server, require_httpx
from laconic.learners.errors import Refused


def test_a_loop_gives_back_what_was_done_and_what_went_wrong():
    loop = Loop()

    async def add(one, other):
        await asyncio.sleep(0)
        return one + other

    assert loop.run(add(1, 2)) == 3
    with pytest.raises(TypeError):
        loop.run(add(1, "2"))
    loop.close()


def test_of_several_the_first_error_is_raised_when_all_have_ended():
    loop, ended = Loop(), []

    async def work(number, wrong):
        await asyncio.sleep(0.01 * number)
        ended.append(number)
        if wrong:
            raise ValueError(number)
        return number

    assert Loop.wait_all([loop.submit(work(one, False)) for one in (2, 1)]) == [2, 1]
    ended.clear()
    with pytest.raises(ValueError, match="1"):
        Loop.wait_all([loop.submit(work(one, one < 3)) for one in (1, 2, 3)])
    assert ended == [1, 2, 3]
    loop.close()


def test_whoever_wants_a_server_for_himself_waits_for_the_others_and_they_for_him():
    server, told = Server("http://here", Patience(), Counts()), []

    async def turn(name, seconds):
        async with server.turn():
            told.append(f"{name} begins")
            await asyncio.sleep(seconds)
            told.append(f"{name} ends")

    async def alone():
        await asyncio.sleep(0.01)
        async with server.quiet():
            told.append("alone")
            await asyncio.sleep(0.05)
            told.append("no more")

    async def late():
        await asyncio.sleep(0.03)
        await turn("late", 0)

    async def all_of_them():
        await asyncio.gather(turn("first", 0.04), alone(), late())

    asyncio.run(all_of_them())
    assert told == ["first begins", "first ends", "alone", "no more", "late begins", "late ends"]


@pytest.mark.parametrize(("status", "seconds", "calls"), [(400, 5.0, 1), (503, 0.0, 1)])
def test_what_is_no_answer_is_refused_with_what_the_server_said(
    fault_server, status, seconds, calls
):
    fault_server.faults.extend([str(status)] * 5)
    url = fault_server.base_url.removesuffix("/v1")
    server = Server(url, Patience(5.0, seconds), Counts())

    async def ask():
        try:
            return await server.post("/v1/completions", {"messages": []})
        finally:
            await server.close()

    with pytest.raises(Refused, match=f"answered {status}.*a fault") as raised:
        asyncio.run(ask())
    assert raised.value.status == status and fault_server.calls == calls


def test_no_more_requests_are_under_way_than_were_allowed(fault_server):
    fault_server.seconds = 0.02
    url = fault_server.base_url.removesuffix("/v1")
    server = Server(url, Patience(concurrency=3), Counts())

    async def ask():
        await asyncio.gather(*(server.post("/v1/x", {"messages": []}) for _ in range(9)))
        await server.close()

    asyncio.run(ask())
    assert fault_server.calls == 9 and fault_server.most == 3
    assert server.counts.requests == 9


def test_the_client_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "httpx2", None)
    with pytest.raises(SettingError, match=r"laconic\[engines\]"):
        require_httpx()
