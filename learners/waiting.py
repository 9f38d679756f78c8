"""Waits on the main thread that a signal can interrupt.

Python runs signal handlers on the main thread, between two bytecode instructions. While the main
thread waits for a lock, a handler cannot run. All waits here wake up once a second.
"""

from __future__ import annotations

from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

T = TypeVar("T")

_WAKE_SECONDS = 1.0


def join(thread: Thread) -> None:
    """Wait until a thread has ended."""
    while thread.is_alive():
        thread.join(_WAKE_SECONDS)


def wait(future: Future[T]) -> None:
    """Wait until a future has a result or an error."""
    while not future.done():
        wait_for([future], _WAKE_SECONDS)


def result(future: Future[T]) -> T:
    """Wait for a future; return its result or raise its error."""
    wait(future)
    return future.result()


def get(queue: SimpleQueue[T]) -> T:
    """Wait for the next item of a queue."""
    while True:
        with suppress(Empty):
            return queue.get(timeout=_WAKE_SECONDS)
