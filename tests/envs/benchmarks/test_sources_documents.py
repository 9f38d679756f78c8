from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from laconic.envs.benchmarks.sources import document_rows, keyed_rows
from laconic.envs.errors import SourceError

ROWS = [{"a": "x\ny"}, {"a": [1, {"b": 2}]}]


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def opened(source: Any, part: Any = "evaluation", **documents: Any) -> tuple[str, list[Any]]:
    records = list(keyed_rows(source, part, documents=documents))
    titles = {key.rpartition("/")[0] for *_, key in records}
    return titles.pop(), [row for row, *_ in records]


def test_an_array_is_read_with_the_number_of_each_row(tmp_path: Path) -> None:
    file = write(tmp_path / "own.json", '\ufeff[ {"a": 1},\n\n {"a":\n 2}\n, {"a": 3}]\n')
    assert list(document_rows(file)) == [
        (f"{file}: row 1", {"a": 1}),
        (f"{file}: row 2", {"a": 2}),
        (f"{file}: row 3", {"a": 3}),
    ]


@pytest.mark.parametrize("indent", [None, 2])
def test_the_examples_of_a_task_are_read_wherever_they_stand(tmp_path: Path, indent: Any) -> None:
    whole = {"canary": "c", "more": {"examples": [0]}, "examples": ROWS, "end": [1]}
    file = write(tmp_path / "task.json", json.dumps(whole, indent=indent))
    assert [row for _, row in document_rows(file)] == ROWS
    assert next(document_rows(file))[0] == f"{file}: row 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"expected JSON in UTF-8; Expecting value: line 1"),
        ("3", "expected an array of rows, or an object with the field 'examples'.*; got 3"),
        ("{}", "expected an array of rows"),
        ('{"examples": 3}', "expected an array of rows"),
        ("[]", "expected at least one row; the source is empty"),
        ('{"examples": []}', "expected at least one row; the source is empty"),
        ('[{"a": 1},\n 3]', r"own.json: row 2: expected a JSON object; got int 3"),
        ('[{"a": 1},\n {"a": }]', r"own.json: expected JSON in UTF-8; .* line 2 column 8"),
        ('[{"a": 1}\n {"a": 1}]', r"expected JSON in UTF-8; Expecting ',' .* line 2"),
        ('[{"a": 1},\n', r"expected JSON in UTF-8; .* line"),
        ("[" * 10**5, "nests too deeply"),
    ],
)
def test_a_bad_document_is_refused_with_its_row_or_line(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(SourceError, match=message):
        list(document_rows(write(tmp_path / "own.json", text)))


def test_bytes_that_are_no_text_are_refused_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_bytes(b'[\n{"a": "\xff"}]')
    message = r"own.json: expected JSON in UTF-8; .*can't decode byte 0xff in position 9"
    with pytest.raises(SourceError, match=message):
        list(document_rows(tmp_path / "own.json"))


def test_a_folder_is_read_by_json_lines_first_and_then_by_known_names(tmp_path: Path) -> None:
    write(tmp_path / "known.json", json.dumps(ROWS))
    assert opened(tmp_path, evaluation=("other.json", "known.json"))[0] == "known"
    with pytest.raises(SourceError, match="expected train.jsonl"):
        opened(tmp_path, "train", evaluation=("known.json",))
    write(tmp_path / "test.jsonl", '{"a": 1}\n')
    assert opened(tmp_path, evaluation=("known.json",)) == ("test", [{"a": 1}])


def test_a_missing_document_is_told_like_any_missing_source(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file or folder"):
        opened(tmp_path / "none.json")
