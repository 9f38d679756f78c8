"""Drawing of functions to write, all different, each in its split.

A digest of a function's results on fixed inputs assigns it to training or evaluation. So no
function is ever in both, whatever the seeds, its name, its examples and its description.
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
"""Minimum and maximum steps of a function."""
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
    """Function with its examples and tests."""
    statements: tuple[str, ...]
    """Steps of this function and of others, in reading order."""
    relevant: tuple[bool, ...]
    """Flag of each statement: True if it is a step of this function."""

    @property
    def head(self) -> str:
        """Return the function's first line."""
        return signature(self.puzzle.name, self.puzzle.chain)

    @property
    def solution(self) -> str:
        """Return the reference solution: the whole function."""
        return f"{self.head}\n{body(self.puzzle.chain)}"


def pose(item: Item, question: str, source_text: str, exam: Exam) -> Task:
    """Return the task of a function, given its question, its text in one piece, and its tests."""
    return Task(
        key=item.key,
        question=question,
        statements=item.statements,
        answer=item.solution,
        relevant=item.relevant,
        answer_text=fenced(item.solution),
        source_text=source_text,
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
    steps = (_statement(index, puzzle.name, step.words) for index, step in enumerate(puzzle.chain))
    names = random.sample([name for name in NAMES if name != puzzle.name], _MAX_DISTRACTORS)

    def distractor(name: str) -> str:
        index, step = random.randint(0, len(puzzle.chain) - 1), draw(random, 1)[0]
        return _statement(index, name, step.words)

    others = names[: random.randint(*extras)]
    statements, relevant = mix(random, steps, map(distractor, others))
    return Item(key, puzzle, statements, relevant)


def _statement(index: int, name: str, words: str) -> str:
    return f"Step {index + 1} of {name}: {words}."


items = leveled(_makes, "functions", LEVELS, _MAX_DISTRACTORS)
"""Generator of different functions; a level is a number of steps, a distractor another's step."""
