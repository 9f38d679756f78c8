"""Drawing functions to be written, each different, each in its part.

A digest of what a function does, its results on fixed inputs, says whether it is for training or
for evaluation. So no function is ever in both, whatever the seeds, its name, its examples and the
words that describe it.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from laconic.envs.families.coding.exam import Exam
from laconic.envs.families.coding.extract import fenced
from laconic.envs.families.coding.function import body, draw, signature
from laconic.envs.families.coding.puzzle import Puzzle, behaviour, puzzle
from laconic.envs.families.common.generation import check_request, ran_out, span, split_of
from laconic.envs.task import Split, Task

LEVELS = (1, 4)
"""Fewest and most steps of a function."""
DISTRACTORS = (1, 2)
"""Fewest and most distractors of a task, by default."""
_MAX_DISTRACTORS = 8
_PATIENCE = 2_000
"""Draws in a row that gave nothing new before the space counts as used up."""
NAMES = tuple(
    start + end
    for start in ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z")
    for end in ("ab", "eg", "ilk", "onk", "ump", "arn")
)
"""Names of functions, which say nothing about what these do."""


@dataclass(frozen=True, slots=True)
class Item:
    """A function to be written, and what is said about it."""

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
        """The function's first line."""
        return signature(self.puzzle.name, self.puzzle.chain)

    @property
    def solution(self) -> str:
        """The reference solution: the whole function."""
        return f"{self.head}\n{body(self.puzzle.chain)}"


def items(
    seed: int,
    count: int,
    split: Split,
    level: int | tuple[int, int] = LEVELS,
    distractors: int | tuple[int, int] = DISTRACTORS,
) -> tuple[Item, ...]:
    """Make different functions from a seed; fewer of the same seed are the first of these.

    Args:
        seed: any whole number.
        count: how many.
        split: train or evaluation; they share no function.
        level: steps of a function, 1 to 4; a pair draws from fewest to most.
        distractors: statements about other functions; a pair draws from fewest to most.

    Raises:
        SettingError: a setting is out of its range, or there are not so many different functions.
    """
    check_request(seed, count, split)
    levels = span("level", level, LEVELS)
    extras = span("distractors", distractors, (0, _MAX_DISTRACTORS))
    random, misses = Random(f"{split}/{seed}"), 0
    found: list[Item] = []
    seen: set[tuple[str, str]] = set()
    while len(found) < count:
        chain, name = draw(random, random.randint(*levels)), random.choice(NAMES)
        content = name, behaviour(chain)
        if split_of(behaviour(chain)) != split:
            continue
        drawn = None if content in seen else puzzle(name, chain, random)
        if drawn is None:
            misses += 1
            if misses >= _PATIENCE:
                raise ran_out(f"{split} functions of level {level!r}", count, len(found))
            continue
        seen.add(content)
        misses = 0
        found.append(_item(f"{split}-{seed}/{len(found)}", drawn, random, extras))
    return tuple(found)


def pose(item: Item, question: str, whole: str, exam: Exam) -> Task:
    """The task of a function, whatever the form of its words and tests."""
    return Task(
        key=item.key,
        question=question,
        statements=item.statements,
        answer=item.solution,
        relevant=item.relevant,
        commitment=fenced(item.solution),
        whole=whole,
        details={"exam": exam, "level": len(item.puzzle.chain)},
    )


def _item(key: str, found: Puzzle, random: Random, extras: tuple[int, int]) -> Item:
    """Mix steps of other functions into those of a puzzle."""
    flagged = [
        (_told(index, found.name, step.words), True) for index, step in enumerate(found.chain)
    ]
    names = random.sample([name for name in NAMES if name != found.name], _MAX_DISTRACTORS)
    for name in names[: random.randint(*extras)]:
        index, step = random.randint(0, len(found.chain) - 1), draw(random, 1)[0]
        flagged.insert(random.randint(0, len(flagged)), (_told(index, name, step.words), False))
    statements, relevant = zip(*flagged, strict=True)
    return Item(key, found, statements, relevant)


def _told(index: int, name: str, words: str) -> str:
    return f"Step {index + 1} of {name}: {words}."
