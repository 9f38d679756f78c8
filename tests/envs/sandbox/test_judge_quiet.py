"""The calls of a program do not depend on the correctness of its answers."""

from __future__ import annotations

import pytest

from laconic.envs.sandbox import Limits, Program, run
from laconic.envs.sandbox.judge import NOTE, NOTE_ERROR, compiled, quiet

LIMITS = Limits(seconds=60, cpu_seconds=20, idle_seconds=30)
COUNTS = """
calls = []
def f(n):
    calls.append(n)
    return {answer}
def count():
    return len(calls)
"""


def failures(source: str, **names: object) -> list[str]:
    """Run a piece of tests here; return the failures that are noted, in their order."""
    noted: list[str] = []
    hooks = {NOTE: noted.append, NOTE_ERROR: lambda: noted.append("error")}
    exec(compiled(quiet(source)), {**names, **hooks})
    return noted


@pytest.mark.parametrize("answer", ["True", "False", "None", "[]"])
def test_a_program_is_asked_the_same_whatever_it_answers(answer):
    check = """
def check(candidate):
    assert candidate(1) is True
    assert candidate(2) is True and candidate(3) is True, "both"
    for n in (4, 5):
        assert candidate(n) is True, "of " + str(candidate(6))
    assert all(candidate(n) is True for n in (7, 8, 9))
check(f)
"""
    # A right program is asked for 1, 2, 3, 4, 5, 7, 8 and 9: a message is for failures alone.
    program = Program(COUNTS.format(answer=answer), (check, "assert count() == 8"), ("f", "count"))
    assert run(program, LIMITS).results == (answer == "True", True)


def test_the_first_failure_is_reported():
    tests = "assert f(1) is False, 'one'\nassert f(2) == 3, 'two'\nassert f(3) is True"
    verdict = run(Program(COUNTS.format(answer="n == 3"), (tests,), ("f",)), LIMITS)
    assert (verdict.outcome, verdict.message) == ("failed", "AssertionError: two")
    raised = run(Program(COUNTS.format(answer="1 / 0"), (tests,), ("f",)), LIMITS)
    assert (raised.outcome, raised.message) == ("error", "ZeroDivisionError: division by zero")


def test_every_assertion_that_does_not_hold_is_noted():
    source = "assert a, 'first'\nassert a or b\nassert b and a and not b, 'parts'\nassert 1 / 0"
    assert failures(source, a=False, b=True) == ["first", "parts", "parts", "error"]
    assert failures("assert a\nassert (n := 4) == 4\nassert n == 4", a=True) == []


def test_what_tests_catch_themselves_is_left_to_them():
    for handler in ("except AssertionError", "except (ValueError, Exception)", "except"):
        assert failures(f"try:\n    assert False\n{handler}:\n    pass") == []
    source = "try:\n    1 / 0\nexcept ZeroDivisionError:\n    pass\nelse:\n    assert False\n"
    assert failures(source) == []
    assert failures(source.replace("1 / 0", "1 / 1")) == [""]


def test_all_looks_at_every_item_and_any_at_no_more_than_it_needs():
    records: list[int] = []

    def see(n: int) -> bool:
        records.append(n)
        return n == 1

    assert failures("assert all(see(n) for n in (0, 1, 2))", see=see) == [""]
    assert failures("assert any(see(n) for n in (0, 1, 2))", see=see) == []
    assert records == [0, 1, 2, 0, 1]
