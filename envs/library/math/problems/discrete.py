"""Problems of number theory, counting and probability from level 2 on.

Number theory: divisors, remainders, inverses and bases. Counting: choices, draws, committees and
the probability of a number of successes.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, gcd, lcm, perm
from random import Random

from laconic.envs.benchmarks.generation import Problem
from laconic.envs.benchmarks.words import ITEMS
from laconic.envs.library.math.problems.tex import Family, given, somebody, tex

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23)
_IS = "The integer ${}$ is ${}$."


def common(random: Random) -> Problem:
    """Ask for a greatest common divisor or a least common multiple (level 2)."""
    shared = random.randint(2, 12)
    m, n = shared * random.randint(2, 15), shared * random.randint(2, 15)
    least = random.random() < 0.5
    value = lcm(m, n) if least else gcd(m, n)
    name = "least common multiple" if least else "greatest common divisor"
    facts = given(_IS, m=m, n=n)
    return Problem(facts, f"What is the {name} of $m$ and $n$?", str(value), f"{name} = {value}")


def divisors(random: Random) -> Problem:
    """Ask for the number of divisors of a number given by its factors (level 3)."""
    first, second, third = random.sample(_PRIMES, 3)
    a, b, c = (random.randint(1, 9) for _ in range(3))
    value = (a + 1) * (b + 1) * (c + 1)
    facts = given(_IS, m=f"{first}^{a}", n=f"{second}^{b}", k=f"{third}^{c}")
    working = f"({a} + 1)({b} + 1)({c} + 1) = {value}"
    return Problem(facts, "How many positive divisors does $mnk$ have?", str(value), working)


def power(random: Random) -> Problem:
    """Ask for the remainder of a power (level 4)."""
    base, exponent, modulus = random.randint(2, 30), random.randint(5, 60), random.randint(5, 40)
    value = pow(base, exponent, modulus)
    facts = given(_IS, m=base, n=exponent, k=modulus)
    ask = "What is the remainder when $m^n$ is divided by $k$?"
    return Problem(facts, ask, str(value), f"{base}^{{{exponent}}} mod {modulus} = {value}")


def inverse(random: Random) -> Problem:
    """Ask for an inverse modulo a prime (level 4)."""
    modulus = random.choice((31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101))
    number = random.randint(2, modulus - 2)
    value = pow(number, -1, modulus)
    facts = (*given(_IS, m=number), f"The modulus is ${modulus}$.")
    ask = "Which positive integer below the modulus is the inverse of $m$ modulo it?"
    return Problem(facts, ask, str(value), f"{number} * {value} mod {modulus} = 1")


def bases(random: Random) -> Problem:
    """Ask for a sum in another base (level 5)."""
    base = random.randint(3, 9)
    m, n = random.randint(base**2, base**4), random.randint(base**2, base**4)
    facts = given(_IS, m=f"{in_base(m, base)}_{base}", n=f"{in_base(n, base)}_{base}")
    answer = f"{in_base(m + n, base)}_{base}"
    ask = f"What is $m + n$ in base ${base}$?"
    return Problem(facts, ask, answer, f"{m} + {n} = {m + n}, which is {answer}")


def congruences(random: Random) -> Problem:
    """Ask for the smallest number with two given remainders (level 5)."""
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


NUMBER_THEORY: dict[int, tuple[Family, ...]] = {
    2: (common,),
    3: (divisors,),
    4: (power, inverse),
    5: (bases, congruences),
}
"""Functions that draw a problem of number theory, by level."""


def choose(random: Random) -> Problem:
    """Ask for the number of choices with or without order (level 2)."""
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
    """Ask for the probability that two drawn things are of one kind (level 3)."""
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
    """Ask for the number of committees with at least one member of a group (level 4)."""
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
    """Ask for the probability of an exact number of successes (level 5)."""
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


COUNTING: dict[int, tuple[Family, ...]] = {2: (choose,), 3: (draw,), 4: (committee,), 5: (success,)}
"""Functions that draw a problem of counting, by level."""
