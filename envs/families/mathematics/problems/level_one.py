"""Level 1: two short givens of one digit each and one step, in every subject.

The shapes are few and regular, so that a very small model can learn them, and each subject has its
own words: what comes from another subject is seen not to matter.
"""

from __future__ import annotations

from random import Random

from laconic.envs.families.arithmetic.words import ITEMS
from laconic.envs.families.mathematics.problems.problem import Problem, somebody

_LETTERS = "abcdhkmnpqrstuvwxyz"
_THINGS = tuple(
    "banner board card carpet cloth curtain desk door field garden lawn mat mirror page panel"
    " photo poster rug shelf sheet stage table tile wall window yard".split()
)


def algebra(random: Random) -> Problem:
    """Two letters and their sum, difference or product."""
    one, other = random.sample(_LETTERS, 2)
    return _step(random, "+-*", f"Let {one} = {{}}.", f"Let {other} = {{}}.", one, other)


def number_theory(random: Random) -> Problem:
    """The remainder of a division."""
    person = somebody(random)
    first, second = random.randint(2, 9), random.randint(2, 9)
    item = random.choice(ITEMS)
    return Problem(
        (f"{person} shares {first} {item}.", f"{person} makes groups of {second} {item}."),
        f"What is the remainder when {person} groups the {item}?",
        str(first % second),
        f"{first} mod {second} = {first % second}",
    )


def counting(random: Random) -> Problem:
    """Ways to choose one of each kind, or one of either kind."""
    one, other = random.sample(ITEMS, 2)
    first, second = random.randint(2, 9), random.randint(2, 9)
    operation = random.choice("*+")
    result = first * second if operation == "*" else first + second
    ask = (
        f"one of the {one} and one of the {other}"
        if operation == "*"
        else f"one of the {one} or {other}"
    )
    return Problem(
        (f"There are {first} {one}.", f"There are {second} {other}."),
        f"How many ways are there to choose {ask}?",
        str(result),
        f"{first} {operation} {second} = {result}",
    )


def geometry(random: Random) -> Problem:
    """The area of a rectangle, or the sum of its sides."""
    owned = f"{somebody(random)}'s {random.choice(_THINGS)}"
    first, second = random.randint(2, 9), random.randint(2, 9)
    operation = random.choice("*+")
    result = first * second if operation == "*" else first + second
    ask = "area" if operation == "*" else "length plus width"
    return Problem(
        (f"{owned} is {first} long.", f"{owned} is {second} wide."),
        f"What is the {ask} of {owned}?",
        str(result),
        f"{first} {operation} {second} = {result}",
    )


def precalculus(random: Random) -> Problem:
    """The value of a function at a point."""
    name, point = random.choice("FGHPQRST"), random.choice("ABCDKLMN")
    first, second = random.randint(2, 9), random.randint(2, 9)
    operation = random.choice("+-*")
    if operation == "-" and second > first:
        first, second = second, first
    result = _result(first, operation, second)
    return Problem(
        (f"{point} is {first}.", f"{name}(x) is x {operation} {second}."),
        f"What is {name}({point})?",
        str(result),
        f"{first} {operation} {second} = {result}",
    )


def _step(
    random: Random, operations: str, first_fact: str, second_fact: str, one: str, other: str
) -> Problem:
    first, second = random.randint(2, 9), random.randint(2, 9)
    operation = random.choice(operations)
    if operation == "-" and second > first:
        first, second = second, first
    result = _result(first, operation, second)
    return Problem(
        (first_fact.format(first), second_fact.format(second)),
        f"What is {one} {operation} {other}?",
        str(result),
        f"{first} {operation} {second} = {result}",
    )


def _result(first: int, operation: str, second: int) -> int:
    if operation == "*":
        return first * second
    return first + second if operation == "+" else first - second
