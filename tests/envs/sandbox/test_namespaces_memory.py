"""Programs that try to store data from one grading to the next."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from laconic.envs.sandbox import Limits, Program, run_at
from laconic.envs.sandbox.runtime import runtime

LIMITS = Limits(seconds=60, cpu_seconds=20, idle_seconds=30)
TASKS = 20
MAX_SOLVED_BY_GUESSING = 14
"""Of 20 tasks, each solved with probability 1/2: 15 or more have a probability of 2.1 %, 14 or more
one of 5.8 %."""
REMEMBERS = """
import os, resource, time
def _cost(path):
    begun, blocks = time.perf_counter(), None
    try:
        blocks = resource.getrusage(resource.RUSAGE_SELF).ru_inblock
    except OSError:
        pass
    try:
        with open(path, "rb", buffering=0) as file:
            while file.read(1 << 16):
                pass
    except OSError:
        pass
    if blocks is None:
        return 0, time.perf_counter() - begun
    return resource.getrusage(resource.RUSAGE_SELF).ru_inblock - blocks, time.perf_counter() - begun
def answer(false, true):
    return _cost(true) < _cost(false)
def learn(path):
    _cost(path)
"""
"""Reads one of two files to remember a bit; the one that costs less to read was read before."""


def _cold_pairs() -> Iterator[tuple[str, str]]:
    """Yield pairs of library files, which are dropped from the page cache."""
    paths = [path for path in runtime().files if path.endswith((".py", ".pyc"))]
    random.Random(1).shuffle(paths)
    for pair in zip(paths[::2], paths[1::2], strict=False):
        for path in pair:
            handle = os.open(path, os.O_RDONLY)
            os.fsync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)
        yield pair


def _solved(level: str, gradings: int) -> int:
    """Count the tasks whose last answer is right; each grading shows the right one at its end."""
    pairs, solved = _cold_pairs(), 0
    # Half of the answers are yes, so that one answer to all is no better than guessing.
    for bit in random.Random(0).sample([True, False] * (TASKS // 2), TASKS):
        before, right = next(pairs), False
        for _ in range(gradings):
            now = next(pairs)
            tests = (f"assert answer{before} is {bit}", f"learn({now[bit]!r})")
            verdict = run_at(level, Program(REMEMBERS, tests, ("answer", "learn")), LIMITS)
            assert verdict.results[1], verdict
            right, before = verdict.results[0], now
        solved += right
    return solved


def test_what_a_program_reads_tells_a_later_one_nothing(any_level):
    assert _solved(any_level, gradings=2) <= MAX_SOLVED_BY_GUESSING


@pytest.mark.slow
def test_twenty_gradings_of_each_task_tell_a_program_nothing(any_level):
    assert _solved(any_level, gradings=20) <= MAX_SOLVED_BY_GUESSING
