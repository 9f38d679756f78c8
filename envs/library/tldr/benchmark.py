"""TLDR: a concise and a detailed summary of one post, written side by side and graded together.

Both agents read the whole post. The detailed summary should be longer than the concise one within a
range, add new words, use connectives, and share vocabulary with it. The thresholds are in `LEVELS`,
the rules of the reward in `envs.families.writing.levels`. A score is at most 2.98. If tokens have a
price, all tokens of the summaries are charged.

Rows are those of the posts (`instruction`, `title`, `subreddit`, `gold_response`), or of the hub's
`trl-lib/tldr` (`prompt`, `completion`), without their trailing `TL;DR:`. Generated posts are
invented.

Sources: MAGRPO (arXiv 2508.04652) for roles and reward, completed by its library; for posts and the
form of the prompt, Völske et al., "TL;DR: Mining Reddit to Learn Automatic Summarization" (2017),
and Stiennon et al. (arXiv 2009.01325).
"""

from __future__ import annotations

from pathlib import Path

from laconic.envs.benchmarks.base import JOINT, FamilyBenchmark
from laconic.envs.benchmarks.sources import Row, field, filled
from laconic.envs.declarations import Recipe
from laconic.envs.families.writing.grading import WritingBenchmark
from laconic.envs.families.writing.levels import Levels, Plateau
from laconic.envs.library.tldr.posts import generate
from laconic.envs.task import Task

LEVELS = Levels(
    roles=("concise", "detailed"),
    words=(8, 256),
    length_ratio=Plateau(lowest=1.1, full_from=1.6, full_to=3.2, highest=5.0),
    word_ratio=Plateau(lowest=1.3, full_from=2.0),
    overlap=0.03,
    both_connect=False,
)
"""The thresholds of this benchmark."""


class Tldr(WritingBenchmark, FamilyBenchmark):
    """Posts to summarise twice; sources are files or `hub:<id>` (trl-lib/tldr).

    Setting of `generate`: `level`, from 1 (about 35 words) to 3 (about 150).
    """

    name = "tldr"
    recipe = Recipe(
        Path(__file__).with_name("policy"),
        minutes=10,
        max_reply_tokens=65,
        metric="score",
        target=1.6,
    )
    defaults = {
        **JOINT,
        "reward": {"paid": "round", "normalizer": 58},
        "team": {"concise": 1, "detailed": 1},
        # The paper's replies have at most 256 tokens.
        "budget": {"message": 256},
        "generator": {"level": 1},
    }
    levels = LEVELS
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

    generator = staticmethod(generate)

    def read(self, row: Row, where: str, key: str) -> Task:
        """Return the task of a post with a summary, which is the reference, in either form."""
        if "prompt" in row:
            post = field(row, "prompt", where).strip().removesuffix("TL;DR:").strip()
            summary = field(row, "completion", where).strip()
            return Task(key, filled(post, "prompt", where, "post"), (), summary)
        post = filled(field(row, "instruction", where).strip(), "instruction", where, "post")
        heading = field(row, "subreddit", where).strip(), field(row, "title", where).strip()
        question = f"SUBREDDIT: r/{heading[0]}\n\nTITLE: {heading[1]}\n\nPOST: {post}"
        return Task(key, question, (), field(row, "gold_response", where).strip())


BENCHMARK = Tldr()
"""One module per benchmark; each has a `BENCHMARK` and is found by its file name."""
