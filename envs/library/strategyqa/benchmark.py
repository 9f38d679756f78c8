"""StrategyQA: yes/no questions with implicit reasoning steps, and generated multi-hop questions.

The reader takes rows of BIG-bench (`input`, `target_scores`, `target`) and of the original release
(`question`, `answer`, `facts`, `decomposition`). Split information deals the facts of the original
among the helpers. In BIG-bench the facts are an explanation of the answer, so by default no agent
reads them: the task is closed-book. The reader's setting `facts` deals them. Generated questions
have facts. A critic makes sense under full information, with a schedule such as
`[solver, critic, solver]`.

Sources: Geva et al., "Did Aristotle Use a Laptop? A Question Answering Benchmark with Implicit
Reasoning Strategies" (arXiv:2101.02235); BIG-bench (arXiv:2206.04615).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from laconic.envs.benchmarks.base import SPLIT, ShortAnswers, priced
from laconic.envs.benchmarks.sources import Row, field, filled, split_sentences
from laconic.envs.checks import flag
from laconic.envs.declarations import Recipe
from laconic.envs.errors import SourceError
from laconic.envs.families.yes_no.answers import answer_in, commitment
from laconic.envs.library.strategyqa.knowledge import generate
from laconic.envs.task import Task


class StrategyQA(ShortAnswers):
    """Questions that take several facts and are answered with yes or no.

    Sources are JSON Lines or documents of BIG-bench or the original release, or `hub:<id>`.
    Setting of `load`: `facts`, whether tasks have facts; None leaves it to the row's form, True
    takes the sentences of a BIG-bench explanation, False is an examination without a book.
    Settings of `generate`: `level`, joins of two facts, 1 to 5; `distractors`, statements that do
    not matter (`envs.library.strategyqa.knowledge`).
    """

    name = "strategyqa"
    recipe = Recipe(Path(__file__).with_name("policy"), minutes=10)
    defaults = {
        **SPLIT,
        **priced(13),
        "team": {"solver": 1, "helper": 3},
        "schedule": ["helper", "solver"],
        "generator": {"level": 1, "distractors": 1},
    }
    chance = 0.5
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

    hints = {
        "solver": "Write only the answer, after ####. If it is yes, write: #### yes. If it is no,"
        " write: #### no",
        "helper": "Say again, in one short sentence, the fact that you know.",
        "critic": "If the answer is wrong, say in one short sentence what is wrong.",
    }
    documents = {
        "train": ("strategyqa_train.json",),
        "evaluation": ("task.json", "strategyqa_test.json"),
    }
    generator = staticmethod(generate)
    answer_in = staticmethod(answer_in)
    commitment = staticmethod(commitment)

    def read(self, row: Row, where: str, key: str, facts: bool | None = None) -> Task:
        """Return the task of a row; BIG-bench has `input`, the original release `question`."""
        if facts is not None:
            flag("env.reader.facts", facts)
        if "input" in row:
            task = _big_bench(row, where, key)
            if not facts:
                return task
            # What is dealt is no working any more, or a teacher would say it twice.
            return _told(replace(task, solution=""), split_sentences(task.solution))
        task = _original(row, where, key)
        return _told(task, ()) if facts is False else task


def _told(task: Task, facts: tuple[str, ...]) -> Task:
    """Return the task with these facts; by its author's word, the answer depends on all of them."""
    return replace(task, statements=facts, relevant=(True,) * len(facts))


def _original(row: Row, where: str, key: str) -> Task:
    question, facts = _question(row, "question", where), _texts(row, "facts", where)
    steps = _texts(row, "decomposition", where) if "decomposition" in row else ()
    answer = "yes" if field(row, "answer", where, bool) else "no"
    return _told(Task(key, question, (), answer, solution=" ".join(steps)), facts)


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
    return filled(field(row, name, where), name, where).strip()


def _texts(row: Row, name: str, where: str) -> tuple[str, ...]:
    """Return a field that is a list of sentences, which some copies on the hub have as one text."""
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
