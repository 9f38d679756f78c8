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
from laconic.envs.families.arithmetic.wages import wages
from laconic.envs.families.common.generation import Candidate, Pair, Problem, leveled, mix
from laconic.envs.task import Task

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


def _makes(levels: Pair, extras: Pair) -> Callable[[Random, str], Candidate[Task]]:
    def make(random: Random, key: str) -> Candidate[Task]:
        level = random.randint(*levels)
        problem = one_step(random) if level == 1 else random.choice(FAMILIES)(random, level)
        return Candidate(problem.content, lambda: _task(key, problem, random, extras))

    return make


def _task(key: str, problem: Problem, random: Random, extras: Pair) -> Task:
    """Mix distractors into the facts of a problem."""
    facts, others = problem.told(random), problem.decoys(random, random.randint(*extras))
    statements, relevant = mix(random, facts, others)
    return Task(key, problem.question, statements, problem.answer, relevant, problem.working)


generate = leveled(_makes, "problems", (1, 8), max_distractors=12)
"""Makes different tasks; a level is a number of arithmetic steps."""
