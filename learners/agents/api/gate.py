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
        self._next = self._opens = 0.0

    def rest(self, seconds: float) -> None:
        """Let nobody in for a while; whoever is within goes on."""
        self._opens = max(self._opens, time.monotonic() + seconds)

    async def enter(self) -> None:
        """Wait for a place, and for the time to come; a waiting that is cancelled takes nothing."""
        await self._places.acquire()
        try:
            # Of those who wake at the same time, the first enters and the others wait on.
            while (wait := max(self._opens, self._next) - time.monotonic()) > 0:
                await asyncio.sleep(wait)
        except BaseException:
            self._places.release()
            raise
        self._next = time.monotonic() + self._apart

    def leave(self) -> None:
        """Give the place to the next."""
        self._places.release()
