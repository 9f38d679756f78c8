"""Prints the name of a part of a program that takes long and has no progress display."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

FIRST_SECONDS = 3.0
"""Seconds until a part is named."""
EVERY_SECONDS = 20.0
"""Seconds until it is named again."""


@contextmanager
def report_if_slow(part: str, first: float = FIRST_SECONDS) -> Iterator[None]:
    """Print the name of the part and its seconds after `first`, then every `EVERY_SECONDS`.

    Args:
        part: name of what runs in the context, such as `making tasks`.
        first: seconds until it is printed for the first time.
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
