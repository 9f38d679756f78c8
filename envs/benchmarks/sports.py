"""Sports Understanding: is a sentence about an athlete plausible? Real rows and generated ones.

Rows are `{"input", "target"}` as in BIG-bench Hard, where the target is `yes` or `no`. They hold no
facts, so everybody has the question and nothing else in both information modes. Generated sentences
are about invented athletes and come with facts that `split` deals among the scouts. A critic makes
sense under full information, with a schedule such as `[solver, critic, solver]`.

Sources: BIG-bench (arXiv:2206.04615); Suzgun et al., "Challenging BIG-Bench Tasks and Whether
Chain-of-Thought Can Solve Them" (arXiv:2210.09261).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from laconic.envs.errors import SourceError
from laconic.envs.families.common.generation import Span, refuse
from laconic.envs.families.common.sources import Row, field, numbered, open_source
from laconic.envs.families.yes_no.answers import answer_in, commitment, vote
from laconic.envs.families.yes_no.inference import DISTRACTORS
from laconic.envs.families.yes_no.sports.generate import LEVELS, generate
from laconic.envs.task import Benchmark, Score, Split, Task

DOCUMENTS: Mapping[Split, tuple[str, ...]] = {"evaluation": ("sports_understanding.json",)}
"""Name of the JSON document in a folder of BIG-bench Hard."""


class Sports(Benchmark):
    """Sentences about athletes that are plausible (yes) or not (no)."""

    name = "sports"
    roles = ("solver", "scout", "critic")
    goal = (
        "Your team judges together whether a sentence about an athlete is plausible: whether what"
        " the athlete is said to have done belongs to the athlete's sport. The facts may be"
        " spread over the team, and some may not matter."
    )
    answer_form = "State the answer as `#### yes` (plausible) or `#### no`."
    duties = {
        "solver": "You give the answer: put together what you know and what the others tell you."
        f" {answer_form}",
        "scout": "You tell the solver, who may not know what you know, the facts about the"
        " athlete and the action of the sentence, in few words, and leave out all others.",
        "critic": "You check the solver: name what is wrong or missing, in few words, and say"
        f" nothing when all is right. {answer_form}",
    }

    def load(self, path: str | Path, split: Split = "evaluation") -> tuple[Task, ...]:
        """Read JSON Lines, `sports_understanding.json` or `hub:<id>`; none are for training."""
        return numbered(*open_source(path, split, DOCUMENTS), _read)

    def generate(
        self,
        seed: int,
        count: int,
        *,
        split: Split = "train",
        level: Span = LEVELS,
        distractors: Span = DISTRACTORS,
        **unknown: Any,
    ) -> tuple[Task, ...]:
        """Make sentences; see `envs.families.yes_no.sports.generate`.

        `level` is the number of joins of facts, 1 to 3; `distractors` the number of statements that
        do not matter.
        """
        refuse(unknown, "level", "distractors")
        return generate(seed, count, split, level, distractors)

    def score(self, task: Task, answers: Mapping[str, str]) -> Score:
        """Compare what most agents answer with to the reference; `implausible` means no."""
        answer = vote(answers.values(), plausible=True)
        solved = answer == task.answer
        return Score(float(solved), solved, answer or "")

    def committed(self, message: str) -> str | None:
        """The last mark of a message, as in `#### yes` or `the answer is no`; None without one."""
        return commitment(message, plausible=True)

    def exempt(self, message: str, task: Task) -> str:
        """`#### yes` or `#### no`, whatever the mark is."""
        return f"#### {answer_in(message, plausible=True)}" if self.committed(message) else ""


def _read(row: Row, where: str, key: str) -> Task:
    question, target = field(row, "input", where).strip(), field(row, "target", where)
    if not question:
        raise SourceError(f"{where}: expected a question; the field 'input' is empty")
    answer = target.strip().lower()
    if answer not in ("yes", "no"):
        raise SourceError(
            f"{where}: expected field 'target' to be 'yes' or 'no'; got {target[:80]!r}"
        )
    return Task(key, question, (), answer)


BENCHMARK = Sports()
"""One module per benchmark; each has a `BENCHMARK` and is found by its file name."""
