"""What protocols earn in cups, and where each is best.

Every one of N parts of the shuffling is a uniformly random permutation of m cups. So one part that
is not known makes the place of the ball uniform: whoever read fewer than N parts is right with
probability 1 / m. With p the price of a word and l that of a round, a right answer earns

- relay, N members: 1 - p (N - 1) (m - 1) / m - l N. In turn, each says the new cup, or nothing if
  its part does not move the ball.
- broadcast, N members: 1 - p [(m - 1) / m + (N - 2) (m - 1) (1 - 1 / m!)] - 2 l. In the first round
  the first member says the new cup, and the others tell their whole part in m - 1 words, or nothing
  if it moves no cup.
- reader, one agent with N pages: 1 - l N.
- guess, at once: 1 / m - l.

Answers are acts, and cost no words. For m = 3, broadcast beats relay where l > p, and the reader
where l / p > 5 / 3 + (2 / 3) / (N - 2). Relay never beats the reader; it is the protocol where the
parts are private. These are protocols that always answer rightly; that no other team earns more is
not shown.
"""

from __future__ import annotations

from math import factorial

PROTOCOLS = ("relay", "broadcast", "reader", "guess")
"""Names of the protocols."""


def words(protocol: str, members: int, cups: int = 3) -> float:
    """Return the words of an episode in the mean.

    Args:
        protocol: one of `PROTOCOLS`.
        members: number of parts of the shuffling, N.
        cups: number of cups, m.
    """
    moved = (cups - 1) / cups
    if protocol == "relay":
        return (members - 1) * moved
    if protocol == "broadcast":
        told = (cups - 1) * (1 - 1 / factorial(cups))
        return moved + (members - 2) * told if members > 1 else 0.0
    return 0.0


def rounds(protocol: str, members: int) -> int:
    """Return the rounds until the answer."""
    return {"relay": members, "broadcast": min(2, members), "reader": members, "guess": 1}[protocol]


def reward(protocol: str, members: int, price: float, round_price: float, cups: int = 3) -> float:
    """Return what a protocol earns in the mean.

    Args:
        protocol: one of `PROTOCOLS`.
        members: number of parts of the shuffling, N.
        price: task reward that a word costs.
        round_price: task reward that a round costs.
        cups: number of cups, m.
    """
    right = 1 / cups if protocol == "guess" and members > 1 else 1.0
    said = price * words(protocol, members, cups)
    return right - said - round_price * rounds(protocol, members)


def best(
    members: int,
    price: float,
    round_price: float,
    cups: int = 3,
    alone: bool = False,
    deadline: int | None = None,
) -> tuple[str, float]:
    """Return the protocol that earns most, the first of equal ones, and its reward.

    Args:
        members: number of parts of the shuffling, N.
        price: task reward that a word costs.
        round_price: task reward that a round costs.
        cups: number of cups, m.
        alone: whether one agent reads all parts, one a round.
        deadline: rounds within which the answer has to come; None sets no limit.
    """
    open_to = ("reader", "guess") if alone else ("relay", "broadcast", "guess")
    earned = {
        name: reward(name, members, price, round_price, cups)
        for name in open_to
        if deadline is None or rounds(name, members) <= deadline
    }
    name = max(earned, key=earned.__getitem__)
    return name, earned[name]
