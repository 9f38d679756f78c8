"""Bases of benchmarks: tasks from rows or from a generator, and answers behind a mark."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import partial
from inspect import signature
from itertools import starmap
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from laconic.envs.benchmarks.sources import NO_DOCUMENTS, Documents, Row, keyed_rows
from laconic.envs.checks import check_names
from laconic.envs.declarations import Metric
from laconic.envs.errors import SettingError, SourceError
from laconic.envs.task import PRICE, Benchmark, Score, Split, Task

Vote = TypeVar("Vote", bound=Hashable)
SPLIT: Mapping[str, Any] = {
    "information": "split",
    "topology": "star",
    # Caps for the shipped policy; a team of language models raises them.
    "budget": {"message": 48, "episode": 192},
    "instructions": "brief",
}
"""Defaults of a task whose statements are dealt among agents that help one to answer; `priced` adds
the unit of its price."""


def priced(tokens: int) -> dict[str, Any]:
    """Return the default price, for as many tokens as the briefest known team is billed.

    They are those of the script `oracle` on generated tasks, at the default level and team, cut by
    the shipped policy's tokenizer. `telegraph` is briefer, but its words are a code for one source.
    """
    return {"reward": {"price": PRICE, "normalizer": tokens}}


JOINT: Mapping[str, Any] = {
    # The paper (MAGRPO, arXiv 2508.04652) has one round, or two with feedback in between.
    "rounds": 1,
    "topology": "none",
    "answer": "joint",
    "instructions": "brief",
}
"""Defaults of a task whose agents write parts of one work at the same time, for free."""


def majority(answers: Iterable[Vote | None]) -> Vote | None:
    """Return the most common answer, the earliest of equally common ones; None without answers."""
    votes = Counter(answer for answer in answers if answer is not None)
    # Equal counts keep the order of the first vote.
    return votes.most_common(1)[0][0] if votes else None


class FamilyBenchmark(Benchmark):
    """A benchmark whose tasks are the rows of a source, or made by the generator of its family."""

    documents: ClassVar[Documents] = NO_DOCUMENTS
    """Names of the JSON documents in a folder, where there are any."""
    generator: ClassVar[Callable[..., tuple[Task, ...]] | None] = None
    """Function of a seed, a count, a split and further settings that makes tasks. None: all tasks
    come from a source."""

    def load(
        self, path: str | Path, split: Split = "evaluation", **settings: Any
    ) -> tuple[Task, ...]:
        """Read the rows of a source, in the form that the benchmark's docstring states."""
        own = {*signature(self.read).parameters} - {"row", "where", "key"}
        check_names("setting of env.reader", settings, own)
        read = partial(self.read, **settings)
        tasks = tuple(filter(None, starmap(read, self.rows(path, split))))
        if not tasks:
            raise SourceError(f"{path}: expected at least one problem with an answer; found none")
        return tasks

    def rows(self, path: str | Path, split: Split) -> Iterator[tuple[Row, str, str]]:
        """Return the rows of a source, each with its place and the key of its task."""
        return keyed_rows(path, split, documents=self.documents)

    @abstractmethod
    def read(self, row: Row, where: str, key: str) -> Task | None:
        """Return the task of a row at a place; None leaves the row out.

        Raises:
            SourceError: a field is missing, or has the wrong type or content.
        """

    def generate(
        self, seed: int, count: int, *, split: Split = "train", **settings: Any
    ) -> tuple[Task, ...]:
        """Make tasks with the generator; the benchmark's docstring lists its settings.

        Raises:
            SettingError: there is no generator, or a setting is out of its range.
        """
        if self.generator is None:
            raise SettingError(
                f"{self.name} has no generator of tasks; set env.source to a file of rows"
            )
        own = {*signature(self.generator).parameters} - {"count", "split"}
        check_names("setting of env.generator", settings, own)
        return self.generator(seed, count, split, **settings)


class MarkedAnswers(FamilyBenchmark):
    """Tasks whose answer stands behind a mark, as in `#### 12`.

    Graders are lenient: they also read other marks and, without one, the last answer that a text
    mentions. Two measures of every score show what of it is form (`_form`).
    """

    metrics = {
        "stated": Metric(
            "Share of answers in the form that the instructions ask for, such as `#### 12`.",
            share=True,
        ),
        "strict": Metric(
            "Accuracy that counts answers in that form only. Accuracy also reads answers in other"
            " forms, so what `strict` alone gains is form.",
            share=True,
        ),
    }
    mark: ClassVar[str] = "####"
    """Mark that the instructions ask for."""
    commitment: ClassVar[Callable[..., tuple[str, str] | None]]
    """Function from a text to its last mark, letter for letter, and the answer in plain form."""
    answers_vary_in_length: ClassVar[bool] = False
    """True if a wrong answer may have any length. Then no more of it is exempt from the price than
    the right answer would take, so that a long answer cannot carry free speech."""

    def committed(self, message: str) -> str | None:
        """Return the last mark of a message with an answer in it, letter for letter."""
        mark = self.commitment(message)
        return mark[0] if mark else None

    def _form(
        self, answers: Mapping[str, str], graded: Iterable[str], solved: bool
    ) -> dict[str, float]:
        """Return the measures of the form of answers.

        Args:
            answers: message of each answering agent.
            graded: messages that give the graded answer.
            solved: whether that answer is right.

        Returns:
            `stated`, the share of agents whose message has an answer behind the mark asked for, and
            `strict`, 1.0 if the task is solved and one of the graded messages has its answer there.
        """
        texts = list(answers.values())
        stated = [text for text in texts if self.mark in (self.committed(text) or "")]
        strict = solved and not set(stated).isdisjoint(graded)
        return {"stated": len(stated) / max(1, len(texts)), "strict": float(strict)}

    def exempt(self, message: str, task: Task) -> str:
        """Return the answer behind its plainest mark, `#### 12`, whatever else the mark holds."""
        mark = self.commitment(message)
        if mark is None:
            return ""
        stated = f"#### {mark[1]}"
        return min(stated, task.answer_text, key=len) if self.answers_vary_in_length else stated


class ShortAnswers(MarkedAnswers):
    """Tasks whose answer is equal to the reference or wrong."""

    answer_in: ClassVar[Callable[..., str | None]]
    """Function from a text to the answer it gives, in plain form; None without one."""

    def score(self, task: Task, answers: Mapping[str, str]) -> Score:
        """Compare the answer that most agents give to the reference, exactly."""
        votes = {text: self.answer_in(text) for text in answers.values()}
        answer = majority(votes[text] for text in answers.values())
        solved = answer is not None and answer == self.plain(task.answer)
        form = self._form(answers, (text for text in votes if votes[text] == answer), solved)
        return Score(float(solved), solved, answer or "", measures=form)

    @staticmethod
    def plain(answer: str, /) -> str | None:
        """Return a reference answer in plain form."""
        return answer
