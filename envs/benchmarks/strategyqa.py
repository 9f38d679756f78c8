"""StrategyQA: yes/no questions whose reasoning steps are implicit, and generated multi-hop ones.

Read are the rows of BIG-bench (`input`, `target_scores`, `target`) and those of the original
release (`question`, `answer`, `facts`, `decomposition`). The facts of the original are what `split`
deals among the helpers. BIG-bench has none that one may read: everybody has the question and
nothing else in both information modes, and what its explanation says is only the task's solution.
Generated questions have facts. A critic makes sense under full information, with a schedule such
as `[solver, critic, solver]`.

Sources: Geva et al., "Did Aristotle Use a Laptop? A Question Answering Benchmark with Implicit
Reasoning Strategies" (arXiv:2101.02235); BIG-bench (arXiv:2206.04615).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from laconic.envs.errors import SourceError
from laconic.envs.families.common.generation import Span, refuse
from laconic.envs.families.common.sentences import split_sentences
from laconic.envs.families.common.sources import Row, field, numbered, open_source
from laconic.envs.families.yes_no.answers import answer_in, commitment, vote
from laconic.envs.families.yes_no.inference import DISTRACTORS
from laconic.envs.families.yes_no.knowledge.generate import LEVELS, generate
from laconic.envs.task import Benchmark, Score, Split, Task

DOCUMENTS: Mapping[Split, tuple[str, ...]] = {
    "train": ("strategyqa_train.json",),
    "evaluation": ("task.json", "strategyqa_test.json"),
}
"""Names of the JSON documents in a folder: the original release, and BIG-bench."""


class StrategyQA(Benchmark):
    """Questions that take several facts and are answered with yes or no."""

    name = "strategyqa"
    roles = ("solver", "helper", "critic")
    goal = (
        "Your team answers a yes/no question together. The facts that it takes may be spread over"
        " the team, and some may not matter."
    )
    answer_form = "State the answer as `#### yes` or `#### no`."
    duties = {
        "solver": "You give the answer: put together what you know and what the others tell you,"
        f" fact by fact. {answer_form}",
        "helper": "You help the solver, who may not know what you know: pass on the facts that the"
        " question depends on, in few words, and leave out those that do not matter.",
        "critic": "You check the solver: name the step that is wrong or the fact that is missing,"
        f" in few words, and say nothing when all is right. {answer_form}",
    }

    def load(self, path: str | Path, split: Split = "evaluation") -> tuple[Task, ...]:
        """Read BIG-bench's rows or those of the original release, as JSON Lines or documents."""
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
        """Make multi-hop questions; see `envs.families.yes_no.knowledge.generate`.

        `level` is the number of joins of two facts, 1 to 5; `distractors` the number of statements
        that do not matter.
        """
        refuse(unknown, "level", "distractors")
        return generate(seed, count, split, level, distractors)

    def score(self, task: Task, answers: Mapping[str, str]) -> Score:
        """Compare what most agents answer with to the reference."""
        answer = vote(answers.values())
        solved = answer == task.answer
        return Score(float(solved), solved, answer or "")

    def committed(self, message: str) -> str | None:
        """The last mark of a message, as in `#### yes` or `the answer is no`; None without one."""
        return commitment(message)

    def exempt(self, message: str, task: Task) -> str:
        """`#### yes` or `#### no`, whatever the mark is."""
        return f"#### {answer_in(message)}" if self.committed(message) else ""


def _read(row: Row, where: str, key: str) -> Task:
    return (_big_bench if "input" in row else _original)(row, where, key)


def _original(row: Row, where: str, key: str) -> Task:
    question, facts = _question(row, "question", where), _texts(row, "facts", where)
    steps = _texts(row, "decomposition", where) if "decomposition" in row else ()
    return Task(
        key,
        question,
        facts,
        "yes" if field(row, "answer", where, bool) else "no",
        # Written down by the question's author as what the answer rests on.
        relevant=(True,) * len(facts),
        solution=" ".join(steps),
    )


def _big_bench(row: Row, where: str, key: str) -> Task:
    question, scores = _question(row, "input", where), field(row, "target_scores", where, dict)
    right = [name for name, score in scores.items() if score == 1]
    if len(right) != 1 or right[0].lower() not in ("yes", "no"):
        raise SourceError(
            f"{where}: expected field 'target_scores' to give 1 to one of 'Yes' and 'No';"
            f" got {repr(scores)[:80]}"
        )
    explanation = field(row, "target", where) if "target" in row else ""
    label, _, working = explanation.partition(". ")
    answer = right[0].lower()
    solution = working if label.lower() == answer else explanation
    return Task(key, question, (), answer, solution=solution.strip())


def _question(row: Row, name: str, where: str) -> str:
    text = field(row, name, where).strip()
    if not text:
        raise SourceError(f"{where}: expected a question; the field {name!r} is empty")
    return text


def _texts(row: Row, name: str, where: str) -> tuple[str, ...]:
    """A list of sentences; some copies on the hub have them as one text."""
    if isinstance(row.get(name), str):
        return split_sentences(row[name])
    texts = field(row, name, where, list)
    for text in texts:
        if not isinstance(text, str):
            raise SourceError(
                f"{where}: expected field {name!r} to be a list of texts;"
                f" got {type(text).__name__} {repr(text)[:80]} in it"
            )
    return tuple(filter(None, (text.strip() for text in texts)))


BENCHMARK = StrategyQA()
"""One module per benchmark; each has a `BENCHMARK` and is found by its file name."""
