"""A warden grades jobs one after the other, and its failures are told."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from laconic.envs.sandbox import Limits, Program, wardens
from laconic.envs.sandbox.processes import ProcessPool
from laconic.envs.sandbox.wardens import WARDENS, WardenError, grade


def job(seconds: float = 30) -> dict[str, object]:
    program = Program("def f():\n    return 1\n", ("assert f() == 1", "assert f() == 2"), ("f",))
    limits = asdict(Limits(seconds=seconds, cpu_seconds=seconds))
    return {**asdict(program), "limits": limits, "level": "process"}


def test_a_job_is_graded_and_its_warden_is_kept():
    found = grade(job())
    assert found["results"] == [True, False] and found["outcome"] == "failed"
    pids = WARDENS.pids
    assert pids and grade(job())["results"] == [True, False]
    assert WARDENS.pids == pids


def test_a_warden_has_nothing_of_the_environment(monkeypatch):
    monkeypatch.setenv("SECRET", "9")
    one = wardens.start()
    environment = f"/proc/{one.pid}/environ"
    try:
        with open(environment, encoding="utf-8") as file:
            assert "SECRET" not in file.read()
    except OSError:
        pass  # It has closed itself to others already.
    assert one.alive
    one.end()
    assert not one.alive


def test_a_warden_that_does_not_answer_in_time_is_given_up(monkeypatch):
    pool = ProcessPool(wardens.start, 1)
    monkeypatch.setattr(wardens, "WARDENS", pool)
    monkeypatch.setattr(wardens, "GRACE", -30.0)
    with pytest.raises(WardenError, match="no answer in time"):
        grade(job())
    assert pool.pids == ()
