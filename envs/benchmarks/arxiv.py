"""arXiv: the introduction of a paper from its abstract, in two paragraphs graded together.

One agent writes background and motivation, the other method and implications; both read the whole
abstract. Each paragraph has at least 128 words; the second is to be somewhat longer, with about as
many different words, many of them in common, and connectives in both. The thresholds are in
`LEVELS`, the rules of the reward in `envs.families.writing.levels`. A score is at most 2.98.
Nothing an agent writes is free of charge where tokens have a price.

Rows have the abstract as `source` (SciTLDR, a list of sentences) or as `abstract_text` (a text or a
list of sentences: papers of the ACL, and the hub's `OpenMLRL/arXiv_abstract`); an
`introduction_text`, where there is one, is the reference. Generated abstracts are invented.

Sources: MAGRPO (arXiv 2508.04652) for roles and reward, in its library's form where the paper is
silent; SciTLDR (arXiv 2004.15011); ScisummNet (arXiv 1909.01716).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from laconic.envs.errors import SourceError
from laconic.envs.families.common.generation import refuse
from laconic.envs.families.common.sources import FILES, Row, field, rows, title
from laconic.envs.families.writing import grading
from laconic.envs.families.writing.abstracts import generate
from laconic.envs.families.writing.levels import Levels, Plateau
from laconic.envs.task import Benchmark, Score, Split, Task

LEVELS = Levels(
    roles=("background", "method"),
    words=(128, 256),
    length_ratio=Plateau(lowest=0.8, full_from=1.3, full_to=1.6, highest=2.0),
    word_ratio=Plateau(lowest=0.5, full_from=0.7, full_to=1.3, highest=1.7),
    overlap=0.23,
    both_connect=True,
)
"""The thresholds of this benchmark."""
THE_PAPERS = "hub:OpenMLRL/arXiv_abstract"
"""The data set of the paper."""
ITS_SPLITS: Mapping[Split, str] = {"train": "train", "evaluation": "val"}
"""What that data set calls its parts."""
_MARK = re.compile(r"</?S>")
"""Sentences of the original arXiv set stand between such marks."""


class Arxiv(Benchmark):
    """Abstracts to expand into the two paragraphs of an introduction."""

    name = "arxiv"
    roles = LEVELS.roles
    goal = (
        "Your team writes the introduction of a paper, whose abstract you read, in two paragraphs"
        " side by side: background and motivation, then method and implications, somewhat longer."
        " The two belong together: they use the same words for the same things."
    )
    answer_form = (
        "Write nothing but your paragraph, in 128 to 256 words, its sentences joined by connectives"
        " such as `first`, `because`, `however` or `in short`."
    )
    duties = {
        "background": "You write background and motivation: what the field is about, what is"
        f" missing, and why it matters. {answer_form}",
        "method": "You write method and implications: what was done, how, what came of it and what"
        f" follows; a third to a half longer than the background. {answer_form}",
    }

    def load(self, path: str | Path, split: Split = "evaluation") -> tuple[Task, ...]:
        """Read abstracts; a task's key is `<file or split>/<row>`, rows from 1.

        Args:
            path: a `.jsonl` or `.jsonl.gz` file, a folder with `train.jsonl` or `test.jsonl`, or
                `hub:<id>`.
            split: `train` or `evaluation`.

        Raises:
            SourceError: the source is missing or empty, or a row cannot be read.
        """
        files = ITS_SPLITS if str(path).partition("#")[0] == THE_PAPERS else FILES
        name = title(path, split, files)
        return tuple(
            _read(row, where, f"{name}/{index}")
            for index, (where, row) in enumerate(rows(path, split, files), start=1)
        )

    def generate(
        self, seed: int, count: int, *, split: Split = "train", **unknown: Any
    ) -> tuple[Task, ...]:
        """Make abstracts with drafts of both paragraphs; see `envs.families.writing.abstracts`.

        Args:
            seed: any whole number.
            count: how many tasks; no two are equal.
            split: `train` or `evaluation`; they share no abstract, whatever the seeds.
            **unknown: refused; there are no settings beside the seed.

        Raises:
            SettingError: a setting is out of its range, or there are not so many abstracts.
            UnknownNameError: there is no such setting.
        """
        refuse(unknown)
        return generate(seed, count, split)

    def score(self, task: Task, answers: Mapping[str, str]) -> Score:
        """Grade what each role wrote, from 0 to 2.98; from 2.5 on the task counts as solved.

        Several agents of one role write one text together, in their order. The detail has the
        points of every level that was looked at.
        """
        return grading.score(LEVELS, answers, task.text)

    def committed(self, message: str) -> str | None:
        """None: whatever was written last is graded, and no word of it is free."""
        return None

    def findings(self, task: Task, score: Score, agents: Sequence[str]) -> Mapping[str, str]:
        """Per level: the points, what was found and what is wanted."""
        return grading.findings(LEVELS, score.detail, agents)


def _read(row: Row, where: str, key: str) -> Task:
    abstract = _text(row, "source" if "source" in row else "abstract_text", where)
    heading = field(row, "title", where).strip() if "title" in row else ""
    question = f"TITLE: {heading}\n\nABSTRACT: {abstract}" if heading else abstract
    answer = _text(row, "introduction_text", where) if "introduction_text" in row else ""
    return Task(key, question, (), answer)


def _text(row: Row, name: str, where: str) -> str:
    """A field that is a text or a list of sentences, as one paragraph."""
    value = row.get(name)
    sentences = value if isinstance(value, list) else [field(row, name, where)]
    for sentence in sentences:
        if not isinstance(sentence, str):
            raise SourceError(
                f"{where}: expected field {name!r} to be a text or a list of sentences;"
                f" got {repr(sentence)[:80]} in it"
            )
    text = " ".join(" ".join(_MARK.sub(" ", sentence).split()) for sentence in sentences).strip()
    if not text:
        raise SourceError(f"{where}: expected a text; the field {name!r} is empty")
    return text


BENCHMARK = Arxiv()
"""One module per benchmark; each has a `BENCHMARK` and is found by its file name."""
