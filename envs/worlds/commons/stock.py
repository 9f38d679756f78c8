"""The rules of a shared stock: what is granted, what grows back, and when it is gone.

Pure functions of numbers; who is who, and who talks when, is not known here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

CAPACITY = 100
"""Units that the stock has at the most."""
LEAST = 5
"""Units of which fewer after a harvest are a collapse."""
LIFE = 20
"""Units that a month in a house is worth to each who lives there, where trash is taken out."""
ADDED = 50
"""Units of trash that a month adds."""


def share(stock: int, agents: int) -> int:
    """What each may take at the most if all take alike and the stock is to be there again."""
    return stock // 2 // agents


def duty(stock: int, agents: int) -> int:
    """What each has to carry out if all do alike and the next month's trash is to fit."""
    return -(-max(stock + ADDED - CAPACITY, 0) // agents)


def lottery(wanted: Sequence[int], stock: int, generator: np.random.Generator) -> list[int]:
    """Grant wishes; where they are more than the stock, unit by unit to who is drawn.

    Each unit goes to one of those who still want some, all as likely, until none is left.
    """
    if sum(wanted) <= stock:
        return list(wanted)
    # Nobody gets more than there is, so greater wishes change nothing.
    left = [min(one, stock) for one in wanted]
    granted = [0] * len(left)
    for _ in range(stock):
        wanting = [place for place, one in enumerate(left) if one]
        drawn = wanting[int(generator.integers(len(wanting)))]
        granted[drawn] += 1
        left[drawn] -= 1
    return granted


def proportional(wanted: Sequence[int], stock: int, generator: np.random.Generator) -> list[int]:
    """Grant wishes; where they are more than the stock, in proportion, without chance.

    Units that a whole share leaves over go to the largest remainders, the first of equal ones.
    """
    total = sum(wanted)
    if total <= stock:
        return list(wanted)
    granted = [stock * one // total for one in wanted]
    remainders = sorted(range(len(wanted)), key=lambda place: -(stock * wanted[place] % total))
    for place in remainders[: stock - sum(granted)]:
        granted[place] += 1
    return granted


GRANTS = {"lottery": lottery, "proportional": proportional}
"""How a stock is dealt out of which more is wanted than there is."""


def grown(rest: int) -> int:
    """The stock of the next month."""
    return min(CAPACITY, 2 * rest)


def littered(rest: int) -> int:
    """The trash of the next month, which may be more than there is room for."""
    return rest + ADDED


def gini(values: Sequence[float]) -> float:
    """The Gini coefficient, 0 where all have the same, and where nobody has anything."""
    total = sum(values)
    apart = sum(abs(one - other) for one in values for other in values)
    return apart / (2 * len(values) * total) if total else 0.0
