"""Drawing tasks from the families of word problems, each different, each in its part."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from laconic.envs.families.arithmetic.business import business
from laconic.envs.families.arithmetic.comparison import comparison
from laconic.envs.families.arithmetic.diary import diary
from laconic.envs.families.arithmetic.habit import habit
from laconic.envs.families.arithmetic.journey import journey
from laconic.envs.families.arithmetic.one_step import one_step
from laconic.envs.families.arithmetic.problem import Problem
from laconic.envs.families.arithmetic.shopping import shopping
from laconic.envs.families.arithmetic.wages import wages
from laconic.envs.families.common.generation import check_request, ran_out, span, split_of
from laconic.envs.task import Split, Task

LEVELS = (1, 8)
"""Fewest and most arithmetic steps."""
DISTRACTORS = (1, 2)
"""Fewest and most distractors of a task, by default."""
_MAX_DISTRACTORS = 12
_PATIENCE = 2_000
"""Problems in a row that were there already before the space counts as used up."""

FAMILIES: tuple[Callable[[Random, int], Problem], ...] = (
    diary,
    comparison,
    shopping,
    wages,
    business,
    journey,
    habit,
)
"""The families that tell stories of two steps and more."""


def generate(
    seed: int,
    count: int,
    split: Split,
    level: int | tuple[int, int] = LEVELS,
    distractors: int | tuple[int, int] = DISTRACTORS,
) -> tuple[Task, ...]:
    """Make different tasks from a seed; fewer of the same seed are the first of these.

    Args:
        seed: any whole number.
        count: how many tasks.
        split: train or evaluation; they share no problem.
        level: arithmetic steps of a task, 1 to 8; a pair draws from fewest to most.
        distractors: statements that do not matter; a pair draws from fewest to most.

    Raises:
        SettingError: a setting is out of its range, or there are not so many different problems.
    """
    check_request(seed, count, split)
    levels = span("level", level, LEVELS)
    extras = span("distractors", distractors, (0, _MAX_DISTRACTORS))
    random, misses = Random(f"{split}/{seed}"), 0
    tasks: list[Task] = []
    seen: set[str] = set()
    while len(tasks) < count:
        problem = _draw(random, levels)
        content = problem.content
        if split_of(content) != split:
            continue
        if content in seen:
            misses += 1
            if misses >= _PATIENCE:
                raise ran_out(f"{split} problems of level {level!r}", count, len(tasks))
            continue
        seen.add(content)
        misses = 0
        tasks.append(_task(f"{split}-{seed}/{len(tasks)}", problem, random, extras))
    return tuple(tasks)


def _draw(random: Random, levels: tuple[int, int]) -> Problem:
    level = random.randint(*levels)
    return one_step(random) if level == 1 else random.choice(FAMILIES)(random, level)


def _task(key: str, problem: Problem, random: Random, extras: tuple[int, int]) -> Task:
    """Mix distractors into the facts of a problem."""
    facts = list(problem.facts)
    if not problem.ordered:
        random.shuffle(facts)
    flagged = [(fact, True) for fact in facts]
    for decoy in _decoys(problem, random, random.randint(*extras)):
        flagged.insert(random.randint(0, len(flagged)), (decoy, False))
    statements, relevant = zip(*flagged, strict=True)
    return Task(key, problem.question, statements, problem.answer, relevant, problem.solution)


def _decoys(problem: Problem, random: Random, count: int) -> list[str]:
    decoys: dict[str, str] = {}
    while len(decoys) < count:
        sentence, subject = problem.decoy(random)
        decoys.setdefault(subject, sentence)
    return list(decoys.values())
