"""Yes/no tasks whose answer follows from facts: the record, and drawing sets of them.

Yes and no alternate in random order, so the two are equally common in every set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from laconic.envs.families.common.generation import (
    DISTRACTORS,
    Candidate,
    Posed,
    Span,
    decoys,
    draw_different,
    span,
)
from laconic.envs.task import Split, Task

Decoy = Callable[[Random], tuple[object, str]]
"""Draws what a statement that does not matter is about, and the statement."""

_MAX_DISTRACTORS = 12


@dataclass(frozen=True, slots=True)
class Inference(Posed):
    """A yes/no question and the facts it follows from."""

    holds: bool
    """True: the answer is yes."""
    working: str
    """What the facts come to, in few words."""
    decoy: Decoy
    """Draws a distractor and its subject; two distractors of one task have different subjects."""


Make = Callable[[Random, bool], Inference]
"""Makes a problem whose answer is yes (True) or no."""


def generator(makes: Mapping[int, Sequence[Make]]) -> Callable[..., tuple[Task, ...]]:
    """What makes the tasks of a benchmark from problems of so many levels.

    Args:
        makes: for each level what makes its problems.

    Returns:
        A function that draws tasks as `draw_different` does, of seed, count, split, `level` and
        `distractors`; of an even number of tasks half are answered with yes.
    """
    limits = min(makes), max(makes)

    def generate(
        seed: int,
        count: int,
        split: Split,
        level: Span = limits,
        distractors: Span = DISTRACTORS,
    ) -> tuple[Task, ...]:
        levels = span("level", level, limits)
        extras = span("distractors", distractors, (0, _MAX_DISTRACTORS))
        make = _plan(makes, levels, extras)
        return draw_different(make, seed, count, split, f"problems of level {levels!r}")

    return generate


def _plan(
    makes: Mapping[int, Sequence[Make]], levels: tuple[int, int], extras: tuple[int, int]
) -> Callable[[Random, str], Candidate[Task]]:
    plans: dict[str, tuple[Make, bool]] = {}

    def make(random: Random, key: str) -> Candidate[Task]:
        if key not in plans:
            # Chosen once per task: else the kind of question would tell, where problems get rare,
            # which answer it has.
            chosen = random.choice(makes[random.randint(*levels)])
            first = len(plans) % 2 == 0
            holds = random.random() < 0.5 if first else not next(reversed(plans.values()))[1]
            plans[key] = chosen, holds
        question, holds = plans[key]
        problem = question(random, holds)
        return Candidate(problem.content, lambda: _task(key, problem, random, extras))

    return make


def _task(key: str, problem: Inference, random: Random, extras: tuple[int, int]) -> Task:
    """Mix distractors into the facts of a problem, in any order."""
    others = decoys(problem.decoy, random, random.randint(*extras))
    flagged = [(fact, True) for fact in problem.facts]
    flagged += [(decoy, False) for decoy in others]
    random.shuffle(flagged)
    statements, relevant = zip(*flagged, strict=True)
    answer = "yes" if problem.holds else "no"
    return Task(key, problem.question, statements, answer, relevant, problem.working)
