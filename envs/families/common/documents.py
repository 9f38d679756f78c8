"""Rows of a source that is one JSON document, as some data sets come: an array, or `examples`.

Read are `[{...}, ...]` and `{"examples": [{...}, ...], ...}` (the form of BIG-bench). Every row
comes with the line on which it begins, as the rows of JSON Lines do; those, folders of them and
data sets of the hub are left to `envs.families.common.sources`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from laconic.envs.errors import SourceError
from laconic.envs.families.common import sources
from laconic.envs.families.common.sources import Row
from laconic.envs.task import Split

Documents = Mapping[Split, Sequence[str]]
"""The usual names of each part's document in a folder."""
_DECODER = json.JSONDecoder()
_SPACE = " \t\r\n"


def open_source(
    source: str | Path, split: Split, documents: Documents
) -> tuple[str, Iterator[tuple[str, Row]]]:
    """The title of a source, for task keys, and its rows with their places.

    Args:
        source: a `.json` file, or whatever `envs.families.common.sources.rows` reads.
        split: which file of a folder, or split of a hub data set, to read.
        documents: names that a part's document may have in a folder; they are looked for where
            the folder has no JSON Lines of that part.

    Raises:
        SourceError: the source is missing, unreadable or empty, or a row is no JSON object.
    """
    path = _document(source, split, documents)
    if path is None:
        return sources.title(source, split), sources.rows(source, split)
    return path.stem, document_rows(path)


def document_rows(path: Path) -> Iterator[tuple[str, Row]]:
    """The rows of one JSON document, with their places `file:line`.

    Raises:
        SourceError: the file is no such document, or has no rows.
    """
    text = _text(path)
    empty = True
    line, counted = 1, 0
    try:
        for start, row in _elements(text, _first_row(text, path)):
            line, counted = line + text.count("\n", counted, start), start
            if not isinstance(row, dict):
                raise SourceError(
                    f"{path}:{line}: expected a JSON object;"
                    f" got {type(row).__name__} {repr(row)[:80]}"
                )
            empty = False
            yield f"{path}:{line}", row
    except json.JSONDecodeError as error:
        raise SourceError(f"{path}:{error.lineno}: expected JSON; {error}") from error
    except RecursionError as error:
        raise SourceError(f"{path}: expected rows of fields; it nests too deeply") from error
    if empty:
        raise SourceError(f"{path}: expected at least one row; the source is empty")


def _document(source: str | Path, split: Split, documents: Documents) -> Path | None:
    if str(source).startswith(sources.HUB):
        return None
    path = Path(source)
    if path.is_dir():
        lines = (path / f"{sources.FILES.get(split)}{end}" for end in (".jsonl", ".jsonl.gz"))
        if any(file.is_file() for file in lines):
            return None
        found = (path / name for name in documents.get(split, ()))
        return next((file for file in found if file.is_file()), None)
    return path if path.suffix == ".json" and path.exists() else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise SourceError(
            f"{path}:{line}: expected UTF-8; byte {error.object[error.start]:#04x} is not."
            " Save the file as UTF-8"
        ) from error


def _first_row(text: str, path: Path) -> int:
    """Where the array of rows begins, behind its bracket."""
    place = _skip(text, 0)
    if text[place : place + 1] == "[":
        return place + 1
    if text[place : place + 1] == "{":
        place = _skip(text, place + 1)
        while text[place : place + 1] == '"':
            name, place = _DECODER.raw_decode(text, place)
            place = _skip(text, _expect(text, _skip(text, place), ":"))
            if name == "examples" and text[place : place + 1] == "[":
                return place + 1
            place = _skip(text, _DECODER.raw_decode(text, place)[1])
            place = _skip(text, place + 1) if text[place : place + 1] == "," else place
    raise SourceError(
        f"{path}: expected an array of rows, or an object with the field 'examples' that is one;"
        f" got {text[:80]!r}"
    )


def _elements(text: str, place: int) -> Iterator[tuple[int, object]]:
    """The values of an array and where each begins."""
    place = _skip(text, place)
    while text[place : place + 1] != "]":
        value, end = _DECODER.raw_decode(text, place)
        yield place, value
        place = _skip(text, end)
        if text[place : place + 1] != "]":
            place = _skip(text, _expect(text, place, ","))


def _expect(text: str, place: int, sign: str) -> int:
    if text[place : place + 1] != sign:
        raise json.JSONDecodeError(f"Expecting {sign!r}", text, place)
    return place + 1


def _skip(text: str, place: int) -> int:
    while text[place : place + 1] and text[place] in _SPACE:
        place += 1
    return place
