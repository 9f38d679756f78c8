"""Data from a hostile program becomes a plain value, a builtin exception or a fault."""

from __future__ import annotations

import json
import marshal
import os
import threading

import pytest

from laconic.envs.sandbox.jail import STARTED
from laconic.envs.sandbox.link import FaultError, Handle, Link
from laconic.envs.sandbox.wire import pack


class Program:
    """Other end of a link, which sends given replies."""

    def __init__(self) -> None:
        """Open both pipes."""
        self.requests, asks = os.pipe()
        answers, self.replies = os.pipe()
        self.link = Link(asks, answers, 10_000)

    def sends(self, *replies: object) -> None:
        """Put frames on the pipe; bytes are sent as they are, the rest as JSON."""
        for reply in replies:
            data = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
            os.write(self.replies, len(data).to_bytes(4, "big") + data)

    def asked(self) -> list[object]:
        """Return the next request."""
        size = int.from_bytes(os.read(self.requests, 4), "big")
        return list(marshal.loads(os.read(self.requests, size)))


@pytest.fixture
def program():
    return Program()


def test_plain_values_come_back_and_requests_carry_packed_arguments(program):
    program.sends(["value", pack([1, "a"])])
    assert program.link.call("f", (2,), {"key": None}) == [1, "a"]
    assert program.asked() == ["call", "f", pack((2,)), pack({"key": None})]
    assert program.link.fault == "" and not program.link.gone


def test_builtin_exceptions_come_back_as_themselves_and_others_are_faults(program):
    program.sends(["error", pack("KeyError"), pack("Mine"), pack("no")])
    with pytest.raises(KeyError, match="no"):
        program.link.call("f", (), {})
    for name in ("SystemExit", "BaseException", "print", "nonsense"):
        program.sends(["error", pack(name), pack("Mine"), pack("")])
        with pytest.raises(FaultError):
            program.link.call("f", (), {})
    assert not program.link.gone


@pytest.mark.parametrize("builtin", ["StopIteration", "StopAsyncIteration"])
def test_the_end_of_an_iterator_cannot_end_a_loop_of_the_tests(program, builtin):
    program.sends(["error", pack(builtin), pack("Mine"), pack("no")])
    with pytest.raises(RuntimeError, match="Mine: no"):
        all(map(lambda number: program.link.call("f", (number,), {}), [1]))
    program.sends(["error", pack("GeneratorExit"), pack("Mine"), pack("no")])
    with pytest.raises(FaultError):
        all(map(lambda number: program.link.call("f", (number,), {}), [1]))


@pytest.mark.parametrize(
    "reply",
    [
        b"no json",
        b"{}",
        b"[]",
        b"[" * 5000,
        ["value"],
        ["value", ["o", "i1", "aThing"]],
        ["value", ["?", "i1"]],
        ["error", "i1", "i1", "i1"],
        ["call", "i0", "t", "d"],
        ["nonsense"],
        b"x" * 10_001,
    ],
)
def test_nonsense_is_a_fault_after_which_nothing_passes(program, reply):
    program.sends(reply)
    with pytest.raises(FaultError):
        program.link.call("f", (), {})
    assert program.link.fault and program.link.gone
    with pytest.raises(FaultError, match="the program ended"):
        program.link.call("f", (), {})


def test_the_end_of_the_program_is_a_fault(program):
    os.close(program.replies)
    with pytest.raises(FaultError, match="the program ended"):
        program.link.run("x = 1")


def test_objects_cross_as_handles_only_where_the_tests_need_them(program):
    program.link.objects = True
    program.sends(["value", ["o", pack(5), pack("Thing")]], ["value", pack(7)])
    thing = program.link.named("thing")
    assert isinstance(thing, Handle)
    assert thing.size == 7
    program.asked()
    assert program.asked()[:2] == ["apply", "getattr"]


def test_functions_of_the_tests_can_be_called_back(program):
    replies = threading.Thread(
        target=program.sends,
        args=(
            ["call", pack(0), pack((3,)), pack({})],
            ["value", pack(9)],
        ),
    )
    replies.start()
    assert program.link.call("f", (lambda n: n * n,), {}) == 9
    replies.join()
    program.asked()
    assert program.asked() == ["returned", pack(9)]
    assert program.link.called_back


def test_code_is_sent_as_it_is_once_the_interpreter_has_started(program):
    os.write(program.replies, STARTED)
    assert program.link.start(b"code") == ""
    assert os.read(program.requests, 8) == b"\x00\x00\x00\x04code"


@pytest.mark.parametrize(
    ("message", "reason"),
    [(b"OSError: no memory", "OSError: no memory"), (b"", "its interpreter ended before it began")],
)
def test_an_interpreter_that_does_not_start_says_why(program, message, reason):
    os.write(program.replies, message)
    os.close(program.replies)
    assert program.link.start(b"code") == reason
