"""Processor time and sleep of running processes, their descendants among them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from laconic.envs.sandbox import Limits, Program, run
from laconic.envs.sandbox.warden import ASLEEP, ProcessUsage

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
BUSY = "while True:\n    pass"
SLEEP = "import time\ntime.sleep(600)"
PARENT = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BUSY!r}])"
TESTS = ("assert f() == 1",)


@contextmanager
def started(program: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", program], start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def until(holds, seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    return holds()


def test_a_busy_process_uses_time_and_never_sleeps():
    with started(BUSY) as process:
        usage = ProcessUsage([process.pid])
        assert until(lambda: usage.look() < 0.5 and usage.cpu_seconds > 0.2)


def test_a_sleeping_process_uses_none():
    with started(SLEEP) as process:
        usage = ProcessUsage([process.pid])
        assert until(lambda: usage.look() > 0.5)
        assert usage.cpu_seconds < 0.5


def test_descendants_count():
    with started(PARENT) as process:
        usage = ProcessUsage([process.pid])
        assert until(lambda: usage.look() < 0.5 and usage.cpu_seconds > 0.3)


def test_processes_that_are_gone_use_nothing():
    times = iter([0.0, 0.05, 2.0])
    usage = ProcessUsage([2**22 + 1], lambda: next(times))
    assert (usage.look(), usage.cpu_seconds) == (0.05, 0.0)
    # A machine that had no time to look proves nothing.
    assert usage.look() == pytest.approx(0.15)


def test_a_program_that_loops_is_stopped_at_its_processor_time():
    verdict = run(Program("def f():\n    while True: pass\n", TESTS, ("f",)), Limits(60, 0.5))
    assert verdict.outcome == "timeout"
    assert "0.5 seconds of processor time" in verdict.message
    assert 0.5 < verdict.cpu_seconds < 2


def test_a_program_that_sleeps_is_stopped_long_before_the_clock():
    start_time = time.monotonic()
    code = "import time\ndef f():\n    time.sleep(50)\n"
    verdict = run(Program(code, TESTS, ("f",)), Limits(seconds=60, idle_seconds=0.4))
    assert verdict.outcome == "timeout" and verdict.message.startswith(ASLEEP)
    assert time.monotonic() - start_time < 20


def test_a_short_rest_is_no_harm():
    code = "import time\ndef f():\n    time.sleep(0.3)\n    return 1\n"
    assert run(Program(code, TESTS, ("f",)), Limits(seconds=60)).passed


LATE = """
import time
def f(n):
    until = time.process_time() + {seconds}
    while time.process_time() < until:
        pass
    return n
"""


def timed(seconds, tests=6, times=5.0):
    """Return a program whose tests take these seconds each, of the 0.6 allowed."""
    pieces = tuple(f"assert f({n}) == {n}" for n in range(tests))
    program = Program(LATE.replace("{seconds}", seconds), pieces, ("f",))
    return run(program, Limits(seconds=60, cpu_seconds=0.6, times=times))


def test_tests_that_take_longer_together_than_one_may_all_count():
    verdict = timed("0.3 * (n < 4)")
    assert verdict.passed and verdict.cpu_seconds > 0.9, verdict
    assert timed("0.3 * (n < 4)", times=1.0).outcome == "timeout"


def test_after_a_test_that_ran_out_of_its_time_the_rest_has_failed():
    verdict = timed("{1: 0.3, 2: 999, 4: 999}.get(n, 0)")
    assert verdict.results == (True, True, False, False, False, False), verdict
    assert verdict.outcome == "timeout" and verdict.cpu_seconds < 2.0


def test_all_tests_together_have_the_time_of_so_many():
    verdict = timed("0.36", tests=20, times=3.0)
    # Looks are a moment apart, and starting takes time of the first.
    assert verdict.outcome == "timeout" and 3 <= sum(verdict.results) <= 6, verdict
