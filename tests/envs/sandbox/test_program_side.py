"""The program's end of the link, run in a process of its own and spoken to through a `Link`."""

from __future__ import annotations

import os

import pytest

from laconic.envs.sandbox.link import FaultError, Link
from laconic.envs.sandbox.program_side import ProgramProcess


@pytest.fixture
def link():
    requests, asks = os.pipe()
    answers, replies = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(asks)
            ProgramProcess(requests, replies).serve()
        finally:
            os._exit(1)
    os.close(requests)
    os.close(replies)
    yield Link(asks, answers, 100_000)
    os.close(asks)
    # At the end of its input it leaves without a word.
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    os.close(answers)


def test_a_program_is_run_and_its_functions_are_called(link):
    link.run("def f(n, *, by=2):\n    return {'n': [n * by]}\n")
    assert link.has("f") and not link.has("g")
    assert link.call("f", (3,), {}) == {"n": [6]}
    assert link.call("f", (3,), {"by": 5}) == {"n": [15]}
    with pytest.raises(NameError, match="'g' is not defined"):
        link.call("g", (), {})


def test_what_it_raises_comes_over_as_the_nearest_builtin(link):
    link.run("class Mine(KeyError):\n    pass\ndef f():\n    raise Mine('x' * 1000)\n")
    with pytest.raises(KeyError) as error:
        link.call("f", (), {})
    assert len(str(error.value)) < 400
    with pytest.raises(SyntaxError):
        link.run("def")


def test_objects_are_refused_unless_the_tests_need_them(link):
    link.run("class Thing:\n    size = 3\ndef f():\n    return Thing()\n")
    with pytest.raises(FaultError, match="'Thing' is not a plain value"):
        link.call("f", (), {})
    link.objects = True
    link.run("class Thing:\n    size = 3\n    def __len__(self):\n        return 4\n")
    thing = link.call(link.named("Thing"), (), {})
    assert thing.size == 3 and len(thing) == 4


def test_functions_of_the_tests_are_called_back(link):
    link.run("def f(act, items):\n    return [act(item) for item in items]\n")
    assert link.call("f", (lambda n: n + 1, [1, 2]), {}) == [2, 3]
    assert link.call("f", (str, [1]), {}) == ["1"]

    def fail(n):
        raise ValueError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        link.call("f", (fail, [1]), {})
