from __future__ import annotations

import time
from dataclasses import replace

import pytest

from laconic.envs import sandbox
from laconic.envs.families.coding.exam import Exam
from laconic.envs.families.cooperation.testing import MAX_TIMEOUTS, run, split

EXAM = Exam("f", tuple(f"assert f({n}) == {n}" for n in range(6)), ("f",), seconds=10.0)


@pytest.fixture
def clock(monkeypatch):
    """A sandbox in which each test takes `f`'s time; the program is a dict of seconds a test."""
    asked = []

    def fake(program, limits):
        asked.append(program.tests)
        seconds, results, outcome = eval(program.code), [], "passed"
        left = limits.cpu_seconds
        for test in program.tests:
            taken = seconds.get(int(test[9]), 0)
            right = taken >= 0
            left -= abs(taken)
            if left < 0:
                outcome = "timeout"
                break
            results.append(right)
            if not right and outcome == "passed":
                outcome = "failed"
        results += [False] * (len(program.tests) - len(results))
        return sandbox.Verdict(tuple(results), outcome, "separate", "process", outcome)

    monkeypatch.setattr(sandbox, "run", fake)
    return asked


def test_tests_within_the_time_of_one_run_once_and_together(clock):
    verdict = run(EXAM, "{0: 4, 1: 4}")
    assert verdict.passed and clock == [EXAM.tests]
    # A test that is wrong (negative seconds) is no time-out.
    assert run(EXAM, "{1: -1}").results == (True, False, True, True, True, True)


def test_each_test_has_a_time_of_its_own(clock):
    verdict = run(EXAM, "{0: 9, 1: 9, 2: 10, 3: 9}")
    assert verdict.passed and verdict.outcome == "passed" and verdict.message == ""
    # All together stop in the second one; the others run again by themselves.
    assert clock == [EXAM.tests, *((test,) for test in EXAM.tests[1:])]


def test_a_test_over_its_time_fails_and_the_others_count(clock):
    verdict = run(EXAM, "{1: 1, 3: 9, 5: 99}")
    assert verdict.results == (True, True, True, True, True, False)
    assert verdict.outcome == "timeout"


def test_after_a_time_out_by_itself_the_rest_has_failed(clock):
    verdict = run(EXAM, "{1: 11, 2: 11, 3: 11}")
    assert verdict.results == (True, False, False, False, False, False)
    assert MAX_TIMEOUTS == 1 and clock == [EXAM.tests, EXAM.tests[1:2]]


def test_who_hangs_in_the_first_test_is_not_asked_again(clock):
    verdict = run(EXAM, "{0: 11}")
    assert verdict.results == (False,) * 6 and verdict.outcome == "timeout"
    assert clock == [EXAM.tests]


@pytest.mark.parametrize(("slept", "runs"), [(True, 1), (False, 3)])
def test_no_test_follows_one_that_slept_or_once_all_have_used_the_time_of_five(
    monkeypatch, slept, runs
):
    asked = []

    def fake(program, limits):
        asked.append(program.tests)
        results = (len(asked) < 9,) + (False,) * (len(program.tests) - 1)
        outcome = "timeout" if len(asked) == 1 else "passed"
        message = "asleep for more than 1 seconds" if slept else "no end"
        return sandbox.Verdict(results, outcome, "separate", "process", message, cpu_seconds=20.0)

    monkeypatch.setattr(sandbox, "run", fake)
    verdict = run(EXAM, "")
    # 20 seconds together, and 20 for each that follows: the third reaches 5 times 10.
    assert len(asked) == runs and sum(verdict.results) == runs
    assert verdict.outcome == "timeout" if slept else verdict.message


def test_the_first_failure_is_told(clock):
    assert run(EXAM, "{0: -1, 2: 11}").outcome == "failed"


def test_a_busy_machine_leaves_a_test_twice_its_time_by_the_clock(monkeypatch):
    given = []
    passing = sandbox.Verdict((True,) * 6, "passed", "separate", "process")
    monkeypatch.setattr(sandbox, "run", lambda program, limits: given.append(limits) or passing)
    assert run(EXAM, "def f(n):\n    return n\n") is passing
    assert [(one.cpu_seconds, one.seconds) for one in given] == [(10.0, 20.0)]


@pytest.mark.slow
def test_a_program_that_never_ends_gets_three_times_the_time_and_one_more():
    started = time.monotonic()
    code = "def f(n):\n    while n > 1:\n        pass\n    return n\n"
    verdict = run(replace(EXAM, seconds=1.0), code)
    assert verdict.results == (True, True, False, False, False, False)
    assert verdict.outcome == "timeout" and 3 < time.monotonic() - started < 20


def test_a_program_cannot_forge_results():
    forged = "import os, sys\ndef f(n):\n    print('{\"result\": true}')\n    os._exit(0)\n"
    assert not any(run(EXAM, forged).results)


def passed(test: str, code: str) -> list[bool]:
    pieces = split(test, "f")
    return [sandbox.run(sandbox.Program(code, (one,), ("f",))).passed for one in pieces]


def test_every_assert_about_the_candidate_is_one_test():
    test = (
        "def check(candidate):\n    assert candidate(1) == 1\n    assert candidate(2) == 3, 'no'\n"
    )
    assert passed(test, "def f(n):\n    return n\n") == [True, False]


def test_an_assert_about_nothing_and_a_repeated_one_are_no_tests():
    lines = [
        "assert candidate(1) == 1",
        "assert True",
        "assert 1 + 1 == 2",
        "assert (candidate(1)==1)",
    ]
    assert len(split("def check(candidate):\n    " + "\n    ".join(lines), "f")) == 1


def test_what_comes_before_a_test_prepares_it():
    test = """
LIMIT = 3
def check(candidate):
    import math
    found = candidate(math.floor(2.5))
    assert found == 2
    other = found + candidate(LIMIT)
    assert other == 5
    for number in (1, 2):
        assert candidate(number) == number
    assert str(candidate(4)) == "4"
check(f)
"""
    pieces = split(test, "f")
    assert len(pieces) == 4 and all(piece.count("assert") == 1 for piece in pieces)
    assert passed(test, "def f(n):\n    return n\n") == [True] * 4
    assert passed(test, "def f(n):\n    return min(n, 2)\n") == [True, False, True, False]


@pytest.mark.parametrize(
    "test",
    [
        "def check(candidate):\n    if candidate(1) != 1:\n        raise ValueError\n",
        "def check(candidate):\n    def one(n):\n        assert n == 1\n    one(candidate(1))\n",
        "def check():\n    assert f(1) == 1\n",
        "assert f(1) == 1\n",
    ],
)
def test_a_check_that_cannot_be_cut_is_one_test(test):
    (piece,) = split(test, "f")
    assert sandbox.run(sandbox.Program("def f(n):\n    return n\n", (piece,), ("f",))).passed
    wrong = "def f(n):\n    return -n\n"
    if "check()" not in test:
        assert not sandbox.run(sandbox.Program(wrong, (piece,), ("f",))).passed
