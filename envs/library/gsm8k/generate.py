"""Word problems of one to eight arithmetic steps.

Problems of level 1 are two short sentences with one number each, about one person and one item. The
shapes of sentences are few and regular, so that a very small model can learn them. A distractor of
level 1 is the easiest there is: another person, another item and the other kind of sentence. From
level 2 on it may differ in a single one of these.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from laconic.envs.benchmarks.generation import Candidate, Pair, Problem, leveled, mix
from laconic.envs.benchmarks.words import ITEMS, PEOPLE, another
from laconic.envs.library.gsm8k.amounts import comparison, diary, habit
from laconic.envs.library.gsm8k.money import business, journey, shopping, wages
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
"""Families of stories of two steps and more."""
GAIN = ("buys", "finds", "gets")
"""Verbs that add."""
LOSS = ("sells", "loses", "uses")
"""Verbs that subtract."""
_Shape = Callable[[Random, str, str], str]
_PIECES: tuple[_Shape, ...] = (
    lambda random, person, item: f"{person} has {random.randint(2, 9)} {item}.",
    lambda random, person, item: f"{person} {random.choice(GAIN)} {random.randint(2, 9)} {item}.",
    lambda random, person, item: f"{person} {random.choice(LOSS)} {random.randint(2, 9)} {item}.",
)
_BOXES: tuple[_Shape, ...] = (
    lambda random, person, item: f"{person} fills {random.randint(2, 9)} boxes with {item}.",
    lambda random, person, item: _puts(person, item, random.randint(2, 9)),
)
"""Kinds of sentences; a distractor is of the kind that the problem is not."""


def _makes(levels: Pair, extras: Pair) -> Callable[[Random, str], Candidate[Task]]:
    def make(random: Random, key: str) -> Candidate[Task]:
        level = random.randint(*levels)
        problem = one_step(random) if level == 1 else random.choice(FAMILIES)(random, level)
        return Candidate(problem.content, lambda: _task(key, problem, random, extras))

    return make


def _task(key: str, problem: Problem, random: Random, extras: Pair) -> Task:
    """Mix distractors into the facts of a problem."""
    facts, others = problem.ordered_facts(random), problem.decoys(random, random.randint(*extras))
    statements, relevant = mix(random, facts, others)
    return Task(key, problem.question, statements, problem.answer, relevant, problem.working)


def one_step(random: Random) -> Problem:
    """Make a problem of one addition, subtraction or multiplication, with an answer up to 81."""
    person, item = random.choice(PEOPLE), random.choice(ITEMS)
    operation = random.choice("+-*")
    if operation == "*":
        return _boxes(random, person, item)
    first, second = random.randint(2, 9), random.randint(2, 9)
    if operation == "-" and second > first:
        first, second = second, first
    verb = random.choice(GAIN if operation == "+" else LOSS)
    result = first + second if operation == "+" else first - second
    return Problem(
        facts=(f"{person} has {first} {item}.", f"{person} {verb} {second} {item}."),
        question=f"How many {item} does {person} have now?",
        answer=str(result),
        working=f"{first} {operation} {second} = {result}",
        decoy=lambda random: _decoy(random, person, item, _BOXES),
    )


def _boxes(random: Random, person: str, item: str) -> Problem:
    first, second = random.randint(2, 9), random.randint(2, 9)
    return Problem(
        facts=(f"{person} fills {first} boxes with {item}.", _puts(person, item, second)),
        question=f"How many {item} does {person} have in all?",
        answer=str(first * second),
        working=f"{first} * {second} = {first * second}",
        decoy=lambda random: _decoy(random, person, item, _PIECES),
    )


def _decoy(random: Random, person: str, item: str, shapes: tuple[_Shape, ...]) -> tuple[str, str]:
    """Draw a sentence about another person with another item."""
    person, item = another(random, PEOPLE, person), another(random, ITEMS, item)
    return f"{person} {item}", random.choice(shapes)(random, person, item)


def _puts(person: str, item: str, count: int) -> str:
    return f"{person} puts {count} {item} in each box."


generate = leveled(_makes, "problems", (1, 8), max_distractors=12)
"""Function that makes different tasks; a level is a number of arithmetic steps."""
