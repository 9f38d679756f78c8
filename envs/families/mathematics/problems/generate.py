"""Drawing problems from the subjects, each different, each in its part.

A digest of a problem's content (its conditions and its question) says whether it is a train or an
evaluation problem. So no problem is ever in both, whatever the seeds, and neither the order of the
statements nor the distractors can smuggle one across. A distractor is a condition of a problem of
another subject.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from types import MappingProxyType

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.envs.families.common.generation import check_request, ran_out, span, split_of
from laconic.envs.families.mathematics.problems import (
    algebra,
    counting,
    geometry,
    level_one,
    number_theory,
    precalculus,
)
from laconic.envs.families.mathematics.problems.problem import Family, Problem
from laconic.envs.task import Split, Task

LEVELS = (1, 5)
"""Easiest and hardest level."""
DISTRACTORS = (0, 4)
"""Fewest and most distractors; one of each other subject at most."""
FAMILIES: Mapping[str, Mapping[int, tuple[Family, ...]]] = MappingProxyType(
    {
        "algebra": {1: (level_one.algebra,), **algebra.FAMILIES},
        "number_theory": {1: (level_one.number_theory,), **number_theory.FAMILIES},
        "counting": {1: (level_one.counting,), **counting.FAMILIES},
        "geometry": {1: (level_one.geometry,), **geometry.FAMILIES},
        "precalculus": {1: (level_one.precalculus,), **precalculus.FAMILIES},
    }
)
"""The families of each subject and level."""
_PATIENCE = 2_000


def generate(
    seed: int,
    count: int,
    split: Split,
    level: int | tuple[int, int] = LEVELS,
    subjects: str | Sequence[str] = tuple(FAMILIES),
    distractors: int | tuple[int, int] = 1,
) -> tuple[Task, ...]:
    """Make different tasks from a seed; fewer of the same seed are the first of these.

    Args:
        seed: any whole number.
        count: how many tasks.
        split: train or evaluation; they share no problem.
        level: 1 to 5; a pair draws from easiest to hardest.
        subjects: one of `FAMILIES` or several of them.
        distractors: statements that do not matter; a pair draws from fewest to most.

    Raises:
        SettingError: a setting is out of its range, or there are not so many different problems.
        UnknownNameError: there is no such subject.
    """
    check_request(seed, count, split)
    levels, extras = span("level", level, LEVELS), span("distractors", distractors, DISTRACTORS)
    chosen = _subjects(subjects)
    random, misses = Random(f"{split}/{seed}"), 0
    tasks: list[Task] = []
    seen: set[str] = set()
    while len(tasks) < count:
        subject, drawn = random.choice(chosen), random.randint(*levels)
        problem = _draw(random, subject, drawn)
        if split_of(problem.content) != split:
            continue
        if problem.content in seen:
            misses += 1
            if misses >= _PATIENCE:
                kind = f"{split} problems of level {level!r} and subjects {chosen!r}"
                raise ran_out(kind, count, len(tasks))
            continue
        seen.add(problem.content)
        misses = 0
        key = f"{split}-{seed}/{len(tasks)}"
        tasks.append(_task(key, problem, random, random.randint(*extras), subject, drawn))
    return tuple(tasks)


def _draw(random: Random, subject: str, level: int) -> Problem:
    return random.choice(FAMILIES[subject][level])(random)


def _task(
    key: str, problem: Problem, random: Random, distractors: int, subject: str, level: int
) -> Task:
    """Mix conditions of other subjects into those of a problem."""
    flagged = [(fact, True) for fact in problem.facts]
    random.shuffle(flagged)
    others = [name for name in FAMILIES if name != subject]
    for other in random.sample(others, distractors):
        decoy = random.choice(_draw(random, other, level).facts)
        flagged.insert(random.randint(0, len(flagged)), (decoy, False))
    statements, relevant = zip(*flagged, strict=True)
    return Task(
        key,
        problem.question,
        statements,
        problem.answer,
        relevant,
        problem.working,
        commitment=rf"\boxed{{{problem.answer}}}",
        details={"level": level, "subject": subject},
    )


def _subjects(subjects: str | Sequence[str]) -> tuple[str, ...]:
    chosen = (subjects,) if isinstance(subjects, str) else tuple(subjects)
    for subject in chosen:
        if subject not in FAMILIES:
            raise UnknownNameError("subject in generator.subjects", subject, FAMILIES)
    if not chosen:
        raise SettingError(f"generator.subjects must name at least one of {', '.join(FAMILIES)}")
    return chosen
