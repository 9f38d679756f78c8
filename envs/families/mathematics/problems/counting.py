"""Counting and probability from level 2 on: choices, draws, committees and expected values."""

from __future__ import annotations

from fractions import Fraction
from math import comb, perm
from random import Random

from laconic.envs.families.common.generation import Problem
from laconic.envs.families.common.words import ITEMS
from laconic.envs.families.mathematics.problems.tex import Family, somebody, tex


def choose(random: Random) -> Problem:
    """Level 2: choices with or without order."""
    person, item = somebody(random), random.choice(ITEMS)
    n, k = random.randint(4, 12), random.randint(2, 4)
    ordered = random.random() < 0.5
    value = perm(n, k) if ordered else comb(n, k)
    how = ", one after the other" if ordered else " at once"
    counts, sign = ("orders", "P") if ordered else ("ways", "C")
    facts = (f"{person} has ${n}$ different {item}.", f"{person} takes ${k}$ of the {item}{how}.")
    ask = f"In how many {counts} can {person} do this?"
    return Problem(facts, ask, str(value), f"{sign}({n}, {k}) = {value}")


def draw(random: Random) -> Problem:
    """Level 3: the probability that two drawn things are of one kind."""
    person = somebody(random)
    item, other = random.sample(ITEMS, 2)
    a, b = random.randint(2, 15), random.randint(2, 15)
    value = Fraction(comb(a, 2) + comb(b, 2), comb(a + b, 2))
    facts = (f"{person}'s bag holds ${a}$ {item}.", f"{person}'s bag holds ${b}$ {other}.")
    ask = (
        f"{person} draws two things from the bag, which holds nothing else. What is the probability"
        " that they are of one kind?"
    )
    working = f"(C({a}, 2) + C({b}, 2)) / C({a + b}, 2) = {tex(value)}"
    return Problem(facts, ask, tex(value), working)


def committee(random: Random) -> Problem:
    """Level 4: committees with at least one member of a group."""
    person = somebody(random)
    women, men, size = random.randint(3, 9), random.randint(3, 9), random.randint(2, 4)
    value = comb(women + men, size) - comb(men, size)
    facts = (
        f"{person}'s club has ${women}$ women.",
        f"{person}'s club has ${men}$ men.",
        f"A committee of {person}'s club has ${size}$ members.",
    )
    ask = f"How many committees of {person}'s club have at least one woman?"
    working = f"C({women + men}, {size}) - C({men}, {size}) = {value}"
    return Problem(facts, ask, str(value), working)


def success(random: Random) -> Problem:
    """Level 5: the probability of an exact number of successes."""
    person = somebody(random)
    chance = Fraction(random.randint(1, 5), random.randint(6, 9))
    n = random.randint(3, 6)
    k = random.randint(1, n - 1)
    value = comb(n, k) * chance**k * (1 - chance) ** (n - k)
    facts = (
        f"{person} hits the target with probability ${tex(chance)}$ at every throw.",
        f"{person} throws ${n}$ times.",
    )
    ask = f"What is the probability that {person} hits exactly ${k}$ times?"
    working = f"C({n}, {k}) p^{k} (1 - p)^{n - k} = {tex(value)}"
    return Problem(facts, ask, tex(value), working)


FAMILIES: dict[int, tuple[Family, ...]] = {2: (choose,), 3: (draw,), 4: (committee,), 5: (success,)}
"""The families of each level."""
