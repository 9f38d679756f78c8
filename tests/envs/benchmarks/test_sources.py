from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from laconic.envs.benchmarks.sources import field, filled, keyed_rows, rows
from laconic.envs.errors import SourceError

ROW = {"question": "How many?", "answer": "#### 1"}


def test_a_file_gives_its_rows_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl"
    file.write_text('{"a": 1}\n\n{"a": 2}\n')
    assert list(rows(file)) == [(f"{file}:1", {"a": 1}), (f"{file}:3", {"a": 2})]


def test_a_packed_file_gives_its_rows(tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl.gz"
    file.write_bytes(gzip.compress(json.dumps(ROW).encode()))
    assert list(rows(file)) == [(f"{file}:1", ROW)]


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"a": "\xc3\xa9"}')
    assert list(rows(file)) == [(f"{file}:1", {"a": "é"})]


def test_a_folder_gives_the_file_of_the_part(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl.gz").write_bytes(gzip.compress(b'{"a": "train"}'))
    (tmp_path / "test.jsonl").write_text('{"a": "test"}')
    assert [row["a"] for _, row in rows(tmp_path, "train")] == ["train"]
    assert [row["a"] for _, row in rows(tmp_path, "evaluation")] == ["test"]
    (train,), (test,) = keyed_rows(tmp_path, "train"), keyed_rows(tmp_path, "evaluation")
    assert train == ({"a": "train"}, f"{tmp_path / 'train.jsonl.gz'}:1", "train/1")
    assert test == ({"a": "test"}, f"{tmp_path / 'test.jsonl'}:1", "test/1")


def test_a_benchmark_may_name_its_files(tmp_path: Path) -> None:
    (tmp_path / "validation.jsonl").write_text('{"a": 1}')
    assert len(list(rows(tmp_path, "train", {"train": "validation"}))) == 1
    with pytest.raises(SourceError, match="no split 'evaluation'"):
        list(rows(tmp_path, "evaluation", {"train": "validation"}))


def refusal(source: str | Path, part: Any = "evaluation") -> str:
    with pytest.raises(SourceError) as caught:
        list(rows(source, part))
    return str(caught.value)


def test_a_missing_source_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text("{}")
    message = refusal(tmp_path / "tset.jsonl")
    assert "tset.jsonl: no such file or folder" in message
    assert "Did you mean 'test.jsonl'?" in message


def test_a_folder_without_the_part_is_refused_with_what_was_expected(tmp_path: Path) -> None:
    (tmp_path / "tests.jsonl").write_text("{}")
    message = refusal(tmp_path)
    assert "expected test.jsonl or test.jsonl.gz" in message
    assert "holds tests.jsonl" in message
    assert "Did you mean 'tests.jsonl'?" in message


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    assert "the folder holds nothing" in refusal(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_an_empty_file_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "some.jsonl"
    file.write_bytes(content)
    assert f"{file}: expected at least one row" in refusal(file)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{'a': 1}", "expected one JSON object a line"),
        (b"question,answer", "expected one JSON object a line"),
        (b"[" * 100_000, "expected one JSON object a line"),
        (b"[1, 2]", "expected a JSON object; got list"),
        (b'"text"', "expected a JSON object; got str"),
        (b'{"a": "\xff"}', "expected UTF-8; byte 0xff at column 8"),
    ],
    ids=["quotes", "table", "depth", "list", "string", "bytes"],
)
def test_a_line_that_is_no_row_is_refused_with_its_number(
    tmp_path: Path, line: bytes, words: str
) -> None:
    file = tmp_path / "some.jsonl"
    file.write_bytes(b'{"a": 1}\n' + line + b"\n")
    message = refusal(file)
    assert f"{file}:2: " in message
    assert words in message
    assert len(message) < 600


def test_a_packed_file_without_the_ending_is_recognised(tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl"
    file.write_bytes(gzip.compress(b"{}"))
    assert "name the file .gz" in refusal(file)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "test.parquet",
            b"PAR1\x15\x04",
            "it is a Parquet file. Write it as JSON Lines: pandas.read_parquet('{file}')"
            ".to_json('{lines}', orient='records', lines=True)",
        ),
        ("rows.jsonl", b"PAR1\x15\x04", "it is a Parquet file"),
        (
            "data.arrow",
            b"\xff\xff\xff\xff\x98",
            "it is an Arrow file. Write it as JSON Lines: datasets.Dataset.from_file('{file}')"
            ".to_json('{lines}')",
        ),
        ("data.feather", b"ARROW1\x00\x00", "it is an Arrow file"),
        (
            "rows.csv",
            b"question,answer\n1,2\n",
            "it is a table in CSV. Write it as JSON Lines: pandas.read_csv(",
        ),
        (
            "rows.tsv",
            b"question\tanswer\n",
            "it is a table in TSV. Write it as JSON Lines: pandas.read_table(",
        ),
        (
            "test.jsonl",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n",
            "it is a Git LFS pointer, not the data. Fetch the data with git lfs pull",
        ),
        ("test.jsonl", b"PK\x03\x04\x14", "it is a zip archive. Unpack it"),
        ("test.jsonl.zst", b"\x28\xb5\x2f\xfd\x04", "it is packed by zstd. Unpack it"),
        ("test.jsonl.bz2", b"BZh91AY", "it is packed by bzip2. Unpack it"),
        ("test.jsonl.xz", b"\xfd7zXZ\x00", "it is packed by xz. Unpack it"),
        ("test.jsonl", "{}".encode("utf-16"), "it is text in UTF-16. Save it as UTF-8"),
        ("test.jsonl", b"\n<!DOCTYPE html>\n<html>", "it is a web page. Download the file itself"),
        ("test.db", b"SQLite format 3\x00", "it is an SQLite database"),
    ],
)
def test_a_file_of_another_format_is_named_with_what_to_do(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    message = refusal(file)
    assert message.startswith(f"{file}: expected JSON Lines in UTF-8; ")
    assert words.format(file=file, lines=file.with_suffix(".jsonl")) in message
    assert "\n" not in message


def test_a_json_document_of_another_format_is_named_too(tmp_path: Path) -> None:
    file = tmp_path / "task.json"
    file.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(SourceError, match="it is a Git LFS pointer"):
        list(keyed_rows(file, "evaluation"))


@pytest.mark.parametrize(
    "text", ['[{"a": 1}]', '[\n{"a": 1},\n{"a": 2}\n]', '{\n "examples": []\n}']
)
def test_a_document_that_is_named_as_json_lines_is_to_be_renamed(tmp_path: Path, text: str) -> None:
    file = tmp_path / "own.jsonl"
    file.write_text(text)
    message = refusal(file)
    assert message.startswith(f"{file}:1: expected ")
    assert message.endswith(". If the file is one JSON document, name it .json")
    if text.startswith("["):
        # It does as it says.
        renamed = file.rename(tmp_path / "own.json")
        assert next(keyed_rows(renamed, "evaluation"))[0] == {"a": 1}


@pytest.mark.parametrize("within", ["", "data/"])
def test_a_folder_with_a_file_of_another_format_or_name_says_what_to_do(
    tmp_path: Path, within: str
) -> None:
    (tmp_path / within).mkdir(exist_ok=True)
    file = tmp_path / f"{within}test-00000-of-00001.jsonl"
    file.write_text("{}\n")
    assert refusal(tmp_path).endswith(f" Name a file itself: env.source={file}")
    file = file.rename(file.with_suffix(".parquet"))
    message = refusal(tmp_path)
    assert "expected test.jsonl or test.jsonl.gz" in message
    assert (
        "test-00000-of-00001.parquet is a Parquet file. Write it as JSON Lines:"
        f" pandas.read_parquet('{file}').to_json('{tmp_path}/test.jsonl'"
    ) in message
    # A file of the other split is none of this one.
    assert "parquet is" not in refusal(tmp_path, "train")


def test_a_broken_archive_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl.gz"
    file.write_bytes(b"{}")
    assert f"{file}:1: expected gzip data" in refusal(file)
    lines = "".join(json.dumps(ROW | {"id": index}) + "\n" for index in range(9999))
    packed = gzip.compress(lines.encode())
    file.write_bytes(packed[:-20])
    assert "expected gzip data" in refusal(file)
    file.write_bytes(packed[:200] + b"\x00" * 200 + packed[400:])
    assert "expected gzip data" in refusal(file)


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    assert "no split 'dev'" in refusal(tmp_path, "dev")


def test_a_field_has_its_type() -> None:
    assert field(ROW, "question", "f:1") == "How many?"
    assert field({"a": [1]}, "a", "f:1", list) == [1]


def test_a_missing_field_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(SourceError, match=r"f:1: expected the field 'question'.*'Question'\?"):
        field({"Question": "x"}, "question", "f:1")
    with pytest.raises(SourceError, match="the row has none"):
        field({}, "question", "f:1")


@pytest.mark.parametrize("value", [None, 3, ["x"]])
def test_a_field_of_another_type_is_refused(value: object) -> None:
    with pytest.raises(SourceError, match="f:1: expected field 'question' to be a str; got"):
        field({"question": value}, "question", "f:1")


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_blank_text_is_refused(text: str) -> None:
    assert filled(" x ", "input", "f:1") == " x "
    with pytest.raises(SourceError, match="f:1: expected a post; the field 'input' is empty"):
        filled(text, "input", "f:1", "post")


def test_a_truth_value_is_no_number() -> None:
    with pytest.raises(SourceError, match="got bool True"):
        field({"level": True}, "level", "f:1", int)


def test_the_hub_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert "laconic-marl[hub]" in refusal("hub:openai/gsm8k#main")


def test_the_hub_is_read_by_id_configuration_and_split(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, ...]] = []

    def load_dataset(name: str, config: str | None, *, split: str) -> list[dict[str, Any]]:
        calls.append((name, config, split))
        return [ROW]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    assert list(rows("hub:openai/gsm8k#main")) == [("hub:openai/gsm8k#main:1", ROW)]
    assert list(rows("hub:other", "train")) == [("hub:other:1", ROW)]
    assert calls == [("openai/gsm8k", "main", "test"), ("other", None, "train")]
    assert [key for *_, key in keyed_rows("hub:openai/gsm8k#main", "evaluation")] == ["test/1"]


def test_what_the_hub_refuses_is_a_source_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def load_dataset(*_: Any, **__: Any) -> None:
        raise FileNotFoundError("no data set 'other'")

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    assert "FileNotFoundError: no data set 'other'" in refusal("hub:other")
    assert "expected a data set's id" in refusal("hub:")
