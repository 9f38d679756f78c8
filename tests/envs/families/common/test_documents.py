from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from laconic.envs.errors import SourceError
from laconic.envs.families.common.documents import document_rows, open_source

ROWS = [{"a": "x\ny"}, {"a": [1, {"b": 2}]}]


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def opened(source: Any, part: Any = "evaluation", **documents: Any) -> tuple[str, list[Any]]:
    title, rows = open_source(source, part, documents)
    return title, list(rows)


def test_an_array_is_read_with_the_line_of_each_row(tmp_path: Path) -> None:
    file = write(tmp_path / "own.json", '\ufeff[ {"a": 1},\n\n {"a":\n 2}\n, {"a": 3}]\n')
    assert list(document_rows(file)) == [
        (f"{file}:1", {"a": 1}),
        (f"{file}:3", {"a": 2}),
        (f"{file}:5", {"a": 3}),
    ]


@pytest.mark.parametrize("indent", [None, 2])
def test_the_examples_of_a_task_are_read_wherever_they_stand(tmp_path: Path, indent: Any) -> None:
    whole = {"canary": "c", "more": {"examples": [0]}, "examples": ROWS, "end": [1]}
    file = write(tmp_path / "task.json", json.dumps(whole, indent=indent))
    assert [row for _, row in document_rows(file)] == ROWS
    # The keys before it: brace, canary, more, its examples over three lines, its end; so line 8.
    assert next(document_rows(file))[0] == f"{file}:{1 if indent is None else 9}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1: expected|expected an array of rows"),
        ("3", "expected an array of rows, or an object with the field 'examples'"),
        ("{}", "expected an array of rows"),
        ('{"examples": 3}', "expected an array of rows"),
        ("[]", "expected at least one row; the source is empty"),
        ('[{"a": 1},\n 3]', r":2: expected a JSON object; got int 3"),
        ('[{"a": 1},\n {"a": }]', r":2: expected JSON; "),
        ('[{"a": 1}\n {"a": 1}]', r":2: expected JSON; Expecting ','"),
        ('[{"a": 1},\n', r":2: expected JSON"),
        ("[" * 10**5, "nests too deeply"),
    ],
)
def test_a_bad_document_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        list(document_rows(write(tmp_path / "own.json", text)))


def test_bytes_that_are_no_text_are_refused_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_bytes(b'[\n{"a": "\xff"}]')
    with pytest.raises(SourceError, match=r"own.json:2: expected UTF-8; byte 0xff"):
        list(document_rows(tmp_path / "own.json"))


def test_a_folder_is_read_by_json_lines_first_and_then_by_known_names(tmp_path: Path) -> None:
    write(tmp_path / "known.json", json.dumps(ROWS))
    assert opened(tmp_path, evaluation=("other.json", "known.json"))[0] == "known"
    with pytest.raises(SourceError, match="expected train.jsonl"):
        opened(tmp_path, "train", evaluation=("known.json",))
    write(tmp_path / "test.jsonl", '{"a": 1}\n')
    title, rows = opened(tmp_path, evaluation=("known.json",))
    assert (title, [row for _, row in rows]) == ("test", [{"a": 1}])


def test_a_missing_document_is_told_like_any_missing_source(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file or folder"):
        opened(tmp_path / "none.json")
