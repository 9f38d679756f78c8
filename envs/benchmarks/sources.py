"""Rows of a task source: JSON Lines, one JSON document, a folder of either, or a hub data set.

A source is a `.jsonl` or `.jsonl.gz` file; a folder that holds the original files (`train.jsonl`,
`test.jsonl`, either of them with `.gz`); or `hub:<id>`, where `hub:openai/gsm8k#main` names the
configuration `main`. `keyed_rows` reads documents, too: `[{...}, ...]`, or `{"examples": [{...},
...]}` as in BIG-bench. Every row comes with its place, so that an error can name file and line, or
file and row.

`split_sentences` cuts the paragraph of a problem into statements. It neither adds nor drops
anything: the sentences joined by spaces are the paragraph again, up to white space.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any, BinaryIO, TypeVar, cast, overload

from laconic.envs.errors import SettingError, SourceError, SplitError, install
from laconic.envs.task import Split, Task

HUB = "hub:"
"""Prefix of the name of a hub data set."""
FILES: Mapping[Split, str] = MappingProxyType({"train": "train", "evaluation": "test"})
"""Usual name of each split: a file without its ending, or a split of the hub."""

Row = dict[str, Any]
Documents = Mapping[Split, Sequence[str]]
"""Usual names of each split's JSON document in a folder."""
NO_DOCUMENTS: Documents = MappingProxyType({})
_TO_LINES = (
    "Write it as JSON Lines:"
    " pandas.{reader}({name!r}).to_json({lines!r}, orient='records', lines=True)"
)
_ARROW = "Write it as JSON Lines: datasets.Dataset.from_file({name!r}).to_json({lines!r})"
_PARQUET = ("a Parquet file", _TO_LINES.replace("{reader}", "read_parquet"))
_ENDINGS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        ".parquet": _PARQUET,
        ".arrow": ("an Arrow file", _ARROW),
        ".csv": ("a table in CSV", _TO_LINES.replace("{reader}", "read_csv")),
        ".tsv": ("a table in TSV", _TO_LINES.replace("{reader}", "read_table")),
    }
)
"""Name of the format and remedy, by the ending of a file in another format."""
_BEGINNINGS: Mapping[bytes, tuple[str, str]] = MappingProxyType(
    {
        b"PAR1": _PARQUET,
        b"ARROW1": ("an Arrow file", _ARROW),
        b"\xff\xff\xff\xff": ("an Arrow file", _ARROW),
        b"version https://git-lfs": (
            "a Git LFS pointer, not the data",
            "Fetch the data with git lfs pull",
        ),
        b"PK\x03\x04": ("a zip archive", "Unpack it and name a file within"),
        b"BZh": ("packed by bzip2", "Unpack it, or pack it with gzip"),
        b"\xfd7zXZ": ("packed by xz", "Unpack it, or pack it with gzip"),
        b"\x28\xb5\x2f\xfd": ("packed by zstd", "Unpack it, or pack it with gzip"),
        b"SQLite format 3": ("an SQLite database", "Write its rows as JSON Lines"),
        b"\xff\xfe": ("text in UTF-16", "Save it as UTF-8"),
        b"\xfe\xff": ("text in UTF-16", "Save it as UTF-8"),
        b"<!doctype html": ("a web page", "Download the file itself, not the page that shows it"),
        b"<html": ("a web page", "Download the file itself, not the page that shows it"),
    }
)
"""Other formats by the first bytes of a file, letters in lower case too."""
Value = TypeVar("Value")
_END = re.compile(r"[.?!][\"'”’)\]]*\s+(?=[\"'“‘(\[$]*[A-Z0-9])")
_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|Sr|Jr|St|Mt|No|vs|etc|e\.g|i\.e|[A-Z])\.$")
_CLOCK = re.compile(r"\b[ap]\.m\.$", re.IGNORECASE)
_NOT_A_START = re.compile(r"[\"'“‘(\[]*[0-9$]")


def rows(
    source: str | Path, split: Split = "evaluation", files: Mapping[Split, str] = FILES
) -> Iterator[tuple[str, Row]]:
    """Read a source row by row; blank lines are skipped.

    Args:
        source: a file, a folder, or `hub:<id>` or `hub:<id>#<configuration>`.
        split: file of a folder, or split of a hub data set, to read. A file is read whatever the
            split is.
        files: name of each split's file without ending, which is also its hub split.

    Yields:
        The place of the row (`file:line`, lines counted from 1) and the row itself.

    Raises:
        SourceError: the source is missing, unreadable or empty, or a row is no JSON object.
    """
    if str(source).startswith(HUB):
        pairs = _hub_rows(str(source), split, files)
    else:
        pairs = _file_rows(locate(source, split, files))
    empty = True
    for place, row in pairs:
        empty = False
        yield place, row
    if empty:
        raise SourceError(f"{source}: expected at least one row; the source is empty")


def keyed_rows(
    source: str | Path,
    split: Split,
    files: Mapping[Split, str] = FILES,
    documents: Documents = NO_DOCUMENTS,
) -> Iterator[tuple[Row, str, str]]:
    """Yield the rows of a source, each with its place and the key of its task, `<title>/<number>`.

    The title is a file's name without endings, or the split of the hub. Numbers start at 1.

    Args:
        source: a `.json` file, or any source of `rows`.
        split: file of a folder, or split of a hub data set, to read.
        files: name of each split's file, as in `rows`.
        documents: names that a split's document may have in a folder. They are tried where the
            folder has no JSON Lines of that split.

    Raises:
        SourceError: the source is missing, unreadable or empty, or a row is no JSON object.
    """
    path = _document(source, split, documents)
    title = path.stem if path else _title(source, split, files)
    pairs = document_rows(path) if path else rows(source, split, files)
    for number, (where, row) in enumerate(pairs, start=1):
        yield row, where, f"{title}/{number}"


def document_rows(path: Path) -> Iterator[tuple[str, Row]]:
    """Read the rows of a JSON document with their places, `file: row 1`.

    Raises:
        SourceError: the file is no such document, or has no rows.
    """
    _refuse_format(path)
    try:
        document = json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror or error}") from error
    except RecursionError as error:
        raise SourceError(f"{path}: expected rows of fields; it nests too deeply") from error
    except ValueError as error:
        # Text that is no UTF-8, or no JSON; the error has the byte, or line and column.
        raise SourceError(f"{path}: expected JSON in UTF-8; {error}") from error
    array = document.get("examples") if isinstance(document, dict) else document
    if not isinstance(array, list):
        raise SourceError(
            f"{path}: expected an array of rows, or an object with the field 'examples' that is"
            f" one; got {repr(document)[:80]}"
        )
    if not array:
        raise SourceError(f"{path}: expected at least one row; the source is empty")
    for index, row in enumerate(array, start=1):
        yield f"{path}: row {index}", _object(row, f"{path}: row {index}")


def locate(source: str | Path, split: Split, files: Mapping[Split, str] = FILES) -> Path:
    """Return the file that holds a split: the source itself, or a file of that folder.

    Raises:
        SplitError: the folder has no file of that split.
        SourceError: there is no such source.
    """
    path = Path(source).expanduser()
    if not path.exists():
        raise SourceError(
            f"{path}: no such file or folder.{_near(path.name, _names_in(path.parent))}"
            " Expected a .jsonl or .jsonl.gz file, a folder that holds the original files,"
            " or hub:<id>"
        )
    if not path.is_dir():
        return path
    stem = _stem(path, split, files)
    if file := jsonl(path, stem):
        return file
    names = _names_in(path)
    raise SplitError(
        f"{path}: expected {stem}.jsonl or {stem}.jsonl.gz for split {split!r};"
        f" the folder holds {', '.join(names[:10]) or 'nothing'}."
        f"{_split_advice(path, stem, names)}"
    )


def jsonl(folder: Path, stem: str) -> Path | None:
    """Return the JSON Lines of this name in a folder, packed or not; None where it has none."""
    paths = (folder / f"{stem}.jsonl", folder / f"{stem}.jsonl.gz")
    return next((path for path in paths if path.is_file()), None)


@overload
def field(row: Row, name: str, where: str) -> str: ...
@overload
def field(row: Row, name: str, where: str, kind: type[Value]) -> Value: ...
def field(row: Row, name: str, where: str, kind: type[Any] = str) -> Any:
    """Return a field of a row at a place; raise SourceError if it is missing or of another type."""
    if name not in row:
        raise SourceError(
            f"{where}: expected the field {name!r};"
            f" the row has {', '.join(map(repr, list(row)[:10])) or 'none'}.{_near(name, row)}"
        )
    value = row[name]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise SourceError(
            f"{where}: expected field {name!r} to be a {kind.__name__};"
            f" got {type(value).__name__} {repr(value)[:80]}"
        )
    return value


def filled(text: str, name: str, where: str, what: str = "question") -> str:
    """Return the text of the field `name`; raise SourceError if it is blank."""
    if not text.strip():
        raise SourceError(f"{where}: expected a {what}; the field {name!r} is empty")
    return text


def split_sentences(text: str) -> tuple[str, ...]:
    """Split a paragraph into its sentences, in order and stripped.

    A sentence ends in `.`, `?` or `!` before white space and a capital letter or a digit. A full
    stop inside a number, and one that belongs to a title, an initial or `a.m.`, does not end it.
    Text without letters gives no sentence.
    """
    sentences, start = [], 0
    for match in _END.finditer(text):
        end = match.end()
        if _ends(text[start:end].rstrip(), text[end : end + 4]):
            sentences.append(text[start:end])
            start = end
    return tuple(filter(None, (part.strip() for part in (*sentences, text[start:]))))


def split_question(text: str) -> tuple[tuple[str, ...], str]:
    """Split a word problem into its facts and the question at its end.

    The question begins with the last sentence that holds a question mark, together with question
    sentences right before it, and runs to the end. Without a question mark it is the last sentence.
    """
    sentences = split_sentences(text)
    asking = [index for index, sentence in enumerate(sentences) if "?" in sentence]
    start = asking[-1] if asking else len(sentences) - 1
    while start > 0 and "?" in sentences[start - 1]:
        start -= 1
    return sentences[: max(start, 0)], " ".join(sentences[max(start, 0) :])


def held_out(tasks: tuple[Task, ...], split: Split, share: float, seed: int) -> tuple[Task, ...]:
    """Draw the tasks of a split from a source without splits; return them in their order.

    Each split has at least one task.

    Args:
        tasks: all tasks of the source.
        split: `evaluation` for the share that is drawn, `train` for the rest.
        share: part of the tasks that is drawn, between 0 and 1; it is rounded to whole tasks.
        seed: seed of the draw. Texts do not matter, so equal tasks may fall in both splits.

    Raises:
        SettingError: there are fewer than two tasks.
    """
    if len(tasks) < 2:
        raise SettingError(f"env.holdout={share} needs two tasks to part; got {len(tasks)}")
    count = min(max(round(share * len(tasks)), 1), len(tasks) - 1)
    places = {*Random(seed).sample(range(len(tasks)), count)}
    evaluation = split == "evaluation"
    return tuple(task for place, task in enumerate(tasks) if (place in places) == evaluation)


def _split_advice(folder: Path, stem: str, names: Sequence[str]) -> str:
    """Return advice for a file of a split that has another name, format or folder."""
    files = sorted((*folder.glob(f"{stem}*"), *folder.glob(f"*/{stem}*")))
    for file in files:
        if file.suffix in _ENDINGS:
            form, advice = _ENDINGS[file.suffix]
            lines = str(folder / f"{stem}.jsonl")
            return f" {file.name} is {form}. {advice.format(name=str(file), lines=lines)}"
    if near := _near(f"{stem}.jsonl", names):
        return near
    readable = [file for file in files if file.name.endswith((".jsonl", ".jsonl.gz", ".json"))]
    return f" Name a file itself: env.source={readable[0]}" if readable else ""


def _refuse_format(path: Path) -> None:
    """Raise SourceError where a file is known to be in another format."""
    try:
        with path.open("rb") as file:
            first = file.read(32)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror or error}") from error
    by_bytes = (
        form
        for beginning, form in _BEGINNINGS.items()
        if first.startswith(beginning) or first.lstrip().lower().startswith(beginning)
    )
    form = next(by_bytes, _ENDINGS.get(path.suffix))
    if form is not None:
        lines = str(path.with_suffix(".jsonl"))
        advice = form[1].format(name=str(path), lines=lines)
        raise SourceError(f"{path}: expected JSON Lines in UTF-8; it is {form[0]}. {advice}")


def _file_rows(path: Path) -> Iterator[tuple[str, Row]]:
    _refuse_format(path)
    line = 0
    try:
        opened = gzip.open(path) if path.suffix == ".gz" else path.open("rb")
        with cast(BinaryIO, opened) as file:
            for line, raw in enumerate(file, start=1):
                where = f"{path}:{line}"
                text = _decoded(raw.removeprefix(b"\xef\xbb\xbf") if line == 1 else raw, where)
                if text.strip():
                    yield where, _parsed(text, where)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise SourceError(
            f"{path}:{line + 1}: expected gzip data; {error}. Fetch or pack the file again"
        ) from error
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror or error}") from error


def _decoded(raw: bytes, where: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        packed = raw.startswith(b"\x1f\x8b")
        advice = "It looks packed: name the file .gz" if packed else "Save the file as UTF-8"
        raise SourceError(
            f"{where}: expected UTF-8; byte {raw[error.start]:#04x} at column {error.start + 1}"
            f" is not. {advice}"
        ) from error


def _parsed(text: str, where: str) -> Row:
    document = text.lstrip().startswith("[") or text.strip() == "{"
    advice = ". If the file is one JSON document, name it .json" if document else ""
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceError(
            f"{where}: expected one JSON object a line; {error}; got {text.strip()[:80]!r}{advice}"
        ) from error
    return _object(row, where, advice)


def _object(row: object, where: str, advice: str = "") -> Row:
    if not isinstance(row, dict):
        raise SourceError(
            f"{where}: expected a JSON object; got {type(row).__name__} {repr(row)[:80]}{advice}"
        )
    return row


def _document(source: str | Path, split: Split, documents: Documents) -> Path | None:
    """Return the JSON document that a source is or holds; None where `rows` reads the source."""
    path = Path(source).expanduser()
    if str(source).startswith(HUB) or not path.is_dir():
        return path if path.suffix == ".json" and path.exists() else None
    if jsonl(path, str(FILES.get(split))):
        return None
    paths = (path / name for name in documents.get(split, ()))
    return next((file for file in paths if file.is_file()), None)


def _hub_rows(source: str, split: Split, files: Mapping[Split, str]) -> Iterator[tuple[str, Row]]:
    name, _, config = source.removeprefix(HUB).partition("#")
    if not name:
        raise SourceError(f"{source!r}: expected a data set's id, such as hub:openai/gsm8k#main")
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise SourceError(
            f"{source}: reading from the hub needs the extra 'hub':"
            f" {install('hub')}. A local file or folder needs nothing"
        ) from error
    stem = _stem(source, split, files)
    try:
        data: Iterable[Row] = load_dataset(name, config or None, split=stem)
    except Exception as error:
        # The library raises dozens of kinds; for the caller each means that the source is bad.
        # A split that is not there is a ValueError.
        kind = SplitError if isinstance(error, ValueError) else SourceError
        raise kind(
            f"{source}: split {stem!r} could not be loaded: {type(error).__name__}: {error}"
        ) from error
    for index, row in enumerate(data, start=1):
        yield f"{source}:{index}", dict(row)


def _title(source: str | Path, split: Split, files: Mapping[Split, str]) -> str:
    if str(source).startswith(HUB):
        return _stem(source, split, files)
    return locate(source, split, files).name.removesuffix(".gz").removesuffix(".jsonl")


def _stem(source: str | Path, split: Split, files: Mapping[Split, str]) -> str:
    if split not in files:
        splits = ", ".join(map(repr, files))
        raise SourceError(f"{source}: there is no split {split!r} here; expected one of {splits}")
    return files[split]


def _names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def _near(name: str, names: Iterable[str]) -> str:
    near = get_close_matches(name, list(names), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _ends(sentence: str, following: str) -> bool:
    """Return whether a candidate ends a sentence, rather than a title or `a.m.`."""
    if _TITLE.search(sentence):
        return False
    return not (_CLOCK.search(sentence) and _NOT_A_START.match(following))
