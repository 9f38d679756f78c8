r"""Reading of the original problems, in the file formats in which they are distributed.

MATH (Hendrycks et al., arXiv:2103.03874): JSON Lines of `problem`, `level` ("Level 5"), `type` and
`solution`, whose last `\boxed{}` holds the answer; or the distribution's own layout, a folder per
split and subject with one such object per file. MATH-500 (Lightman et al., arXiv:2305.20050) adds
`answer` and calls the type `subject`. The answers-only form has `prompt`, `answer`, `source` and
`id`; a few of its rows have an empty answer and are left out.

A problem is cut into its conditions and its question. Formulas (`$...$`, `\[...\]`), figures
(`[asy]`) and environments are never cut; a full stop at a formula's end ends the sentence. If the
marks of formulas do not pair up, the problem stays whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from laconic.envs.benchmarks.sources import (
    FILES,
    Row,
    field,
    filled,
    jsonl,
    keyed_rows,
    split_sentences,
)
from laconic.envs.errors import SourceError
from laconic.envs.library.math.grading.boxed import commitment
from laconic.envs.task import Split, Task

ANSWERS_ONLY: Mapping[Split, str] = MappingProxyType({**FILES, "train": "train_answers"})
"""File names of a folder that has the training problems without their solutions."""
_LEVEL = re.compile(r"(?:Level |MATH-Level)?(?P<level>[1-5])")


def keyed(source: str | Path, split: Split) -> Iterator[tuple[Row, str, str]]:
    """Yield the rows of a source, each with its place and the key of its task.

    Args:
        source: a file, a folder or `hub:<id>`; a folder holds `train.jsonl` (or
            `train_answers.jsonl`) and `test.jsonl`, any of them with `.gz`, or the folders
            `train` and `test` with a folder per subject.
        split: file of a folder, or split of a hub data set, to read.

    Raises:
        SourceError: the source is missing or empty, or a row cannot be read.
    """
    if folder := _split_folder(source, split):
        return _objects(folder)
    path = Path(source)
    answers = split == "train" and jsonl(path, "train_answers") and not jsonl(path, "train")
    return keyed_rows(source, split, ANSWERS_ONLY if answers else FILES)


def _split_folder(source: str | Path, split: Split) -> Path | None:
    """Return the folder of a split in the original distribution's layout; None for others."""
    if split not in FILES:
        return None
    for folder in (Path(source) / FILES[split], Path(source)):
        if folder.is_dir() and next(folder.glob("*/*.json"), None):
            # A folder over both splits is not read as one of them.
            return None if {*FILES.values()} & {path.name for path in folder.iterdir()} else folder
    return None


def _objects(folder: Path) -> Iterator[tuple[Row, str, str]]:
    """Yield each file of the original layout: its content, name and key."""
    files = sorted(folder.glob("*/*.json"), key=lambda path: (path.parent.name, _order(path.stem)))
    for file in files:
        try:
            row = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise SourceError(f"{file}:1: expected a JSON object; {error}") from error
        if not isinstance(row, dict):
            raise SourceError(f"{file}:1: expected a JSON object; got {type(row).__name__}")
        yield row, f"{file}:1", f"{folder.name}/{file.parent.name}/{file.stem}"


def _order(stem: str) -> tuple[int, str]:
    return (int(stem), "") if stem.isdecimal() else (0, stem)


def read(row: Row, where: str, key: str) -> Task | None:
    """Return the task of a row; None for a row of the answers-only form without an answer."""
    answers_only = "prompt" in row and "problem" not in row
    name = "prompt" if answers_only else "problem"
    problem = filled(field(row, name, where), name, where, "problem")
    solution = "" if answers_only else field(row, "solution", where)
    boxed = commitment(solution) or ("", "")
    text = field(row, "answer", where) if "answer" in row or answers_only else boxed[1]
    answer = text.strip()
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
        answer_text=rf"\boxed{{{answer}}}",
        source_text=problem,
        details=_details(row, where),
    )


def _details(row: Row, where: str) -> dict[str, Any]:
    """Return the known details: level (1 to 5), subject, and name in the data set."""
    values = {
        "level": row.get("level", row.get("source")),
        "subject": row.get("subject", row.get("type")),
        "id": row.get("unique_id", row.get("id")),
    }
    details: dict[str, Any] = {key: str(text) for key, text in values.items() if text is not None}
    if "level" in details:
        match = _LEVEL.fullmatch(details["level"])
        # Two of the original problems have the level `Level ?`.
        details["level"] = int(match["level"]) if match else None
    return details


_BLOCK = re.compile(
    r"\[asy\].*?\[/asy\]|\\begin\{(?P<name>[a-z]+\*?)\}.*?\\end\{(?P=name)\}|\\\[.*?\\\]|\\\(.*?\\\)"
    r"|(?<!\\)\$\$.*?(?<!\\)\$\$|(?<!\\)\$(?:[^$\\]|\\.)*\$",
    re.DOTALL,
)
_LOOSE = re.compile(r"(?<!\\)\$|\\[\[\]()]|\[/?asy\]|\\(?:begin|end)\{")
_ASKS = re.compile(
    r"(?:Find|Compute|Determine|Evaluate|Simplify|Solve|Express|Give|State|Calculate|Prove|Show|"
    r"Write|Factor|Expand|Enter|List|How|What|Which|Who|When|Where|Rationalize|Round|Convert|"
    r"Complete|Estimate|Let us know|Name|Order|Identify|Describe|Add|Subtract|Multiply|Divide)\b"
)


def cut(problem: str) -> tuple[tuple[str, ...], str]:
    """Cut a problem into its conditions and the question, which includes all text after it.

    The question begins with the first sentence that has a question mark or begins with a request
    (`Find`, `Compute`, ...). A problem that cannot be cut safely consists of the question only.
    """
    if "\ue000" in problem:
        return (), problem.strip()
    blocks: list[str] = []

    def hold(match: re.Match[str]) -> str:
        blocks.append(match.group())
        # Looks like a word that begins a sentence, and keeps the full stop at a formula's end.
        stop = _full_stop(match.group())
        return f"X\ue000{len(blocks) - 1}{f'z{stop}' if stop else 'q'}"

    held = _BLOCK.sub(hold, problem)
    if _LOOSE.search(held):
        return (), problem.strip()
    masked = split_sentences(held)
    start = next(
        (
            i
            for i, sentence_text in enumerate(masked)
            if "?" in sentence_text or _ASKS.match(sentence_text)
        ),
        None,
    )
    start = len(masked) - 1 if start is None else start
    sentences = [_show(sentence, blocks) for sentence in masked]
    return tuple(sentences[:start]), " ".join(sentences[start:])


def _full_stop(block: str) -> str:
    inside = re.sub(r"(?:\$+|\\[\])]|\s)+$", "", block)
    return inside[-1] if inside.endswith((".", "?", "!")) and block[0] != "[" else ""


def _show(sentence: str, blocks: list[str]) -> str:
    return re.sub("X\ue000([0-9]+)(?:q|z[.?!])", lambda match: blocks[int(match[1])], sentence)
