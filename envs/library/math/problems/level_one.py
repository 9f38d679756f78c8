"""Level 1 of every subject: two short facts of one digit each, and one step.

The forms are few and regular, so that a very small model can learn them. Each subject has its own
words, so distractors from other subjects can be recognized.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from laconic.envs.benchmarks.generation import Problem
from laconic.envs.benchmarks.words import ITEMS
from laconic.envs.library.math.problems.tex import somebody

_LETTERS = "abcdhkmnpqrstuvwxyz"
_THINGS = tuple(
    "banner board card carpet cloth curtain desk door field garden lawn mat mirror page panel"
    " photo poster rug shelf sheet stage table tile wall window yard".split()
)


def algebra(random: Random) -> Problem:
    """Ask for the sum, difference or product of two letters."""
    letter, other = random.sample(_LETTERS, 2)
    facts = f"Let {letter} = {{first}}.", f"Let {other} = {{second}}."
    return _step(random, facts, {sign: f"What is {letter} {sign} {other}?" for sign in "+-*"})


def number_theory(random: Random) -> Problem:
    """Ask for the remainder of a division."""
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
    """Ask for the ways to choose one thing of each kind, or one of either kind."""
    item, other = random.sample(ITEMS, 2)
    ask = f"How many ways are there to choose one of the {item}"
    facts = f"There are {{first}} {item}.", f"There are {{second}} {other}."
    return _step(random, facts, {"*": f"{ask} and one of the {other}?", "+": f"{ask} or {other}?"})


def geometry(random: Random) -> Problem:
    """Ask for the area of a rectangle, or the sum of its sides."""
    owned = f"{somebody(random)}'s {random.choice(_THINGS)}"
    facts = f"{owned} is {{first}} long.", f"{owned} is {{second}} wide."
    asks = {"*": f"What is the area of {owned}?", "+": f"What is the length plus width of {owned}?"}
    return _step(random, facts, asks)


def precalculus(random: Random) -> Problem:
    """Ask for the value of a function at a point."""
    name, point = random.choice("FGHPQRST"), random.choice("ABCDKLMN")
    facts = f"{point} is {{first}}.", f"{name}(x) is x {{sign}} {{second}}."
    return _step(random, facts, dict.fromkeys("+-*", f"What is {name}({point})?"))


def _step(random: Random, facts: Sequence[str], questions: Mapping[str, str]) -> Problem:
    """Draw a problem of one step with two digits.

    The facts have gaps for `first`, `second` and `sign`. `questions` has the question for each sign
    that may be drawn.
    """
    first, second = random.randint(2, 9), random.randint(2, 9)
    sign = random.choice("".join(questions))
    if sign == "-" and second > first:
        first, second = second, first
    result = {"+": first + second, "-": first - second, "*": first * second}[sign]
    return Problem(
        tuple(fact.format(first=first, second=second, sign=sign) for fact in facts),
        questions[sign],
        str(result),
        f"{first} {sign} {second} = {result}",
    )
