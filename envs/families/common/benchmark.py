"""What benchmarks share: tasks from rows or from a generator, and answers behind a mark.

Knows nothing of what the tasks of a benchmark are about.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from inspect import signature
from itertools import starmap
from pathlib import Path
from typing import Any, ClassVar

from laconic.envs.checks import check_names
from laconic.envs.errors import SettingError, SourceError
from laconic.envs.families.common.sources import NO_DOCUMENTS, Documents, Row, keyed_rows
from laconic.envs.task import Benchmark, Score, Split, Task, majority


class FamilyBenchmark(Benchmark):
    """A benchmark whose tasks are the rows of a source, or made by the generator of its family."""

    documents: ClassVar[Documents] = NO_DOCUMENTS
    """Names of the JSON documents in a folder, where there are any."""
    generator: ClassVar[Callable[..., tuple[Task, ...]] | None] = None
    """Makes tasks of a seed, a count, a split and the settings that are its other parameters. None:
    all tasks come from a source."""

    def load(
        self, path: str | Path, split: Split = "evaluation", **settings: Any
    ) -> tuple[Task, ...]:
        """Read the rows of a source; the benchmark's docstring says in which form they are."""
        own = {*signature(self.read).parameters} - {"row", "where", "key"}
        check_names("setting of env.reader", settings, own)
        read = partial(self.read, **settings)
        tasks = tuple(filter(None, starmap(read, self.rows(path, split))))
        if not tasks:
            raise SourceError(f"{path}: expected at least one problem with an answer; found none")
        return tasks

    def rows(self, path: str | Path, split: Split) -> Iterator[tuple[Row, str, str]]:
        """The rows of a source, each with its place and the key of its task."""
        return keyed_rows(path, split, documents=self.documents)

    @abstractmethod
    def read(self, row: Row, where: str, key: str) -> Task | None:
        """The task of a row at a place; None leaves the row out.

        Raises:
            SourceError: a field is missing, or is not what it has to be.
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
    """Tasks whose answer stands behind a mark, as in `#### 12`."""

    commitment: ClassVar[Callable[..., tuple[str, str] | None]]
    """From a text to the last mark in it, letter for letter, and the answer there in plain form."""

    def committed(self, message: str) -> str | None:
        """The last mark of a message with an answer in it, letter for letter; None without one."""
        found = self.commitment(message)
        return found[0] if found else None

    def exempt(self, message: str, task: Task) -> str:
        """The answer behind its plainest mark, `#### 12`, whatever else stands in the mark."""
        found = self.commitment(message)
        return f"#### {found[1]}" if found else ""


class ShortAnswers(MarkedAnswers):
    """Tasks whose answer is equal to the reference or wrong."""

    answer_in: ClassVar[Callable[..., str | None]]
    """From a text to the answer it gives, in plain form; None without one."""

    def score(self, task: Task, answers: Mapping[str, str]) -> Score:
        """Compare the answer that most agents give to the reference, exactly."""
        answer = majority(map(self.answer_in, answers.values()))
        solved = answer is not None and answer == self.plain(task.answer)
        return Score(float(solved), solved, answer or "")

    def plain(self, answer: str) -> str | None:
        """A reference answer in plain form."""
        return answer
