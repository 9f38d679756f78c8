"""Verdicts of a warden from the events it receives."""

from __future__ import annotations

import json
import os

import pytest

from laconic.envs.sandbox.warden import SHOWN, Result, watch

LIMITS = {"seconds": 5.0, "cpu_seconds": 5.0, "idle_seconds": 5.0, "file_kb": 1}
PASSED = {"result": True}
FAILED = {"result": False, "kind": "failed", "message": "AssertionError"}


def found(count: int, *events: dict[str, object]) -> dict[str, object]:
    finding = Result(count, LIMITS)
    for event in events:
        finding.note(event)
    return finding.verdict()


def test_pieces_that_were_not_reached_have_failed():
    assert found(2, PASSED, PASSED)["outcome"] == "passed"
    early = found(3, PASSED)
    assert early["results"] == [True, False, False] and early["outcome"] == "error"
    assert early["message"] == "the tests ended early"


def test_the_first_failure_is_told_and_all_at_once_fail_together():
    result = found(2, FAILED, {"result": False, "kind": "error", "message": "later"})
    assert (result["outcome"], result["message"]) == ("failed", "AssertionError")
    all_at_once = {"result": False, "all": True, "kind": "error", "message": "SyntaxError"}
    assert found(3, all_at_once)["results"] == [False] * 3


def test_no_tests_fail_and_more_results_than_pieces_are_cut_off():
    assert found(0)["outcome"] == "failed"
    assert found(1, PASSED, PASSED)["results"] == [True]


def test_a_message_is_one_short_line_of_ascii():
    message = found(1, {**FAILED, "message": "a\nb\x1b[31m\u2603" + "x" * 500})["message"]
    assert message.startswith("a b [31m?x") and len(message) == SHOWN


def test_the_form_is_noted_and_a_late_end_is_a_time_out():
    assert found(1, {"form": "shared"}, PASSED)["form"] == "shared"
    finding = Result(1, {**LIMITS, "cpu_seconds": 0.0})
    finding.note({"result": False, "kind": "error", "message": "the program ended"})
    assert finding.verdict()["outcome"] == "timeout"


@pytest.mark.skipif(not os.path.exists("/proc"), reason="standard input is polled")
def test_events_are_taken_in_until_the_tests_end_or_the_time_is_up(monkeypatch):
    # A terminal at end of input would look like the caller's end.
    stdin, (silent, other) = os.dup(0), os.pipe()
    os.dup2(silent, 0)
    try:
        source, sink = os.pipe()
        os.write(sink, json.dumps(PASSED).encode() + b"\n" + json.dumps(FAILED).encode() + b"\n")
        os.close(sink)
        finding = Result(2, LIMITS)
        watch(source, "", finding, ())
        assert finding.verdict()["results"] == [True, False]
        source, sink = os.pipe()
        late = Result(1, {**LIMITS, "seconds": 0.1})
        watch(source, "", late, ())
        assert late.verdict()["outcome"] == "timeout"
    finally:
        os.dup2(stdin, 0)
        for descriptor in (stdin, silent, other):
            os.close(descriptor)


class Used:
    """Processor time as told."""

    cpu_seconds = 0.0

    def look(self):
        return 0.0


def test_each_piece_has_its_time_and_all_have_it_so_many_times():
    finding, usage = Result(9, {**LIMITS, "times": 2.0}), Used()
    usage.cpu_seconds = 4.0
    assert not finding.is_over(usage)
    finding.note(PASSED)
    finding.begin_piece(usage)
    # 4 for the first, 4.5 for the second, which may have 5; and 8.5 of 10 for both.
    usage.cpu_seconds = 8.5
    assert not finding.is_over(usage)
    finding.note(PASSED)
    finding.begin_piece(usage)
    usage.cpu_seconds = 10.5
    assert finding.is_over(usage) and finding.verdict()["outcome"] == "timeout"


def test_a_piece_that_uses_up_its_own_time_is_over():
    finding, usage = Result(9, {**LIMITS, "times": 5.0}), Used()
    usage.cpu_seconds = 1.0
    finding.note(PASSED)
    finding.begin_piece(usage)
    usage.cpu_seconds = 5.9
    assert not finding.is_over(usage)
    usage.cpu_seconds = 6.1
    assert finding.is_over(usage)
    assert finding.verdict()["results"] == [True] + [False] * 8


def test_without_times_all_pieces_share_one_time():
    finding, usage = Result(2, LIMITS), Used()
    usage.cpu_seconds = 4.0
    finding.note(PASSED)
    finding.begin_piece(usage)
    usage.cpu_seconds = 5.1
    assert finding.is_over(usage)
