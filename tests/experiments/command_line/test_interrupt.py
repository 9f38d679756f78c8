"""Signals set a flag, interrupt long work, and end the program the second time."""

from __future__ import annotations

import signal
import time

import pytest

from laconic.experiments.command_line import interrupt as module
from laconic.experiments.command_line.interrupt import Interrupt


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(module, "_AGAIN_SECONDS", 0.05)
    monkeypatch.setattr(module, "received", [])


def test_work_that_lasts_too_long_is_interrupted_wherever_it_waits():
    start_time = time.monotonic()
    with Interrupt() as interrupt, pytest.raises(KeyboardInterrupt), interrupt.cuttable():
        signal.raise_signal(signal.SIGTERM)
        # The flag is there at once, the end comes later.
        assert interrupt.is_set()
        time.sleep(60)
    assert time.monotonic() - start_time < 30
    assert module.received == [signal.SIGTERM]


def test_code_that_catches_all_exceptions_is_interrupted_again():
    times = 0
    with Interrupt() as interrupt, pytest.raises(KeyboardInterrupt), interrupt.cuttable():
        signal.raise_signal(signal.SIGINT)
        while times < 3:
            try:
                time.sleep(60)
            except BaseException:
                times += 1
                if times == 3:
                    raise
    assert times == 3


def test_work_outside_cuttable_ends_normally():
    finished = []
    with Interrupt() as interrupt:
        signal.raise_signal(signal.SIGINT)
        until = time.monotonic() + 0.3
        while time.monotonic() < until:
            finished.append(1)
        # It was too long by now, so that what could be cut off does not begin.
        with pytest.raises(KeyboardInterrupt), interrupt.cuttable():
            finished.append(2)
    assert set(finished) == {1}


def test_work_that_ends_in_time_is_not_interrupted_and_handlers_are_restored():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGALRM)]
    with Interrupt() as interrupt:
        with interrupt.cuttable():
            signal.raise_signal(signal.SIGTERM)
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0.0
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGALRM)] == before
    time.sleep(0.1)


def test_the_second_signal_interrupts_all_work_at_once():
    with Interrupt(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
