"""Problems of algebra, geometry and precalculus from level 2 on.

Algebra: equations, systems, quadratics and inequalities. Geometry: triangles, circles, solids and
the law of cosines. Precalculus: vectors, complex numbers, matrices and lines.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random

from laconic.envs.benchmarks.generation import Problem
from laconic.envs.library.math.problems.tex import (
    Family,
    given,
    root,
    signed,
    somebody,
    tex,
    times,
)


def linear(random: Random) -> Problem:
    """Ask for the solution of an equation with one unknown (level 2)."""
    factor, value, shift = random.randint(2, 12), random.randint(-12, 12), random.randint(2, 40)
    total = factor * value + shift
    return Problem(
        given("Let ${} = {}$.", a=factor, b=shift, c=total),
        "For which $x$ is $ax + b = c$?",
        str(value),
        f"x = ({total} - {shift}) / {factor} = {value}",
    )


def average(random: Random) -> Problem:
    """Ask for the mean of three numbers (level 2)."""
    numbers = [random.randint(1, 60) for _ in range(3)]
    mean = Fraction(sum(numbers), 3)
    facts = given("Let ${} = {}$.", **dict(zip("pqr", numbers, strict=True)))
    working = f"({' + '.join(map(str, numbers))}) / 3 = {tex(mean)}"
    return Problem(facts, "What is the mean of $p$, $q$ and $r$?", tex(mean), working)


def system(random: Random) -> Problem:
    """Ask for the ordered pair that solves two equations (level 3)."""
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
    """Ask for a quotient of quotients (level 3)."""
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
    """Ask for the larger root of a monic quadratic, mostly with a radical (level 4)."""
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
    """Ask for the solution of a quadratic inequality, one interval or two rays (level 5)."""
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
    """Ask for the sum of the squares of the reciprocals of two roots (level 5)."""
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


ALGEBRA: dict[int, tuple[Family, ...]] = {
    2: (linear, average),
    3: (system, ratio),
    4: (quadratic,),
    5: (inequality, powers),
}
"""Functions that draw a problem of algebra, by level."""


ROOT_OF_THREE = r"\sqrt{3}"


def triangle(random: Random) -> Problem:
    """Ask for the area of a triangle (level 2)."""
    name = f"{somebody(random)}'s triangle"
    base, height = random.randint(2, 40), random.randint(2, 40)
    value = Fraction(base * height, 2)
    facts = (f"{name} has base ${base}$.", f"{name} has height ${height}$.")
    working = f"{base} * {height} / 2 = {tex(value)}"
    return Problem(facts, f"What is the area of {name}?", tex(value), working)


def hypotenuse(random: Random) -> Problem:
    """Ask for the third side of a right triangle, mostly a radical (level 3)."""
    name = f"{somebody(random)}'s right triangle"
    a, b = random.randint(1, 25), random.randint(1, 25)
    value = root(a * a + b * b)
    facts = (f"One leg of {name} is ${a}$.", f"The other leg of {name} is ${b}$.")
    working = rf"\sqrt{{{a}^2 + {b}^2}} = {value}"
    return Problem(facts, f"How long is the hypotenuse of {name}?", value, working)


def ring(random: Random) -> Problem:
    """Ask for the area between two circles (level 3)."""
    name = f"{somebody(random)}'s ring"
    inner = random.randint(1, 20)
    outer = inner + random.randint(1, 20)
    value = times(outer * outer - inner * inner, r"\pi")
    facts = (f"{name} has inner radius ${inner}$.", f"{name} has outer radius ${outer}$.")
    working = rf"\pi({outer}^2 - {inner}^2) = {value}"
    return Problem(facts, f"What is the area of {name}?", value, working)


def cone(random: Random) -> Problem:
    """Ask for the volume of a cone (level 4)."""
    name = f"{somebody(random)}'s cone"
    radius, height = random.randint(1, 20), random.randint(1, 20)
    value = times(Fraction(radius * radius * height, 3), r"\pi")
    facts = (f"{name} has a base of radius ${radius}$.", f"{name} has height ${height}$.")
    working = rf"\frac{{1}}{{3}}\pi * {radius}^2 * {height} = {value}"
    return Problem(facts, f"What is the volume of {name}?", value, working)


def cosines(random: Random) -> Problem:
    """Ask for the third side of a triangle with an angle of 60 or 120 degrees (level 5)."""
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
    """Ask for the area of a 60-degree sector without its triangle (level 5)."""
    name = f"{somebody(random)}'s circle"
    radius = 2 * random.randint(1, 60)
    sector = times(Fraction(radius * radius, 6), r"\pi")
    value = f"{sector} - {times(radius * radius // 4, ROOT_OF_THREE)}"
    facts = (f"{name} has radius ${radius}$.", rf"A chord of {name} spans an arc of $60^\circ$.")
    ask = f"What is the area of the smaller part that the chord cuts off {name}?"
    return Problem(facts, ask, value, f"sector minus triangle = {value}")


GEOMETRY: dict[int, tuple[Family, ...]] = {
    2: (triangle,),
    3: (hypotenuse, ring),
    4: (cone,),
    5: (cosines, segment),
}
"""Functions that draw a problem of geometry, by level."""


_FIFTEENTHS = {
    15: ((r"(\sqrt{6} - \sqrt{2})", 4), (r"(\sqrt{6} + \sqrt{2})", 4)),
    30: (("", 2), (r"\sqrt{3}", 2)),
    45: ((r"\sqrt{2}", 2), (r"\sqrt{2}", 2)),
    60: ((r"\sqrt{3}", 2), ("", 2)),
    75: ((r"(\sqrt{6} + \sqrt{2})", 4), (r"(\sqrt{6} - \sqrt{2})", 4)),
}
"""Sine and cosine of some angles in degrees, each as numerator and denominator."""


def dot(random: Random) -> Problem:
    """Ask for a dot product (level 2)."""
    u, v = _vector(random), _vector(random)
    value = u[0] * v[0] + u[1] * v[1]
    facts = given(r"Let $\mathbf{{{}}} = {}$.", u=u, v=v)
    working = f"({u[0]})({v[0]}) + ({u[1]})({v[1]}) = {value}"
    return Problem(facts, r"What is $\mathbf{u} \cdot \mathbf{v}$?", str(value), working)


def distance(random: Random) -> Problem:
    """Ask for the distance of two points (level 3)."""
    p, q = _vector(random), _vector(random)
    if p == q:
        q = (q[0] + 1, q[1])
    square = (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2
    facts = given("Point ${}$ is ${}$.", P=p, Q=q)
    value = root(square)
    return Problem(facts, "How far is $P$ from $Q$?", value, rf"\sqrt{{{square}}} = {value}")


def product(random: Random) -> Problem:
    """Ask for a product of complex numbers (level 4)."""
    w, z = _vector(random), _vector(random)
    real, imaginary = w[0] * z[0] - w[1] * z[1], w[0] * z[1] + w[1] * z[0]
    value = _complex(real, imaginary)
    facts = given("Let ${} = {}$.", w=_complex(*w), z=_complex(*z))
    return Problem(facts, "Find $wz$.", value, f"({_complex(*w)})({_complex(*z)}) = {value}")


def applied(random: Random) -> Problem:
    """Ask for a matrix applied to a vector (level 4)."""
    a, b, c, d, x, y = (random.randint(-6, 6) for _ in range(6))
    value = rf"\begin{{pmatrix}} {a * x + b * y} \\ {c * x + d * y} \end{{pmatrix}}"
    rows = {"M": rf"{a} & {b} \\ {c} & {d}", "w": rf"{x} \\ {y}"}
    facts = given(r"Let $\mathbf{{{}}} = \begin{{pmatrix}} {} \end{{pmatrix}}$.", **rows)
    return Problem(facts, r"Find $\mathbf{M} \mathbf{w}$.", value, f"row by row: {value}")


def rotated(random: Random) -> Problem:
    """Ask for a multiple of an exact sine or cosine, in any quadrant (level 5)."""
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
    """Ask for the intersection of two lines, an ordered pair of fractions (level 5)."""
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


PRECALCULUS: dict[int, tuple[Family, ...]] = {
    2: (dot,),
    3: (distance,),
    4: (product, applied),
    5: (rotated, line),
}
"""Functions that draw a problem of precalculus, by level."""
