"""The clock of a training counts from its first step."""

from __future__ import annotations

import time

import pytest

from laconic.experiments.command_line import clock


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
