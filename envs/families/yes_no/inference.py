"""Yes/no tasks whose answer follows from facts.

Yes and no alternate in random order, so the two are equally common in every set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random

from laconic.envs.benchmarks.generation import Candidate, Pair, Problem, leveled
from laconic.envs.task import Task

Make = Callable[[Random, bool], Problem]
"""Makes a problem whose answer is yes (True) or no."""


def generator(makes: Mapping[int, Sequence[Make]]) -> Callable[..., tuple[Task, ...]]:
    """Return a generator (`leveled`) of problems that draws one of several makers for each level.

    Of an even number of tasks half are answered with yes.
    """
    return leveled(partial(_plan, makes), "problems", (min(makes), max(makes)), max_distractors=12)


def _plan(
    makes: Mapping[int, Sequence[Make]], levels: Pair, extras: Pair
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


def _task(key: str, problem: Problem, random: Random, extras: Pair) -> Task:
    """Mix distractors into the facts of a problem, in any order."""
    others = problem.decoys(random, random.randint(*extras))
    flagged = [(fact, True) for fact in problem.facts]
    flagged += [(decoy, False) for decoy in others]
    random.shuffle(flagged)
    statements, relevant = zip(*flagged, strict=True)
    return Task(key, problem.question, statements, problem.answer, relevant, problem.working)
