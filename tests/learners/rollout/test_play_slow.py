"""Environments that wait for other processes step at the same time, without delaying others."""

from __future__ import annotations

import threading
import time

import pytest

from laconic.learners.interfaces import Reply
from laconic.learners.rollout.play import Start, play


class Talker:
    def reply(self, requests, *, seed, greedy):
        return [Reply("hm") for _ in requests]


@pytest.fixture
def slow(make_env):
    """Makes environments of one round that call a function in every step."""

    def make(count, act):
        environments = [make_env(rounds=1) for _ in range(count)]
        for number, env in enumerate(environments):
            env.metadata = {**env.metadata, "slow_step": True}

            def step(actions, own=env.step, number=number):
                act(number)
                return own(actions)

            env.step = step
        return environments

    return make


def played(environments):
    everyone = dict.fromkeys(environments[0].possible_agents, Talker())
    return play(environments, everyone, [Start(n) for n in range(len(environments))], seed=0)


def test_they_step_at_the_same_time(slow):
    together = threading.Barrier(4, timeout=30)
    assert len(played(slow(4, lambda number: together.wait()))) == 4


def test_more_of_them_than_threads_are_all_stepped(slow):
    records = []
    assert len(played(slow(70, records.append))) == 70
    assert sorted(records) == list(range(70))


def test_the_error_of_the_first_that_failed_is_raised(slow):
    def fail(number):
        if number:
            time.sleep(0.05 * (3 - number))
            raise ValueError(f"number {number}")

    with pytest.raises(ValueError, match="number [123]"):
        played(slow(4, fail))


def test_who_stops_waiting_does_not_wait_for_a_step(slow, monkeypatch):
    waited = threading.Event()

    def interrupt(self, timeout=None):
        raise KeyboardInterrupt

    environments = slow(2, lambda number: waited.wait(60))
    monkeypatch.setattr(threading.Thread, "join", interrupt)
    start_time = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        played(environments)
    assert time.monotonic() - start_time < 30
    # The end of the program waits for threads that are no daemons.
    monkeypatch.undo()
    stepping = [thread for thread in threading.enumerate() if thread.name.endswith("(work)")]
    assert stepping and all(sequence.daemon for sequence in stepping)
    waited.set()
