from __future__ import annotations

import json
from typing import Any

import pytest
from places import DATA

from laconic import envs
from laconic.envs import sandbox
from laconic.envs.contract import check_env
from laconic.envs.errors import SourceError
from laconic.envs.families.coding.base import NO_PROGRAM
from laconic.envs.library.mbpp.benchmark import BENCHMARK, MBPP

DATA = DATA / "mbpp"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no MBPP files in {DATA}")

CODE = "class Box:\r\n    def __init__(self, n):\r\n        self.n = n\r\ndef grow(box):\r\n"
CODE += "    return box.n + 1\r\n"
ROW = {
    "text": "Write a function to grow a box.",
    "code": CODE,
    "task_id": 3,
    "test_setup_code": "one = Box(1)\r\ntwo = Box(2)",
    "test_list": ["assert grow(one) == 2", "assert (grow(two)) == 3", "assert grow(Box(0)) == 1"],
    "challenge_test_list": ["assert grow(Box(-1)) == 0"],
}
SANITIZED = {
    "source_file": "own.ipynb",
    "prompt": "Write a function to turn an angle.",
    "code": "import math\ndef turn(a):\n    return a + math.pi",
    "task_id": 4,
    "test_imports": ["import math"],
    "test_list": ["assert math.isclose(turn(0), math.pi)", "assert int(turn(1.0)) == 4"],
}


@pytest.fixture
def load(tmp_path):
    """Loads rows that were written to a file."""

    def call(*rows: Any):
        file = tmp_path / "test.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return BENCHMARK.load(file)

    return call


@pytest.fixture
def no_sandbox(monkeypatch):
    """Fails the test if a program is run."""
    monkeypatch.setattr(sandbox, "run", lambda *_: pytest.fail("a program was run"))


def score(task, *messages: str):
    return BENCHMARK.score(task, {f"coder_{i}": text for i, text in enumerate(messages)})


def test_it_is_the_benchmark_of_its_name():
    assert isinstance(envs.benchmark("mbpp"), MBPP)
    assert (BENCHMARK.name, BENCHMARK.roles) == ("mbpp", ("coder", "tester"))


def test_a_row_deals_setup_and_tests_and_asks_the_text(load):
    (task,) = load(ROW)
    assert task.question == "Write a function to grow a box."
    assert task.statements == ("one = Box(1)\ntwo = Box(2)", *ROW["test_list"])
    assert task.source_text == "\n".join(
        (task.question, "Your code should pass these tests:", *task.statements)
    )
    exam = task.details["exam"]
    assert (exam.name, exam.called, exam.setup) == ("grow", ("grow",), task.statements[0])
    assert task.details["challenge"] == ("assert grow(Box(-1)) == 0",)
    assert "\r" not in task.answer


def test_the_sanitized_form_is_read_too(load):
    (task,) = load(SANITIZED)
    exam = task.details["exam"]
    assert (exam.name, exam.called, exam.imports) == ("turn", ("turn",), "import math")
    assert task.statements == tuple(SANITIZED["test_list"])
    assert score(task, task.answer_text).solved


def test_the_setup_runs_after_the_program_whose_classes_it_uses(load):
    (task,) = load(ROW)
    result = score(task, CODE)
    assert result.solved and result.detail["passed"] == result.detail["total"] == 3


def test_the_function_is_the_outer_one_of_the_program_that_a_test_calls(load):
    tests = ["assert int(outer(inner(1))) == 2"]
    code = "def inner(x): return x\ndef outer(x): return x + 1\ndef unused(x): return x"
    (task,) = load({**ROW, "code": code, "test_list": tests, "test_setup_code": ""})
    assert task.details["exam"].called == ("outer", "inner")


def test_a_program_is_worth_something_only_if_it_passes_all(load):
    (task,) = load(ROW)
    some = score(task, CODE.replace("box.n + 1", "2 if box.n else 1"))
    assert (some.value, some.solved, some.detail["passed"]) == (0.0, False, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text": 1}, "expected field 'text' to be a str"),
        ({"code": "x ="}, "expected field 'code' to be Python that defines a function"),
        ({"code": "1"}, "expected field 'code' to be Python that defines a function"),
        ({"test_list": "assert"}, "expected field 'test_list' to be a list"),
        ({"test_list": []}, "expected field 'test_list' to call a function of the field 'code'"),
        ({"test_list": ["assert shrink(1)"]}, "(Box, grow); got"),
        ({"test_list": ["assert ("]}, "'test_list' to be a list of Python sources; got 'assert ('"),
        ({"test_list": [3]}, "expected field 'test_list' to be a list of Python sources; got 3"),
        ({"challenge_test_list": [3]}, "expected field 'challenge_test_list'"),
        ({"task_id": "3"}, "expected field 'task_id' to be a int"),
        ({"test_setup_code": None}, "expected field 'test_setup_code' to be a str"),
    ],
)
def test_a_bad_row_is_refused_with_file_line_and_field(load, tmp_path, change, message):
    with pytest.raises(SourceError) as caught:
        load(ROW, {**ROW, **change})
    assert str(caught.value).startswith(f"{tmp_path / 'test.jsonl'}:2: ")
    assert message in str(caught.value)


def test_a_row_without_text_or_tests_is_refused(load):
    with pytest.raises(SourceError, match=r"test.jsonl:1: expected the field 'text'"):
        load({"code": CODE})
    with pytest.raises(SourceError, match="expected the field 'test_imports'"):
        load({name: value for name, value in SANITIZED.items() if name != "test_imports"})


def test_a_folder_is_read_by_part(tmp_path):
    (tmp_path / "train.jsonl").write_text(json.dumps(ROW))
    (tmp_path / "test.jsonl").write_text(json.dumps(SANITIZED))
    assert [task.key for task in BENCHMARK.load(tmp_path, "train")] == ["train/1"]
    assert [task.details["id"] for task in BENCHMARK.load(tmp_path)] == [4]


@needs_data
@pytest.mark.parametrize(
    ("file", "count"), [("prompt", 10), ("train", 374), ("validation", 90), ("test", 250)]
)
def test_all_real_rows_load(file, count):
    tasks = BENCHMARK.load(DATA / f"{file}.jsonl")
    assert len(tasks) == len({task.details["id"] for task in tasks}) == count
    for task in tasks:
        exam = task.details["exam"]
        assert len(exam.tests) == 3 and exam.find(task.answer_text) is not None
        # Who is told no test does not know the name.
        assert all(exam.name in test for test in exam.tests)


def test_no_program_is_worth_nothing_and_starts_no_process(load, no_sandbox):
    (task,) = load(ROW)
    for messages in ((), ("",), ("#### 12",), ("    return box.n + 1",), ("def gro(b): return 1",)):
        result = score(task, *messages)
        assert (result.value, result.answer, result.detail["outcome"]) == (0.0, "", NO_PROGRAM)
        assert result.detail["total"] == 3


def test_generated_tasks_show_other_asserts_than_they_test():
    for task in BENCHMARK.generate(0, 50):
        exam = task.details["exam"]
        assert len(exam.tests) >= 6
        assert exam.name in task.question
        assert task.source_text.count("\nassert ") == 2
        assert all(test not in task.source_text for test in exam.tests)


def test_generated_solutions_pass():
    for task in BENCHMARK.generate(2, 6):
        assert score(task, task.answer_text).value == 1.0
        assert score(task, task.answer.replace("return ", "return None if True else ")).value == 0.0


@pytest.mark.parametrize("information", ["full", "split"])
def test_the_contract_holds_and_random_talk_runs_no_program(information, no_sandbox):
    settings = {"team": {"coder": 1, "tester": 2}, "answer": "coder", "information": information}
    check_env(lambda: envs.make("mbpp", free=True, tasks=10, **settings))
