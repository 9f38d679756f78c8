"""Drawing of functions to write, all different, each in its split.

A digest of a function's results on fixed inputs assigns it to training or evaluation. So no
function is ever in both, whatever the seeds, its name, its examples and its description.

The tests of a function distinguish it from its near neighbors: every neighbor that differs on some
input of the pool fails at least one test. A chain of steps gives no puzzle if a step can be left
out unnoticed, if its results hardly vary, or if they grow too large to read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

from laconic.envs.benchmarks.generation import Candidate, Pair, leveled, mix
from laconic.envs.families.coding.exam import Exam
from laconic.envs.families.coding.extract import fenced
from laconic.envs.families.coding.function import (
    Chain,
    body,
    draw,
    inputs,
    modest,
    neighbors,
    run,
    shortened,
    signature,
)
from laconic.envs.families.coding.moves import TYPES
from laconic.envs.task import Task

_POOL = 16
"""Number of inputs from which a puzzle's tests and examples are chosen."""
_EXAMPLES = 2
_FEWEST_TESTS = 6
_FEWEST_RESULTS = 4
"""Minimum number of different results of a function on its pool."""
_FIXED = {kind: inputs(kind, 24, Random(f"fixed/{kind}")) for kind in TYPES}
"""Inputs that distinguish functions, the same for all seeds."""


@dataclass(frozen=True, slots=True)
class Puzzle:
    """A function to write."""

    name: str
    """Name of the function, which reveals nothing about it."""
    chain: Chain
    """Steps of the function."""
    examples: tuple[tuple[Any, Any], ...]
    """Inputs and results that are shown."""
    tests: tuple[tuple[Any, Any], ...]
    """Inputs and results that are hidden; none of them is an example."""


def puzzle(name: str, chain: Chain, random: Random) -> Puzzle | None:
    """Return the puzzle of a chain, or None if the chain does not give a good one."""
    pool = inputs(chain[0].move.takes, _POOL, random)
    results = [run(chain, value) for value in pool]
    if not modest(results) or len({repr(result) for result in results}) < _FEWEST_RESULTS:
        return None
    if any(not _differences(rest, pool, results) for rest in shortened(chain)):
        return None
    all_differences = (_differences(other, pool, results) for other in neighbors(chain, random))
    chosen = _cover([differences for differences in all_differences if differences])
    rest = [index for index in range(_POOL) if index not in chosen]
    random.shuffle(rest)
    example_places, spare = rest[:_EXAMPLES], rest[_EXAMPLES:]
    tests = sorted([*chosen, *spare[: max(0, _FEWEST_TESTS - len(chosen))]])
    pairs = list(zip(pool, results, strict=True))
    return Puzzle(
        name, chain, tuple(pairs[i] for i in example_places), tuple(pairs[i] for i in tests)
    )


@lru_cache(maxsize=65_536)
def behavior(chain: Chain) -> str:
    """Return the results of a function on fixed inputs, which identify it whatever its words."""
    kind = chain[0].move.takes
    return f"{kind}: {[run(chain, value) for value in _FIXED[kind]]!r}"


def _differences(other: Chain, pool: Sequence[Any], results: Sequence[Any]) -> frozenset[int]:
    """Return the indices of the inputs on which another chain gives another result."""
    return frozenset(i for i, value in enumerate(pool) if run(other, value) != results[i])


def _cover(sets: Sequence[frozenset[int]]) -> list[int]:
    """Return few indices such that every set contains one of them, chosen greedily."""
    uncovered, chosen = list(sets), []
    while uncovered:
        counts = [sum(index in places for places in uncovered) for index in range(_POOL)]
        best = counts.index(max(counts))
        chosen.append(best)
        uncovered = [places for places in uncovered if best not in places]
    return chosen


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
