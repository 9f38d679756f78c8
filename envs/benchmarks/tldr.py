"""TLDR: a concise and a detailed summary of one post, written side by side and graded together.

Both agents read the whole post. The detailed summary is to be longer than the concise one by a
measure and to bring words of its own, to be well connected, and to share vocabulary with it; the
thresholds are in `LEVELS`, the rules of the reward in `envs.families.writing.levels`. A score is at
most 2.98. Nothing an agent writes is free of charge where tokens have a price.

Rows are those of the posts (`instruction`, `title`, `subreddit`, `gold_response`), or of the hub's
`trl-lib/tldr` (`prompt`, `completion`), whose trailing `TL;DR:` is left out. Generated posts are
invented.

Sources: MAGRPO (arXiv 2508.04652) for roles and reward, in its library's form where the paper is
silent; posts and form of the prompt: Völske et al., "TL;DR: Mining Reddit to Learn Automatic
Summarization" (2017), and Stiennon et al. (arXiv 2009.01325).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from laconic.envs.errors import SourceError
from laconic.envs.families.common.generation import Span, refuse
from laconic.envs.families.common.sources import Row, field, rows, title
from laconic.envs.families.writing import grading
from laconic.envs.families.writing.levels import Levels, Plateau
from laconic.envs.families.writing.posts import LEVELS as POST_LEVELS
from laconic.envs.families.writing.posts import generate
from laconic.envs.task import Benchmark, Score, Split, Task

LEVELS = Levels(
    roles=("concise", "detailed"),
    words=(8, 256),
    length_ratio=Plateau(lowest=1.1, full_from=1.6, full_to=3.2, highest=5.0),
    word_ratio=Plateau(lowest=1.3, full_from=2.0),
    overlap=0.03,
    both_connect=False,
)
"""The thresholds of this benchmark."""


class Tldr(Benchmark):
    """Posts to summarise twice."""

    name = "tldr"
    roles = LEVELS.roles
    goal = (
        "Your team writes two summaries of one post, side by side: a concise one, and a detailed"
        " one that says more, in about twice the length and with twice as many different words."
    )
    answer_form = "Write nothing but the summary, in 8 to 256 words."
    duties = {
        "concise": f"You write the concise summary: what matters most, in few words. {answer_form}",
        "detailed": "You write the detailed summary: the whole story, in sentences joined by"
        f" connectives such as `first`, `because`, `however` or `in short`. {answer_form}",
    }

    def load(self, path: str | Path, split: Split = "evaluation") -> tuple[Task, ...]:
        """Read posts; a task's key is `<file or split>/<row>`, rows from 1.

        Args:
            path: a `.jsonl` or `.jsonl.gz` file, a folder with `train.jsonl` or `test.jsonl`, or
                `hub:<id>`, e.g. `hub:trl-lib/tldr`.
            split: `train` or `evaluation`.

        Raises:
            SourceError: the source is missing or empty, or a row cannot be read.
        """
        name = title(path, split)
        return tuple(
            _read(row, where, f"{name}/{index}")
            for index, (where, row) in enumerate(rows(path, split), start=1)
        )

    def generate(
        self,
        seed: int,
        count: int,
        *,
        split: Split = "train",
        level: Span = POST_LEVELS,
        **unknown: Any,
    ) -> tuple[Task, ...]:
        """Make posts with drafts of both summaries from a seed; see `envs.families.writing.posts`.

        Args:
            seed: any whole number.
            count: how many tasks; no two are equal.
            split: `train` or `evaluation`; they share no story, whatever the seeds.
            level: 1 (about 35 words) to 3 (about 150); a pair draws from lowest to highest.
            **unknown: refused.

        Raises:
            SettingError: a setting is out of its range, or there are not so many posts.
            UnknownNameError: there is no such setting.
        """
        refuse(unknown, "level")
        return generate(seed, count, split, level)

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
    if "prompt" in row:
        post = field(row, "prompt", where).strip().removesuffix("TL;DR:").strip()
        summary = field(row, "completion", where).strip()
        return Task(key, _filled(post, "prompt", where), (), summary)
    post = _filled(field(row, "instruction", where).strip(), "instruction", where)
    heading = field(row, "subreddit", where).strip(), field(row, "title", where).strip()
    question = f"SUBREDDIT: r/{heading[0]}\n\nTITLE: {heading[1]}\n\nPOST: {post}"
    return Task(key, question, (), field(row, "gold_response", where).strip())


def _filled(text: str, name: str, where: str) -> str:
    if not text:
        raise SourceError(f"{where}: expected a post; the field {name!r} is empty")
    return text


BENCHMARK = Tldr()
"""One module per benchmark; each has a `BENCHMARK` and is found by its file name."""
