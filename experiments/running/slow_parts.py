"""Says what a program is at while a part of it without a display of its own takes long."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

FIRST_SECONDS = 3.0
"""Seconds after which a part is named."""
EVERY_SECONDS = 20.0
"""Seconds after which it is named again."""


@contextmanager
def told_if_slow(part: str, first: float = FIRST_SECONDS) -> Iterator[None]:
    """Print what goes on within the context, once it has taken long and then now and again.

    Args:
        part: what goes on, such as `making tasks`.
        first: seconds until it is said for the first time.
    """
    ended, begun = threading.Event(), time.monotonic()

    def tell() -> None:
        wait = first
        while not ended.wait(wait):
            print(f"{part}: {time.monotonic() - begun:.0f} s", flush=True)
            wait = EVERY_SECONDS

    threading.Thread(target=tell, daemon=True).start()
    try:
        yield
    finally:
        ended.set()
