from __future__ import annotations

import json

import pytest

from laconic.envs.library.coop_humaneval.benchmark import BENCHMARK
from laconic.envs.task import Task

PROMPT = '''from typing import List
import math


def tidy(xs: List[int]) -> List[int]:
    """Sort the numbers and double each of them."""
'''
CHECK = """
def check(candidate):
    assert candidate([]) == []
    assert candidate([2, 1]) == [2, 4]
    assert candidate([3]) == [6]
    assert candidate([0, -1]) == [-2, 0]
    assert True, "no test of anything"
"""
ROW = {"task_id": "Own/1", "prompt": PROMPT, "entry_point": "tidy", "test": CHECK}


@pytest.fixture(scope="session")
def tidy(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """Return a task to sort and double a list, with four tests."""
    file = tmp_path_factory.mktemp("own") / "own.jsonl"
    file.write_text(json.dumps(ROW))
    return BENCHMARK.load(file)[0]
