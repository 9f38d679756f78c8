"""Drawing of different problems from the subjects.

A distractor is a condition of a problem of another subject.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from types import MappingProxyType

from laconic.envs.benchmarks.generation import (
    Candidate,
    Problem,
    Span,
    draw_different,
    mix,
    span,
)
from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.library.math.problems import level_one
from laconic.envs.library.math.problems.continuous import ALGEBRA, GEOMETRY, PRECALCULUS
from laconic.envs.library.math.problems.discrete import COUNTING, NUMBER_THEORY
from laconic.envs.library.math.problems.tex import Family
from laconic.envs.task import Split, Task

LEVELS = (1, 5)
"""Easiest and hardest level."""
DISTRACTORS = (0, 4)
"""Minimum and maximum distractors; at most one from each other subject."""
FAMILIES: Mapping[str, Mapping[int, tuple[Family, ...]]] = MappingProxyType(
    {
        "algebra": {1: (level_one.algebra,), **ALGEBRA},
        "number_theory": {1: (level_one.number_theory,), **NUMBER_THEORY},
        "counting": {1: (level_one.counting,), **COUNTING},
        "geometry": {1: (level_one.geometry,), **GEOMETRY},
        "precalculus": {1: (level_one.precalculus,), **PRECALCULUS},
    }
)
"""Functions that draw a problem, by subject and level."""


def generate(
    seed: int,
    count: int,
    split: Split,
    level: Span = LEVELS,
    subjects: str | Sequence[str] = tuple(FAMILIES),
    distractors: Span = 1,
) -> tuple[Task, ...]:
    """Generate different tasks; see `draw_different` for seed, count and split.

    Args:
        seed: any whole number.
        count: number of tasks.
        split: `train` or `evaluation`.
        level: 1 to 5; a pair draws from lowest to highest.
        subjects: one or several of `FAMILIES`.
        distractors: number of statements that do not matter; a pair draws from lowest to highest.

    Raises:
        UnknownNameError: there is no such subject.
    """
    levels, extras = span("level", level, LEVELS), span("distractors", distractors, DISTRACTORS)
    chosen = _subjects(subjects)

    def make(random: Random, key: str) -> Candidate[Task]:
        subject, drawn_level = random.choice(chosen), random.randint(*levels)
        problem = _draw(random, subject, drawn_level)
        return Candidate(
            problem.content,
            lambda: _task(key, problem, random, random.randint(*extras), subject, drawn_level),
        )

    kind = f"problems of level {level!r} and subjects {chosen!r}"
    return draw_different(make, seed, count, split, kind)


def _draw(random: Random, subject: str, level: int) -> Problem:
    return random.choice(FAMILIES[subject][level])(random)


def _task(
    key: str, problem: Problem, random: Random, distractors: int, subject: str, level: int
) -> Task:
    """Mix conditions of other subjects into those of a problem."""
    facts = problem.ordered_facts(random)
    others = random.sample([name for name in FAMILIES if name != subject], distractors)
    distracting = (random.choice(_draw(random, other, level).facts) for other in others)
    statements, relevant = mix(random, facts, distracting)
    return Task(
        key,
        problem.question,
        statements,
        problem.answer,
        relevant,
        problem.working,
        answer_text=rf"\boxed{{{problem.answer}}}",
        details={"level": level, "subject": subject},
    )


def _subjects(subjects: str | Sequence[str]) -> tuple[str, ...]:
    chosen = (subjects,) if isinstance(subjects, str) else tuple(subjects)
    for subject in chosen:
        if subject not in FAMILIES:
            raise UnknownNameError("subject in env.generator.subjects", subject, FAMILIES)
    if not chosen:
        raise SettingError(
            f"env.generator.subjects must name at least one of {', '.join(FAMILIES)}"
        )
    return chosen
