"""arXiv: the introduction of a paper from its abstract, in two paragraphs graded together.

One agent writes background and motivation, the other method and implications; both read the whole
abstract. Each paragraph has at least 128 words. The second should be somewhat longer, have about as
many different words and many in common with the first; both should have connectives. The thresholds
are in `LEVELS`, the rules of the reward in `envs.families.writing.levels`. A score is at most 2.98.
If tokens have a price, all tokens of the paragraphs are charged.

Rows have the abstract as `source` (SciTLDR, a list of sentences) or as `abstract_text` (a text or a
list of sentences: papers of the ACL, and the hub's `OpenMLRL/arXiv_abstract`); an
`introduction_text`, where there is one, is the reference. Generated abstracts are invented.

Sources: MAGRPO (arXiv 2508.04652) for roles and reward, in its library's form where the paper is
silent; SciTLDR (arXiv 2004.15011); ScisummNet (arXiv 1909.01716).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from laconic.envs.benchmarks.base import JOINT, FamilyBenchmark
from laconic.envs.benchmarks.sources import FILES, Row, field, filled, keyed_rows
from laconic.envs.declarations import Recipe
from laconic.envs.errors import SourceError
from laconic.envs.families.writing.grading import WritingBenchmark
from laconic.envs.families.writing.levels import Levels, Plateau
from laconic.envs.library.arxiv.abstracts import generate
from laconic.envs.task import Split, Task

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
"""Names of that data set's splits."""
_MARK = re.compile(r"</?S>")
"""Sentences of the original arXiv set stand between such marks."""


class Arxiv(WritingBenchmark, FamilyBenchmark):
    """Abstracts to expand into the two paragraphs of an introduction.

    Sources are files or `hub:<id>`; `generate` has no settings.
    """

    name = "arxiv"
    recipe = Recipe(
        Path(__file__).with_name("policy"),
        minutes=30,
        max_reply_tokens=513,
        training={"train.tasks_per_step": 4},
        metric="score",
        target=1.6,
        tasks=40,
        final_tasks=200,
    )
    # Enough for the 256 words that the reward allows.
    defaults = {
        **JOINT,
        "reward": {"paid": "round", "normalizer": 436},
        "team": {"background": 1, "method": 1},
        "budget": {"message": 512},
    }
    levels = LEVELS
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

    generator = staticmethod(generate)

    def rows(self, path: str | Path, split: Split) -> Iterator[tuple[Row, str, str]]:
        """Return the rows of a source; the paper's data set has a split of another name."""
        own = str(path).partition("#")[0] == THE_PAPERS
        return keyed_rows(path, split, ITS_SPLITS if own else FILES)

    def read(self, row: Row, where: str, key: str) -> Task:
        """Return the task of an abstract, with title and introduction where the row has them."""
        abstract = _text(row, "source" if "source" in row else "abstract_text", where)
        heading = field(row, "title", where).strip() if "title" in row else ""
        question = f"TITLE: {heading}\n\nABSTRACT: {abstract}" if heading else abstract
        answer = _text(row, "introduction_text", where) if "introduction_text" in row else ""
        return Task(key, question, (), answer)


def _text(row: Row, name: str, where: str) -> str:
    """Return a field that is a text or a list of sentences, as one paragraph."""
    value = row.get(name)
    sentences = value if isinstance(value, list) else [field(row, name, where)]
    for sentence in sentences:
        if not isinstance(sentence, str):
            raise SourceError(
                f"{where}: expected field {name!r} to be a text or a list of sentences;"
                f" got {repr(sentence)[:80]} in it"
            )
    text = " ".join(" ".join(_MARK.sub(" ", sentence).split()) for sentence in sentences).strip()
    return filled(text, name, where, "text")


BENCHMARK = Arxiv()
"""One module per benchmark; each has a `BENCHMARK` and is found by its file name."""
