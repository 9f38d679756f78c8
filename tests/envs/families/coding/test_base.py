"""Behavior of all coding benchmarks: the vote, the score, and the details of a program."""

from __future__ import annotations

import pytest

from laconic.envs import sandbox
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.families.coding.base import (
    NO_PROGRAM,
    CodingBenchmark,
    fields_of,
    fields_without_run,
    vote,
    working,
)
from laconic.envs.families.coding.exam import Exam
from laconic.envs.families.coding.extract import fenced
from laconic.envs.families.coding.generate import pose

RIGHT = "def f(n):\n    return n + 1\n"
WRONG = "def f(n):\n    return n\n"


class Own(CodingBenchmark):
    """A benchmark whose functions are tested on one input."""

    instructions_path = None

    def read(self, row, where, key):
        return None

    def pose(self, item):
        return pose(item, "Write it.", "", Exam("f", ("assert f(1) == 2", "assert f(0)"), ("f",)))


@pytest.fixture(scope="module")
def benchmark():
    return Own()


@pytest.fixture(scope="module")
def task(benchmark):
    return benchmark.generate(0, 1)[0]


def test_the_commonest_program_wins_and_the_earliest_of_equals():
    assert vote([]) is None
    assert vote([None, None]) is None
    assert vote([None, "a"]) == "a"
    assert vote(["a", "b", " b\n"]) == "b"
    assert vote(["b", "a"]) == "b"


def test_a_program_scores_one_or_nothing(benchmark, task):
    right = benchmark.score(task, {"coder_0": fenced(RIGHT)})
    assert (right.value, right.solved, right.detail["passed"]) == (1.0, True, 2)
    wrong = benchmark.score(task, {"coder_0": fenced(WRONG)})
    assert (wrong.value, wrong.solved, wrong.detail["outcome"]) == (0.0, False, "failed")
    voted = benchmark.score(
        task, {"a_0": fenced(WRONG), "a_1": fenced(RIGHT), "a_2": fenced(RIGHT)}
    )
    assert voted.solved


def test_a_reply_without_a_program_starts_no_process(benchmark, task, monkeypatch):
    monkeypatch.setattr(sandbox, "run", None)
    score = benchmark.score(task, {"coder_0": "I do not know."})
    assert (score.value, score.answer, score.detail["outcome"]) == (0.0, "", NO_PROGRAM)
    assert benchmark.score(task, {}).detail["total"] == 2


def test_the_fields_are_the_same_whether_a_program_was_run(benchmark):
    verdict = sandbox.Verdict((True, False), "failed", "separate", "process", "no")
    assert set(fields_of(verdict)) == set(fields_without_run("x", "y", 1))
    assert fields_of(verdict)["passed"] == 1


def test_settings_out_of_range_are_refused(benchmark):
    with pytest.raises(SettingError, match="env.generator.level"):
        benchmark.generate(0, 1, level=9)
    with pytest.raises(UnknownNameError, match="lvel"):
        benchmark.generate(0, 1, lvel=2)


def test_a_fence_with_a_function_commits(benchmark):
    assert benchmark.committed("Here:\n" + fenced(RIGHT)) == fenced(RIGHT)
    assert benchmark.committed("Nothing.") is None


def test_words_around_a_program_are_no_part_of_its_work():
    for code in (RIGHT, f"{RIGHT}\nDONE", f"{RIGHT}\n[x, is_five]", "\ufeff" + RIGHT):
        assert working(code) == RIGHT.strip()
    assert working("no Python at all") == ""
