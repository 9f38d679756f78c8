"""The clock of a program counts from the start of the process, or from a restart."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from laconic.experiments.command_line import clock

PRINT_AGE = """
import math, time
sum(math.sqrt(number) for number in range(2_000_000))
busy = time.process_time()
from laconic.experiments.command_line import clock
print(busy, clock.elapsed())
"""


def test_what_a_process_did_before_the_import_counts():
    out = subprocess.run([sys.executable, "-c", PRINT_AGE], capture_output=True, check=True)
    busy, age = map(float, out.stdout.split())
    assert 0.05 < busy <= age


@pytest.fixture
def restarted():
    before = clock._began, clock._computed
    clock.restart()
    yield
    clock._began, clock._computed = before


def test_a_restart_begins_at_zero(restarted):
    assert clock.elapsed() < 1.0
    time.sleep(0.2)
    # Sleeping takes no processor time.
    assert clock.elapsed() >= 0.2 and clock.slowdown() > 3.0
