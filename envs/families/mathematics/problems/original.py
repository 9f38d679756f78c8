r"""Reading the original problems, in the forms in which they are handed around.

MATH (Hendrycks et al., arXiv:2103.03874): JSON Lines of `problem`, `level` ("Level 5"), `type` and
`solution`, whose last `\boxed{}` holds the answer; or the distribution's own layout, a folder per
split and subject with one such object per file. MATH-500 (Lightman et al., arXiv:2305.20050) adds
`answer` and calls the type `subject`. The answers-only form has `prompt`, `answer`, `source` and
`id`; a few of its rows have an empty answer and are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from laconic.envs.errors import SourceError
from laconic.envs.families.common.sources import FILES, HUB, Row, field, rows, title
from laconic.envs.families.mathematics.grading.boxed import commitment
from laconic.envs.families.mathematics.problems.statements import cut
from laconic.envs.task import Split, Task

ANSWERS_ONLY: Mapping[Split, str] = MappingProxyType({**FILES, "train": "train_answers"})
"""File names of a folder that has the training problems without their solutions."""
_LEVEL = re.compile(r"(?:Level |MATH-Level)?(?P<level>[1-5])")


def read(source: str | Path, split: Split) -> tuple[Task, ...]:
    """All problems of a split.

    Args:
        source: a file, a folder or `hub:<id>`; a folder holds `train.jsonl` (or
            `train_answers.jsonl`) and `test.jsonl`, any of them with `.gz`, or the folders
            `train` and `test` with a folder per subject.
        split: which file of a folder, or split of a hub data set, to read.

    Raises:
        SourceError: the source is missing or empty, or a row cannot be read.
    """
    folder = _part_folder(source, split)
    found = _objects(folder) if folder else _numbered(source, split)
    tasks = tuple(task for key, where, row in found if (task := _task(row, where, key)))
    if not tasks:
        raise SourceError(f"{source}: expected at least one problem with an answer; found none")
    return tasks


def _part_folder(source: str | Path, split: Split) -> Path | None:
    """The folder of a split in the original distribution's layout; None for any other source."""
    if str(source).startswith(HUB) or split not in FILES:
        return None
    for folder in (Path(source) / FILES[split], Path(source)):
        if folder.is_dir() and next(folder.glob("*/*.json"), None):
            # A folder over both splits is not read as one of them.
            return None if {*FILES.values()} & {one.name for one in folder.iterdir()} else folder
    return None


def _objects(folder: Path) -> Iterator[tuple[str, str, Row]]:
    """Each file of the original layout: its key, its name and what it holds."""
    files = sorted(folder.glob("*/*.json"), key=lambda one: (one.parent.name, _order(one.stem)))
    for file in files:
        try:
            row = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise SourceError(f"{file}:1: expected a JSON object; {error}") from error
        if not isinstance(row, dict):
            raise SourceError(f"{file}:1: expected a JSON object; got {type(row).__name__}")
        yield f"{folder.name}/{file.parent.name}/{file.stem}", f"{file}:1", row


def _order(stem: str) -> tuple[int, str]:
    return (int(stem), "") if stem.isdecimal() else (0, stem)


def _numbered(source: str | Path, split: Split) -> Iterator[tuple[str, str, Row]]:
    files = FILES
    if split == "train" and Path(source).is_dir():
        usual = any((Path(source) / f"train.jsonl{end}").exists() for end in ("", ".gz"))
        others = any((Path(source) / f"train_answers.jsonl{end}").exists() for end in ("", ".gz"))
        files = ANSWERS_ONLY if others and not usual else FILES
    name = title(source, split, files)
    for index, (where, row) in enumerate(rows(source, split, files), start=1):
        yield f"{name}/{index}", where, row


def _task(row: Row, where: str, key: str) -> Task | None:
    """The task of a row; None for a row of the answers-only form without an answer."""
    answers_only = "prompt" in row and "problem" not in row
    answer: str | None
    problem = field(row, "prompt" if answers_only else "problem", where)
    if not problem.strip():
        name = "prompt" if answers_only else "problem"
        raise SourceError(f"{where}: expected a problem; the field {name!r} is empty")
    solution = "" if answers_only else field(row, "solution", where)
    answer = field(row, "answer", where) if "answer" in row or answers_only else _boxed(solution)
    answer = (answer or "").strip()
    if answers_only and not answer:
        return None
    if not answer:
        raise SourceError(
            rf"{where}: expected field 'solution' to hold its answer in a \boxed{{}}, or a field"
            f" 'answer'; got {solution[-80:]!r}"
        )
    statements, question = cut(problem)
    return Task(
        key,
        question,
        statements,
        answer,
        solution=solution,
        commitment=rf"\boxed{{{answer}}}",
        whole=problem,
        details=_details(row, where),
    )


def _boxed(solution: str) -> str | None:
    found = commitment(solution)
    return found[1] if found else None


def _details(row: Row, where: str) -> dict[str, Any]:
    """What is known of a problem: level (1 to 5), subject, and its name in the data set."""
    details: dict[str, Any] = {}
    said = row.get("level", row.get("source"))
    if said is not None:
        found = _LEVEL.fullmatch(str(said))
        # Two of the original problems have the level `Level ?`.
        details["level"] = int(found["level"]) if found else None
    subject = row.get("subject", row.get("type"))
    if subject is not None:
        details["subject"] = str(subject)
    name = row.get("unique_id", row.get("id"))
    if name is not None:
        details["id"] = str(name)
    return details
