"""Lets requests through to a server: a bounded number at a time, at a pace, not while it rests."""

from __future__ import annotations

import asyncio
import time


class Gate:
    """Every request enters before it is sent and leaves when it is answered."""

    def __init__(self, concurrency: int, per_minute: float | None) -> None:
        """Open the gate.

        Args:
            concurrency: most requests within at a time.
            per_minute: most that enter in a minute, evenly spread; None for any number.
        """
        self._places = asyncio.Semaphore(concurrency)
        self._apart = 0.0 if per_minute is None else 60.0 / per_minute
        self._next = 0.0
        self._opens = 0.0

    def rest(self, seconds: float) -> None:
        """Let nobody in for a while; whoever is within goes on."""
        self._opens = max(self._opens, time.monotonic() + seconds)

    async def enter(self, given_up: asyncio.Event) -> bool:
        """Wait for a place, and for the time to come.

        Args:
            given_up: ends the waiting for nothing.

        Returns:
            Whether the request may be sent; only then it has to leave.
        """
        await self._places.acquire()
        try:
            entered = await self._time_comes(given_up)
        except BaseException:
            self._places.release()
            raise
        if not entered:
            self._places.release()
        return entered

    def leave(self) -> None:
        """Give the place to the next."""
        self._places.release()

    async def _time_comes(self, given_up: asyncio.Event) -> bool:
        # Of those who wake at the same time, the first takes the moment and the others wait on.
        while (wait := max(self._opens, self._next) - time.monotonic()) > 0:
            if await happens_within(given_up, wait):
                return False
        self._next = time.monotonic() + self._apart
        return not given_up.is_set()


async def happens_within(event: asyncio.Event, seconds: float) -> bool:
    """Whether an event is or gets set before some time is over; waits no longer than needed."""
    if event.is_set() or seconds <= 0:
        return event.is_set()
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
