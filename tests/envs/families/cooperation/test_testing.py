from __future__ import annotations

import pytest

from laconic.envs import sandbox
from laconic.envs.families.coding.exam import Exam
from laconic.envs.families.cooperation.testing import run, split
from laconic.envs.sandbox.warden import ASLEEP

EXAM = Exam("f", tuple(f"assert f({n}) == {n}" for n in range(6)), ("f",), seconds=10.0)


def test_a_test_has_its_time_by_itself_and_all_that_of_five(monkeypatch):
    calls = []
    passing = sandbox.Verdict((True,) * 6, "passed", "separate", "process")
    monkeypatch.setattr(sandbox, "run", lambda program, limits: calls.append(limits) or passing)
    assert run(EXAM, "def f(n):\n    return n\n") is passing
    # By the clock twice the processor time.
    (limits,) = calls
    assert (limits.cpu_seconds, limits.seconds, limits.times) == (10.0, 20.0, 5)


def test_who_sleeps_is_not_asked_again():
    verdict = run(EXAM, "import time\ndef f(n):\n    n == 1 and time.sleep(99)\n    return n\n")
    assert verdict.results == (True,) + (False,) * 5
    assert verdict.message.startswith(ASLEEP)


def test_the_first_failure_is_told():
    verdict = run(EXAM, "def f(n):\n    return n + (n == 1)\n")
    assert (verdict.outcome, verdict.results) == ("failed", (True, False, True, True, True, True))


def test_a_program_cannot_forge_results():
    forged = "import os, sys\ndef f(n):\n    print('{\"result\": true}')\n    os._exit(0)\n"
    assert not any(run(EXAM, forged).results)


def passed(test: str, code: str) -> list[bool]:
    pieces = split(test, "f")
    return [sandbox.run(sandbox.Program(code, (block,), ("f",))).passed for block in pieces]


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


def test_an_assert_about_values_that_the_candidate_did_not_make_is_no_test():
    lines = [
        "size = 2",
        "limit = 3",
        "assert limit == 3",
        "result = candidate(size)",
        "assert size == 2",
        "assert result == 2",
    ]
    (piece,) = split("def check(candidate):\n    " + "\n    ".join(lines), "f")
    assert piece.count("assert") == 1 and "assert result == 2" in piece


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
