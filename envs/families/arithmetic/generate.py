"""Drawing tasks from the families of word problems, each different."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from laconic.envs.families.arithmetic.business import business
from laconic.envs.families.arithmetic.comparison import comparison
from laconic.envs.families.arithmetic.diary import diary
from laconic.envs.families.arithmetic.habit import habit
from laconic.envs.families.arithmetic.journey import journey
from laconic.envs.families.arithmetic.one_step import one_step
from laconic.envs.families.arithmetic.shopping import shopping
from laconic.envs.families.arithmetic.tale import Problem
from laconic.envs.families.arithmetic.wages import wages
from laconic.envs.families.common.generation import (
    DISTRACTORS,
    Candidate,
    Span,
    decoys,
    draw_different,
    mix,
    span,
)
from laconic.envs.task import Split, Task

LEVELS = (1, 8)
"""Fewest and most arithmetic steps."""
_MAX_DISTRACTORS = 12

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
    level: Span = LEVELS,
    distractors: Span = DISTRACTORS,
) -> tuple[Task, ...]:
    """Make different tasks, as `draw_different` does.

    `level` is the arithmetic steps of a task, 1 to 8, `distractors` its statements that do not
    matter; of each a pair draws from fewest to most.
    """
    levels = span("level", level, LEVELS)
    extras = span("distractors", distractors, (0, _MAX_DISTRACTORS))

    def make(random: Random, key: str) -> Candidate[Task]:
        drawn = random.randint(*levels)
        problem = one_step(random) if drawn == 1 else random.choice(FAMILIES)(random, drawn)
        return Candidate(problem.content, lambda: _task(key, problem, random, extras))

    return draw_different(make, seed, count, split, f"problems of level {level!r}")


def _task(key: str, problem: Problem, random: Random, extras: tuple[int, int]) -> Task:
    """Mix distractors into the facts of a problem."""
    facts = list(problem.facts)
    if not problem.ordered:
        random.shuffle(facts)
    others = decoys(problem.decoy, random, random.randint(*extras))
    statements, relevant = mix(random, facts, others)
    return Task(key, problem.question, statements, problem.answer, relevant, problem.solution)
