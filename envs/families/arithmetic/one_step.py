"""Level 1: two short sentences, one number each, about one person and one item.

The sentence shapes are few and regular, so that a very small model can learn them. A distractor is
the easiest there is: another person, another item and the other kind of sentence. From level 2 on
it may differ in a single one of these.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from laconic.envs.families.arithmetic.words import ITEMS, PEOPLE, another
from laconic.envs.families.common.generation import Problem

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
"""The kinds of sentences; a distractor is of the kind that the problem is not."""


def one_step(random: Random) -> Problem:
    """A problem of one addition, subtraction or multiplication with an answer from 0 to 81."""
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
    """A sentence about another person with another item."""
    person, item = another(random, PEOPLE, person), another(random, ITEMS, item)
    return f"{person} {item}", random.choice(shapes)(random, person, item)


def _puts(person: str, item: str, count: int) -> str:
    return f"{person} puts {count} {item} in each box."
