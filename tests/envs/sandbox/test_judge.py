"""Verdicts are decided by whether trusted source raised, and by the link's faults."""

from __future__ import annotations

import pytest

from laconic.envs.sandbox.judge import compiled, judge
from laconic.envs.sandbox.link import FaultError


class Link:
    """A program whose function `f` gives the square, or does something worse."""

    def __init__(self, act=lambda n: n * n) -> None:
        self.act, self.objects, self.called_back = act, None, False
        self.fault, self.gone, self.code = "", False, None

    def run(self, code):
        self.code = code
        if code == "broken":
            raise SyntaxError("broken")

    def call(self, name, arguments, options):
        return self.act(*arguments, **options)

    def fail(self, reason):
        self.fault = reason
        return FaultError(reason)


def judged(link, *tests, code="", helpers=""):
    events = []
    job = {"code": code, "tests": tests, "entry_points": ("f",), "setup": "", "helpers": helpers}
    judge(job, link, events.append)
    return events


def test_each_piece_passes_when_nothing_raises():
    link = Link()
    pieces = ("assert f(3) == 9", "assert f(2) == 5, 'five'", "1 / (f(1) - 1)", "assert f(1)")
    events = judged(link, *pieces)
    assert [event["result"] for event in events] == [True, False, False, True]
    assert events[1]["kind"] == "failed" and events[1]["message"] == "AssertionError: five"
    assert events[2]["kind"] == "error"
    assert link.objects is False


def test_a_program_that_does_not_run_fails_every_piece_at_once():
    events = judged(Link(), "assert True", "assert True", code="broken")
    assert events == [
        {"result": False, "all": True, "kind": "error", "message": "SyntaxError: broken"}
    ]


def test_a_fault_fails_the_piece_whatever_it_forgives_and_an_ended_program_the_rest():
    link = Link()

    def act():
        raise link.fail("the program lied")

    link.act = act
    forgiving = "try:\n    f()\nexcept BaseException:\n    pass"
    events = judged(link, forgiving, "assert True")
    assert [event["result"] for event in events] == [False, True]
    assert events[0]["message"] == "the program lied"
    link.gone = True
    assert [event["result"] for event in judged(link, "assert True")] == [False]


def test_memory_has_a_kind_of_its_own():
    def act():
        raise MemoryError

    assert judged(Link(act), "f()")[0]["kind"] == "memory"


def test_modules_of_the_tests_are_imported_for_them():
    events = judged(Link(), "assert math.sqrt(f(3)) == g(3)", helpers="def g(n):\n    return n\n")
    assert [event["result"] for event in events] == [True]


def test_trusted_source_must_be_python():
    with pytest.raises(SyntaxError):
        compiled("assert")
