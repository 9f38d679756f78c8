"""A signal that comes while the main thread waits for another is heard, wherever it lands."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import Future
from queue import SimpleQueue

import pytest

from laconic.learners import waiting

PATIENCE = 20.0
"""Seconds after which a wait in which nothing is heard ends by itself."""


class Heard(Exception):
    """Is raised by the handler of the signal."""


def later(do, *arguments):
    """Do it, in a thread that no program waits for, when patience ends."""
    timer = threading.Timer(PATIENCE, do, arguments)
    timer.daemon = True
    timer.start()


def wait_for_a_thread():
    thread = threading.Thread(target=time.sleep, args=[PATIENCE], daemon=True)
    thread.start()
    waiting.join(thread)


def wait_for_a_queue():
    queue = SimpleQueue()
    later(queue.put, None)
    waiting.get(queue)


def wait_for_a_future():
    future = Future()
    later(future.set_result, None)
    waiting.result(future)


@pytest.mark.parametrize("wait", [wait_for_a_thread, wait_for_a_queue, wait_for_a_future])
def test_a_signal_that_another_thread_receives_is_heard_within_seconds(wait):
    def hear(number, frame):
        raise Heard

    def receive():
        time.sleep(0.2)
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, hear)
    start_time = time.monotonic()
    threading.Thread(target=receive, daemon=True).start()
    try:
        with pytest.raises(Heard):
            wait()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert time.monotonic() - start_time < PATIENCE / 2


def test_what_comes_is_given_and_what_goes_wrong_is_raised():
    queue, good, bad = SimpleQueue(), Future(), Future()
    queue.put(1)
    good.set_result(2)
    bad.set_exception(TimeoutError("by itself"))
    waiting.wait(bad)
    assert (waiting.get(queue), waiting.result(good)) == (1, 2)
    with pytest.raises(TimeoutError, match="by itself"):
        waiting.result(bad)
