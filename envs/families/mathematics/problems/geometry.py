"""Geometry from level 2 on: triangles, circles, solids and the law of cosines."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from laconic.envs.families.common.generation import Problem
from laconic.envs.families.mathematics.problems.tex import Family, root, somebody, tex, times

ROOT_OF_THREE = r"\sqrt{3}"


def triangle(random: Random) -> Problem:
    """Level 2: the area of a triangle."""
    name = f"{somebody(random)}'s triangle"
    base, height = random.randint(2, 40), random.randint(2, 40)
    value = Fraction(base * height, 2)
    facts = (f"{name} has base ${base}$.", f"{name} has height ${height}$.")
    working = f"{base} * {height} / 2 = {tex(value)}"
    return Problem(facts, f"What is the area of {name}?", tex(value), working)


def hypotenuse(random: Random) -> Problem:
    """Level 3: the third side of a right triangle, mostly a radical."""
    name = f"{somebody(random)}'s right triangle"
    a, b = random.randint(1, 25), random.randint(1, 25)
    value = root(a * a + b * b)
    facts = (f"One leg of {name} is ${a}$.", f"The other leg of {name} is ${b}$.")
    working = rf"\sqrt{{{a}^2 + {b}^2}} = {value}"
    return Problem(facts, f"How long is the hypotenuse of {name}?", value, working)


def ring(random: Random) -> Problem:
    """Level 3: the area between two circles."""
    name = f"{somebody(random)}'s ring"
    inner = random.randint(1, 20)
    outer = inner + random.randint(1, 20)
    value = times(outer * outer - inner * inner, r"\pi")
    facts = (f"{name} has inner radius ${inner}$.", f"{name} has outer radius ${outer}$.")
    working = rf"\pi({outer}^2 - {inner}^2) = {value}"
    return Problem(facts, f"What is the area of {name}?", value, working)


def cone(random: Random) -> Problem:
    """Level 4: the volume of a cone."""
    name = f"{somebody(random)}'s cone"
    radius, height = random.randint(1, 20), random.randint(1, 20)
    value = times(Fraction(radius * radius * height, 3), r"\pi")
    facts = (f"{name} has a base of radius ${radius}$.", f"{name} has height ${height}$.")
    working = rf"\frac{{1}}{{3}}\pi * {radius}^2 * {height} = {value}"
    return Problem(facts, f"What is the volume of {name}?", value, working)


def cosines(random: Random) -> Problem:
    """Level 5: the third side of a triangle with an angle of 60 or 120 degrees."""
    name = f"{somebody(random)}'s triangle"
    a, b = random.randint(2, 25), random.randint(2, 25)
    angle = random.choice((60, 120))
    square = a * a + b * b + (a * b if angle == 120 else -a * b)
    value = root(square)
    facts = (
        f"One side of {name} is ${a}$.",
        f"Another side of {name} is ${b}$.",
        rf"The angle between these sides of {name} is ${angle}^\circ$.",
    )
    ask = f"How long is the third side of {name}?"
    return Problem(facts, ask, value, rf"\sqrt{{{square}}} = {value}")


def segment(random: Random) -> Problem:
    """Level 5: a sector of 60 degrees without its triangle."""
    name = f"{somebody(random)}'s circle"
    radius = 2 * random.randint(1, 60)
    sector = times(Fraction(radius * radius, 6), r"\pi")
    value = f"{sector} - {times(radius * radius // 4, ROOT_OF_THREE)}"
    facts = (f"{name} has radius ${radius}$.", rf"A chord of {name} spans an arc of $60^\circ$.")
    ask = f"What is the area of the smaller part that the chord cuts off {name}?"
    return Problem(facts, ask, value, f"sector minus triangle = {value}")


FAMILIES: dict[int, tuple[Family, ...]] = {
    2: (triangle,),
    3: (hypotenuse, ring),
    4: (cone,),
    5: (cosines, segment),
}
"""The families of each level."""
