"""Number theory from level 2 on: divisors, remainders, inverses and bases."""

from __future__ import annotations

from math import gcd, lcm
from random import Random

from laconic.envs.families.common.generation import Problem
from laconic.envs.families.mathematics.problems.tex import Family, given

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23)
_IS = "The integer ${}$ is ${}$."


def common(random: Random) -> Problem:
    """Level 2: a greatest common divisor or a least common multiple."""
    shared = random.randint(2, 12)
    m, n = shared * random.randint(2, 15), shared * random.randint(2, 15)
    least = random.random() < 0.5
    value = lcm(m, n) if least else gcd(m, n)
    name = "least common multiple" if least else "greatest common divisor"
    facts = given(_IS, m=m, n=n)
    return Problem(facts, f"What is the {name} of $m$ and $n$?", str(value), f"{name} = {value}")


def divisors(random: Random) -> Problem:
    """Level 3: the number of divisors of a number given by its factors."""
    first, second, third = random.sample(_PRIMES, 3)
    a, b, c = (random.randint(1, 9) for _ in range(3))
    value = (a + 1) * (b + 1) * (c + 1)
    facts = given(_IS, m=f"{first}^{a}", n=f"{second}^{b}", k=f"{third}^{c}")
    working = f"({a} + 1)({b} + 1)({c} + 1) = {value}"
    return Problem(facts, "How many positive divisors does $mnk$ have?", str(value), working)


def power(random: Random) -> Problem:
    """Level 4: the remainder of a power."""
    base, exponent, modulus = random.randint(2, 30), random.randint(5, 60), random.randint(5, 40)
    value = pow(base, exponent, modulus)
    facts = given(_IS, m=base, n=exponent, k=modulus)
    ask = "What is the remainder when $m^n$ is divided by $k$?"
    return Problem(facts, ask, str(value), f"{base}^{{{exponent}}} mod {modulus} = {value}")


def inverse(random: Random) -> Problem:
    """Level 4: an inverse modulo a prime."""
    modulus = random.choice((31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101))
    number = random.randint(2, modulus - 2)
    value = pow(number, -1, modulus)
    facts = (*given(_IS, m=number), f"The modulus is ${modulus}$.")
    ask = "Which positive integer below the modulus is the inverse of $m$ modulo it?"
    return Problem(facts, ask, str(value), f"{number} * {value} mod {modulus} = 1")


def bases(random: Random) -> Problem:
    """Level 5: a sum in another base."""
    base = random.randint(3, 9)
    m, n = random.randint(base**2, base**4), random.randint(base**2, base**4)
    facts = given(_IS, m=f"{in_base(m, base)}_{base}", n=f"{in_base(n, base)}_{base}")
    answer = f"{in_base(m + n, base)}_{base}"
    ask = f"What is $m + n$ in base ${base}$?"
    return Problem(facts, ask, answer, f"{m} + {n} = {m + n}, which is {answer}")


def congruences(random: Random) -> Problem:
    """Level 5: the smallest number with two given remainders."""
    p, q = random.sample((7, 8, 9, 11, 13, 17, 19, 23), 2)
    value = random.randint(1, p * q - 1)
    facts = (
        f"When $n$ is divided by ${p}$ the remainder is ${value % p}$.",
        f"When $n$ is divided by ${q}$ the remainder is ${value % q}$.",
    )
    working = f"{value} mod {p} = {value % p} and {value} mod {q} = {value % q}"
    return Problem(facts, "What is the smallest positive integer $n$?", str(value), working)


def in_base(number: int, base: int) -> str:
    """Return the digits of a positive number in a base up to ten."""
    return (in_base(number // base, base) if number >= base else "") + str(number % base)


FAMILIES: dict[int, tuple[Family, ...]] = {
    2: (common,),
    3: (divisors,),
    4: (power, inverse),
    5: (bases, congruences),
}
"""The families of each level."""
