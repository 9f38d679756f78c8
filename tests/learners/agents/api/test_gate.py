"""A bounded number of requests at a time, at a pace, and none while the server rests."""

from __future__ import annotations

import asyncio
import time

import pytest

from laconic.learners.agents.api.gate import Gate


async def entered(gate: Gate, seconds: float = 5.0) -> bool:
    """Whether there is a way in within some time."""
    try:
        await asyncio.wait_for(gate.enter(), seconds)
    except TimeoutError:
        return False
    return True


def test_a_place_is_free_again_when_somebody_leaves():
    async def check():
        gate = Gate(2, None)
        assert await entered(gate) and await entered(gate)
        assert not await entered(gate, 0.02)
        gate.leave()
        assert await entered(gate)

    asyncio.run(check())


@pytest.mark.parametrize("resting", (False, True))
def test_a_waiting_that_is_cancelled_takes_no_place(resting):
    async def check():
        gate = Gate(1, None)
        if resting:
            # It has its place already and waits for the time.
            gate.rest(0.1)
        else:
            await gate.enter()
        assert not await entered(gate, 0.02)
        if not resting:
            gate.leave()
        assert await entered(gate)

    asyncio.run(check())


def test_nobody_enters_while_the_server_rests_and_a_shorter_rest_ends_none():
    async def check():
        gate, begun = Gate(2, None), time.monotonic()
        gate.rest(0.1)
        gate.rest(0.01)
        await asyncio.gather(gate.enter(), gate.enter())
        assert time.monotonic() - begun >= 0.1

    asyncio.run(check())


def test_those_who_wake_together_enter_one_after_the_other():
    async def check():
        # 1200 a minute are 50 ms apart.
        gate, times = Gate(3, 1200), []

        async def enter():
            await gate.enter()
            times.append(time.monotonic())

        await asyncio.gather(enter(), enter(), enter())
        first, second, third = times
        assert second - first >= 0.049 and third - second >= 0.049

    asyncio.run(check())
