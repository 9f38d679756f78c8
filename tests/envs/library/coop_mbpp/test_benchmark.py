from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from places import DATA

from laconic import envs
from laconic.envs.errors import SourceError
from laconic.envs.library.coop_mbpp.benchmark import BENCHMARK, CoopMBPP

DATA = DATA / "mbpp"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no MBPP files in {DATA}")

FULL = {
    "text": "Write a function to grow a box.",
    "code": "class Box:\n    def __init__(self, n):\n        self.n = n\ndef grow(box):\n"
    "    return box.n + 1\n",
    "task_id": 3,
    "test_setup_code": "one = Box(1)",
    "test_list": ["assert grow(one) == 2", "assert grow(Box(0)) == 1"],
    "challenge_test_list": [],
}
SANITIZED = {
    "source_file": "own.ipynb",
    "prompt": "Write a function to turn an angle.",
    "code": "import math\ndef turn(a):\n    return a + math.pi",
    "task_id": 4,
    "test_imports": ["import math"],
    "test_list": ["assert math.isclose(turn(0), math.pi)", "assert int(turn(1.0)) == 4"],
}
AUX = "import math\ndef aux():\n    return math.pi"


@pytest.fixture
def load(tmp_path):
    """Loads rows that were written to a file."""

    def call(*rows):
        file = tmp_path / "test.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return BENCHMARK.load(file)

    return call


def score(task, auxiliary: str, main: str):
    return BENCHMARK.score(task, {"auxiliary_0": auxiliary, "main_0": main})


def solved(tasks) -> list[bool]:
    """Check that the reference solution of each task, as main, passes all its tests."""
    with ThreadPoolExecutor(2) as threads:
        result = threads.map(lambda task: score(task, "", task.answer_text), tasks)
        return [score.solved and score.value == pytest.approx(2.1) for score in result]


def test_it_is_the_benchmark_of_its_name():
    assert isinstance(envs.benchmark("coop_mbpp"), CoopMBPP)
    assert BENCHMARK.roles == ("auxiliary", "main") and BENCHMARK.slow


def test_full_and_sanitized_rows_load_and_their_solutions_pass(load):
    tasks = load(FULL, SANITIZED)
    assert [task.details["exam"].name for task in tasks] == ["grow", "turn"]
    assert all(task.details["exam"].seconds == 2 for task in tasks)
    assert "assert grow(one) == 2" in tasks[0].source_text
    assert solved(tasks) == [True, True]


def test_two_functions_are_put_together(load):
    (task,) = load(SANITIZED)
    result = score(task, AUX, "def turn(a):\n    return a + aux()")
    assert (result.value, result.solved, result.detail["schemes"]) == (4.0, True, ("decorator",))
    half = score(task, AUX, "def turn(a):\n    return a and a + aux()")
    assert half.value == pytest.approx(3.5) and half.detail["passed"] == 1


def test_the_programs_own_classes_reach_its_tests(load):
    (task,) = load(FULL)
    aux = "class Box:\n    def __init__(self, n):\n        self.n = n\ndef aux(box):\n"
    result = score(task, f"{aux}    return box.n", "def grow(box):\n    return aux(box) + 1")
    assert result.value == 4.0 and result.detail["form"] == "shared"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"test_list": []}, "field 'test_list' to call a function"),
        ({"code": "grow ="}, "expected field 'code' to be Python"),
        ({"task_id": "3"}, "expected field 'task_id' to be a int"),
    ],
)
def test_a_bad_row_is_refused_with_file_line_and_field(load, tmp_path, change, message):
    with pytest.raises(SourceError) as caught:
        load(FULL, {**FULL, **change})
    assert str(caught.value).startswith(f"{tmp_path / 'test.jsonl'}:2: ")
    assert message in str(caught.value)


def test_the_best_drafts_are_worth_the_most():
    for task in BENCHMARK.generate(5, 4, level=(3, 4)):
        result = score(task, task.drafts["auxiliary"][0], task.drafts["main"][0])
        assert (result.value, result.solved) == (4.0, True)
        assert "Your code should pass these tests:" in task.source_text


@needs_data
def test_all_real_rows_load():
    files = {"prompt": 10, "train": 374, "validation": 90, "test": 250}
    for name, count in files.items():
        tasks = BENCHMARK.load(DATA / f"{name}.jsonl")
        assert len(tasks) == len({task.key for task in tasks}) == count


@needs_data
def test_gold_solutions_of_some_rows_pass_as_main():
    tasks = BENCHMARK.load(DATA)[::25] + BENCHMARK.load(DATA / "prompt.jsonl")
    assert all(solved(tasks))


@needs_data
@pytest.mark.slow
def test_gold_solutions_of_all_rows_pass_as_main():
    for name in ("prompt", "train", "validation", "test"):
        tasks = BENCHMARK.load(DATA / f"{name}.jsonl")
        failed = [t.details["id"] for t, ok in zip(tasks, solved(tasks), strict=True) if not ok]
        assert failed == []
