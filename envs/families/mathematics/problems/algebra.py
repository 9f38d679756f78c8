"""Algebra from level 2 on: equations, systems, quadratics and inequalities."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from laconic.envs.families.common.generation import Problem
from laconic.envs.families.mathematics.problems.tex import Family, given, root, signed, tex, times


def linear(random: Random) -> Problem:
    """Level 2: one equation with one unknown."""
    factor, value, shift = random.randint(2, 12), random.randint(-12, 12), random.randint(2, 40)
    total = factor * value + shift
    return Problem(
        given("Let ${} = {}$.", a=factor, b=shift, c=total),
        "For which $x$ is $ax + b = c$?",
        str(value),
        f"x = ({total} - {shift}) / {factor} = {value}",
    )


def average(random: Random) -> Problem:
    """Level 2: the mean of three numbers."""
    numbers = [random.randint(1, 60) for _ in range(3)]
    mean = Fraction(sum(numbers), 3)
    facts = given("Let ${} = {}$.", **dict(zip("pqr", numbers, strict=True)))
    working = f"({' + '.join(map(str, numbers))}) / 3 = {tex(mean)}"
    return Problem(facts, "What is the mean of $p$, $q$ and $r$?", tex(mean), working)


def system(random: Random) -> Problem:
    """Level 3: two equations with two unknowns; the ordered pair is asked."""
    x, y = random.randint(-15, 15), random.randint(-15, 15)
    a, b, c, d = (random.randint(1, 6) for _ in range(4))
    return Problem(
        (
            f"${times(a, 'x')} + {times(b, 'y')} = {a * x + b * y}$.",
            f"${times(c, 'x')} - {times(d, 'y')} = {c * x - d * y}$.",
        ),
        "Find the ordered pair $(x, y)$.",
        f"({x}, {y})",
        f"eliminating one unknown gives x = {x} and y = {y}",
    )


def ratio(random: Random) -> Problem:
    """Level 3: a quotient of quotients."""
    a, b, c, d = (random.randint(2, 15) for _ in range(4))
    value = Fraction(a * c, b * d)
    return Problem(
        (
            rf"$\frac{{x}}{{y}} = \frac{{{a}}}{{{b}}}$.",
            rf"$\frac{{y}}{{z}} = \frac{{{c}}}{{{d}}}$.",
        ),
        r"Find $\frac{x}{z}$ as a common fraction.",
        tex(value),
        rf"\frac{{{a}}}{{{b}}} * \frac{{{c}}}{{{d}}} = {tex(value)}",
    )


def quadratic(random: Random) -> Problem:
    """Level 4: the larger root of a monic quadratic, mostly with a radical."""
    half, below = random.randint(-12, 12), random.randint(2, 60)
    part = root(below)
    summed = f"{half} + {part}" if half else part
    answer = str(half + int(part)) if part.isdecimal() else summed
    return Problem(
        (
            f"The roots of the monic quadratic $f$ have sum ${2 * half}$.",
            f"The roots of the monic quadratic $f$ have product ${half * half - below}$.",
        ),
        "What is the larger root of $f$?",
        answer,
        rf"(x {signed(-half)})^2 = {below}, so x = {half} + \sqrt{{{below}}}",
    )


def inequality(random: Random) -> Problem:
    """Level 5: a quadratic inequality, whose solution is one interval or two rays."""
    low = random.randint(-15, 12)
    high = low + random.randint(1, 15)
    inside, strict = random.random() < 0.5, random.random() < 0.5
    sign = ("<" if strict else r"\le") if inside else (">" if strict else r"\ge")
    opening, closing = ("(", ")") if strict else ("[", "]")
    answer = f"{opening}{low}, {high}{closing}"
    if not inside:
        answer = rf"(-\infty, {low}{closing} \cup {opening}{high}, \infty)"
    return Problem(
        given("Let ${} = {}$.", s=low + high, t=low * high),
        f"Solve $x^2 - sx + t {sign} 0$ in interval notation.",
        answer,
        f"the roots are {low} and {high}",
    )


def powers(random: Random) -> Problem:
    """Level 5: the sum of the squares of the reciprocals of two roots."""
    total, product = random.randint(-15, 15), random.choice((-1, 1)) * random.randint(2, 15)
    value = Fraction(total * total - 2 * product, product * product)
    return Problem(
        (
            f"The sum of two numbers $u$ and $v$ is ${total}$.",
            f"The product of $u$ and $v$ is ${product}$.",
        ),
        r"Find $\frac{1}{u^2} + \frac{1}{v^2}$.",
        tex(value),
        f"(({total})^2 - 2({product})) / ({product})^2 = {tex(value)}",
    )


FAMILIES: dict[int, tuple[Family, ...]] = {
    2: (linear, average),
    3: (system, ratio),
    4: (quadratic,),
    5: (inequality, powers),
}
"""The families of each level."""
