"""Waits of the main thread for other threads, in which a signal is heard.

Python calls the handler of a signal in the main thread, between two steps of it. A signal that
comes to another thread, or in the moment in which the main thread begins to wait for a lock, is
therefore heard only when the wait ends. All waits here come back once a second.
"""

from __future__ import annotations

from concurrent.futures import Future, wait
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

T = TypeVar("T")

_HEARD_SECONDS = 1.0


def ended(thread: Thread) -> None:
    """Wait for the end of a thread."""
    while thread.is_alive():
        thread.join(_HEARD_SECONDS)


def settled(future: Future[T]) -> None:
    """Wait until something, an error too, has come of a future."""
    while not future.done():
        wait([future], _HEARD_SECONDS)


def result(future: Future[T]) -> T:
    """What comes of a future, or the error that it raises."""
    settled(future)
    return future.result()


def taken(queue: SimpleQueue[T]) -> T:
    """The next thing that a queue gives."""
    while True:
        with suppress(Empty):
            return queue.get(timeout=_HEARD_SECONDS)
