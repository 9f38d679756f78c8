"""Drawing functions to be written, each different, each in its split.

A digest of what a function does, its results on fixed inputs, says whether it is for training or
for evaluation. So no function is ever in both, whatever the seeds, its name, its examples and the
words that describe it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from laconic.envs.families.coding.exam import Exam
from laconic.envs.families.coding.extract import fenced
from laconic.envs.families.coding.function import body, draw, signature
from laconic.envs.families.coding.puzzle import Puzzle, behavior, puzzle
from laconic.envs.families.common.generation import Candidate, Pair, leveled, mix
from laconic.envs.task import Task

LEVELS = (1, 4)
"""Fewest and most steps of a function."""
_MAX_DISTRACTORS = 8
NAMES = tuple(
    start + end
    for start in ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z")
    for end in ("ab", "eg", "ilk", "onk", "ump", "arn")
)
"""Names of functions, which reveal nothing about their steps."""


@dataclass(frozen=True, slots=True)
class Item:
    """A function to write, and the statements about it."""

    key: str
    """Key of its task."""
    puzzle: Puzzle
    """The function, its examples and its tests."""
    statements: tuple[str, ...]
    """The steps of the function, and of others, in the order in which they are told."""
    relevant: tuple[bool, ...]
    """One flag per statement: True where it is a step of this function."""

    @property
    def head(self) -> str:
        """Return the function's first line."""
        return signature(self.puzzle.name, self.puzzle.chain)

    @property
    def solution(self) -> str:
        """Return the reference solution: the whole function."""
        return f"{self.head}\n{body(self.puzzle.chain)}"


def pose(item: Item, question: str, whole: str, exam: Exam) -> Task:
    """Return the task of a function, whatever the form of its words and tests."""
    return Task(
        key=item.key,
        question=question,
        statements=item.statements,
        answer=item.solution,
        relevant=item.relevant,
        answer_text=fenced(item.solution),
        source_text=whole,
        details={"exam": exam, "level": len(item.puzzle.chain)},
    )


def _makes(levels: Pair, extras: Pair) -> Callable[[Random, str], Candidate[Item]]:
    def make(random: Random, key: str) -> Candidate[Item]:
        chain, name = draw(random, random.randint(*levels)), random.choice(NAMES)
        does = behavior(chain)

        def finish() -> Item | None:
            new_puzzle = puzzle(name, chain, random)
            return _item(key, new_puzzle, random, extras) if new_puzzle else None

        return Candidate(f"{name}: {does}", finish, split_by=does)

    return make


def _item(key: str, puzzle: Puzzle, random: Random, extras: Pair) -> Item:
    """Mix steps of other functions into those of a puzzle."""
    steps = (_told(index, puzzle.name, step.words) for index, step in enumerate(puzzle.chain))
    names = random.sample([name for name in NAMES if name != puzzle.name], _MAX_DISTRACTORS)

    def strange(name: str) -> str:
        index, step = random.randint(0, len(puzzle.chain) - 1), draw(random, 1)[0]
        return _told(index, name, step.words)

    others = names[: random.randint(*extras)]
    statements, relevant = mix(random, steps, map(strange, others))
    return Item(key, puzzle, statements, relevant)


def _told(index: int, name: str, words: str) -> str:
    return f"Step {index + 1} of {name}: {words}."


items = leveled(_makes, "functions", LEVELS, _MAX_DISTRACTORS)
"""Makes different functions; a level is a number of steps, a distractor one of another function."""
