from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from laconic.envs.errors import SourceError
from laconic.envs.library.math.benchmark import BENCHMARK
from laconic.envs.library.math.problems import original

read = BENCHMARK.load
ROW = {
    "problem": "Let $x = 3$. What is $x + 1$?",
    "level": "Level 2",
    "type": "Algebra",
    "solution": r"It is $3 + 1 = \boxed{4}$.",
}


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_row_is_cut_and_its_answer_is_the_boxed_one(tmp_path: Path) -> None:
    (task,) = read(lines(tmp_path / "own.jsonl", ROW), "train")
    assert (task.key, task.answer, task.answer_text) == ("own/1", "4", r"\boxed{4}")
    assert (task.statements, task.question) == (("Let $x = 3$.",), "What is $x + 1$?")
    assert task.text == ROW["problem"] and task.solution == ROW["solution"]
    assert task.details == {"level": 2, "subject": "Algebra"}


def test_files_of_the_original_layout_are_read_in_the_order_of_their_numbers(
    tmp_path: Path,
) -> None:
    for name in ("10", "9", "extra"):
        file = tmp_path / "train" / "algebra" / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(ROW))
    results = [task.key for task in read(tmp_path, "train")]
    assert results == ["train/algebra/extra", "train/algebra/9", "train/algebra/10"]
    assert [key for *_, key in original.keyed(tmp_path / "train", "evaluation")] == results


def test_answers_without_solutions_stand_in_for_missing_training_rows(tmp_path: Path) -> None:
    row = {"prompt": "What is $1 + 1$?", "answer": "2", "source": "MATH-Level3", "id": 7}
    lines(tmp_path / "train_answers.jsonl", row, {**row, "answer": " "})
    (task,) = read(tmp_path, "train")
    assert (task.key, task.answer, task.solution) == ("train_answers/1", "2", "")
    assert task.details == {"level": 3, "id": "7"}
    lines(tmp_path / "train.jsonl", ROW)
    assert [task.key for task in read(tmp_path, "train")] == ["train/1"]


def test_an_unknown_level_is_none(tmp_path: Path) -> None:
    (task,) = read(lines(tmp_path / "own.jsonl", {**ROW, "level": "Level ?"}), "train")
    assert task.details["level"] is None


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**ROW, "problem": " "}, r"own.jsonl:1: expected a problem; the field 'problem' is empty"),
        ({**ROW, "solution": "It is 4."}, r"own.jsonl:1: expected field 'solution' to hold"),
        ({**ROW, "solution": 4}, r"own.jsonl:1: expected field 'solution' to be a str"),
        ({"prompt": "A?", "answer": ""}, "expected at least one problem with an answer"),
    ],
)
def test_a_bad_row_is_refused(tmp_path: Path, row: Any, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        read(lines(tmp_path / "own.jsonl", row), "train")


def test_a_bad_file_of_the_original_layout_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "algebra" / "1.json"
    file.parent.mkdir()
    for text, message in (("[1]", "got list"), ("{", "expected a JSON object")):
        file.write_text(text)
        with pytest.raises(SourceError, match=rf"1\.json:1: .*{message}"):
            read(tmp_path, "train")
