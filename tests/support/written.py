"""Sources written for a test, what benchmarks make of them, and of what agents say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from laconic.envs.errors import SourceError
from laconic.envs.task import Benchmark, Task


def write(path: Path, *rows: Any) -> Path:
    """Write rows as JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def check_refused(benchmark: Benchmark, folder: Path, good: Any, row: Any, words: str) -> None:
    """Check that a wrong row behind a good one is refused with file, line and these words."""
    file = write(folder / "test.jsonl", good, row)
    with pytest.raises(SourceError) as caught:
        benchmark.load(folder)
    assert str(caught.value).startswith(f"{file}:2: ")
    assert words in str(caught.value)


def scored(benchmark: Benchmark, messages: Any, answer: str) -> tuple[float, bool, str]:
    """Value, whether it is solved, and answer, where solvers say this and the reference is that."""
    task = Task(key="t", question="?", statements=(), answer=answer)
    score = benchmark.score(task, {f"solver_{i}": text for i, text in enumerate(messages)})
    return score.value, score.solved, score.answer
