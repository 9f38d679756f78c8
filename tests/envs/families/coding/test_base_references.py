"""A code benchmark is refused where none of its own reference solutions passes."""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path

import pytest
from places import DATA

from laconic import envs
from laconic.envs.errors import SourceError
from laconic.envs.families.coding import base

PROMPT = 'def twice(n):\n    """Return n twice."""\n'
RIGHT = "    return n * 2\n"
CHECK = "def check(candidate):\n    assert candidate(2) == 4\n"
NEEDS_NUMPY = "import numpy as np\n" + CHECK.replace("== 4", "== np.int64(4)")


def rows(folder: Path, *pairs: tuple[str | None, str]) -> Path:
    """Write rows of HumanEval, each of a body (or none) and its test."""
    path = folder / "rows.jsonl"
    lines = []
    for number, (solution, test) in enumerate(pairs):
        row = {"task_id": f"T/{number}", "prompt": PROMPT, "entry_point": "twice", "test": test}
        lines.append(
            json.dumps(row if solution is None else {**row, "canonical_solution": solution})
        )
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize(
    ("solution", "test", "reason"),
    [
        (RIGHT, NEEDS_NUMPY, "ModuleNotFoundError: No module named 'numpy'"),
        ("    import numpy\n    return n\n", CHECK, "No module named 'numpy'"),
        (RIGHT, CHECK.replace("4", "5"), "AssertionError"),
        ("    return m * 2\n", CHECK, "NameError: name 'm' is not defined"),
        ("    return object()\n", CHECK, "'object' is not a plain value"),
    ],
)
def test_a_source_whose_solutions_all_fail_is_refused(tmp_path, solution, test, reason):
    with pytest.raises(SourceError) as caught:
        envs.benchmark("humaneval").load(rows(tmp_path, (solution, test)))
    message = str(caught.value)
    assert "none of the 1 that were run" in message and reason in message
    assert "standard library only" in message and "\n" not in message and "(rows/1)" in message


def test_how_many_solutions_fail_and_why_is_told(tmp_path):
    path = rows(tmp_path, (RIGHT, CHECK), (RIGHT, NEEDS_NUMPY), (RIGHT, CHECK.replace("4", "6")))
    expected = (
        r"2 of 3 reference solutions .*No module named 'numpy' \(rows/2\); Assert.*\(rows/3\)"
    )
    with pytest.warns(UserWarning, match=expected):
        tasks = envs.benchmark("humaneval").load(path)
    assert len(tasks) == 3


def test_right_solutions_are_loaded_without_a_word(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(envs.benchmark("humaneval").load(rows(tmp_path, *[(RIGHT, CHECK)] * 50))) == 50


def test_mbpp_is_tried_in_the_same_way(tmp_path):
    row = {"text": "Double.", "code": "def twice(n):\n    return n * 2", "task_id": 1}
    row |= {"test_setup_code": "", "test_list": ["assert twice(2) == 5"], "challenge_test_list": []}
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row))
    for name in ("mbpp", "coop_mbpp"):
        with pytest.raises(SourceError, match="none of the 1 that were run does: AssertionError"):
            envs.benchmark(name).load(path)


def test_without_solutions_the_tests_have_to_reach_the_function(tmp_path):
    coop = envs.benchmark("coop_humaneval")
    assert len(coop.load(rows(tmp_path, (None, CHECK)))) == 1
    with pytest.raises(SourceError, match="No module named 'numpy'"):
        coop.load(rows(tmp_path, (None, NEEDS_NUMPY)))
    with pytest.raises(SourceError, match="NameError: name 'expected' is not defined"):
        coop.load(rows(tmp_path, (None, CHECK.replace("    assert", "    expected.x\n    assert"))))


def test_slow_solutions_take_no_more_than_the_time_there_is(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "MAX_SECONDS", 1.0)
    slow = "    import time\n    time.sleep(0.7)\n    return n * 2\n"
    path = rows(tmp_path, *[(f"{slow}    # {number}\n", CHECK) for number in range(9)])
    start_time = time.monotonic()
    assert len(envs.benchmark("humaneval").load(path)) == 9
    assert time.monotonic() - start_time < 5


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("humaneval", "humaneval/test.jsonl"),
        ("mbpp", "mbpp/test.jsonl"),
        ("coop_humaneval", "coophumaneval/test.jsonl"),
    ],
)
def test_real_sources_are_loaded_without_a_word(name, file):
    if not (DATA / file).is_file():
        pytest.skip(f"no {file} in {DATA}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert envs.benchmark(name).load(DATA / file)
