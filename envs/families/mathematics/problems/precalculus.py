"""Pre-calculus from level 2 on: vectors, determinants, complex numbers, matrices, angles."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from laconic.envs.families.common.generation import Problem
from laconic.envs.families.mathematics.problems.tex import Family, given, root, signed, tex, times

_FIFTEENTHS = {
    15: ((r"(\sqrt{6} - \sqrt{2})", 4), (r"(\sqrt{6} + \sqrt{2})", 4)),
    30: (("", 2), (r"\sqrt{3}", 2)),
    45: ((r"\sqrt{2}", 2), (r"\sqrt{2}", 2)),
    60: ((r"\sqrt{3}", 2), ("", 2)),
    75: ((r"(\sqrt{6} + \sqrt{2})", 4), (r"(\sqrt{6} - \sqrt{2})", 4)),
}
"""Sine and cosine of some angles in degrees, each as numerator and denominator."""


def dot(random: Random) -> Problem:
    """Level 2: a dot product."""
    u, v = _vector(random), _vector(random)
    value = u[0] * v[0] + u[1] * v[1]
    facts = given(r"Let $\mathbf{{{}}} = {}$.", u=u, v=v)
    working = f"({u[0]})({v[0]}) + ({u[1]})({v[1]}) = {value}"
    return Problem(facts, r"What is $\mathbf{u} \cdot \mathbf{v}$?", str(value), working)


def distance(random: Random) -> Problem:
    """Level 3: the distance of two points."""
    p, q = _vector(random), _vector(random)
    if p == q:
        q = (q[0] + 1, q[1])
    square = (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2
    facts = given("Point ${}$ is ${}$.", P=p, Q=q)
    value = root(square)
    return Problem(facts, "How far is $P$ from $Q$?", value, rf"\sqrt{{{square}}} = {value}")


def product(random: Random) -> Problem:
    """Level 4: a product of complex numbers."""
    w, z = _vector(random), _vector(random)
    real, imaginary = w[0] * z[0] - w[1] * z[1], w[0] * z[1] + w[1] * z[0]
    value = _complex(real, imaginary)
    facts = given("Let ${} = {}$.", w=_complex(*w), z=_complex(*z))
    return Problem(facts, "Find $wz$.", value, f"({_complex(*w)})({_complex(*z)}) = {value}")


def applied(random: Random) -> Problem:
    """Level 4: a matrix applied to a vector."""
    a, b, c, d, x, y = (random.randint(-6, 6) for _ in range(6))
    value = rf"\begin{{pmatrix}} {a * x + b * y} \\ {c * x + d * y} \end{{pmatrix}}"
    rows = {"M": rf"{a} & {b} \\ {c} & {d}", "w": rf"{x} \\ {y}"}
    facts = given(r"Let $\mathbf{{{}}} = \begin{{pmatrix}} {} \end{{pmatrix}}$.", **rows)
    return Problem(facts, r"Find $\mathbf{M} \mathbf{w}$.", value, f"row by row: {value}")


def rotated(random: Random) -> Problem:
    """Level 5: a multiple of an exact sine or cosine, in any quadrant."""
    radius, angle = random.randint(1, 40), random.choice(tuple(_FIFTEENTHS))
    quarter, sine = random.randint(0, 3), random.random() < 0.5
    (s, c), place = _FIFTEENTHS[angle], 90 * quarter + angle
    # Adding a right angle turns (sin, cos) into (cos, -sin).
    values = [(s, 1), (c, 1), (s, -1), (c, -1)], [(c, 1), (s, -1), (c, -1), (s, 1)]
    exact, sign = values[0 if sine else 1][quarter]
    surds, below = exact
    size = Fraction(sign * radius, below)
    value = times(size, surds) if surds else tex(size)
    facts = (
        f"A point is ${radius}$ from the origin.",
        rf"The point's polar angle is ${place}^\circ$.",
    )
    axis = "y" if sine else "x"
    ask = f"What is the ${axis}$-coordinate of the point?"
    return Problem(facts, ask, value, f"{axis} = {value}")


def line(random: Random) -> Problem:
    """Level 5: where two lines meet, as an ordered pair of fractions."""
    m, n = random.sample(range(-9, 10), 2)
    b, c = random.randint(-20, 20), random.randint(-20, 20)
    x = Fraction(c - b, m - n)
    y = m * x + b
    facts = tuple(
        f"The {name} line {says}$."
        for name, slope, start in (("first", m, b), ("second", n, c))
        for says in (f"has slope ${slope}", f"meets the $y$-axis at ${start}")
    )
    ask = "At which point $(x, y)$ do the lines meet?"
    return Problem(facts, ask, f"({tex(x)}, {tex(y)})", f"x = {tex(x)}, y = {tex(y)}")


def _vector(random: Random) -> tuple[int, int]:
    return random.randint(-12, 12), random.randint(-12, 12)


def _complex(real: int, imaginary: int) -> str:
    if imaginary == 0:
        return str(real)
    if real == 0:
        return times(imaginary, "i")
    part = signed(imaginary)
    return f"{real} {part[:2]}{'' if abs(imaginary) == 1 else part[2:]}i"


FAMILIES: dict[int, tuple[Family, ...]] = {
    2: (dot,),
    3: (distance,),
    4: (product, applied),
    5: (rotated, line),
}
"""The families of each level."""
