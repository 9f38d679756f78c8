"""What protocols earn in cups, and where each is best.

Every one of N parts of the shuffling is a uniformly random permutation of m cups. So one part that
is not known makes the place of the ball uniform: whoever read fewer than N parts is right with
probability 1 / m. With p the price of a word and l that of a round, a right answer earns

- relay, N members: 1 - p (N - 1) (m - 1) / m - l N. In turn, each says the new cup, or nothing if
  its part does not move the ball.
- broadcast, N members: 1 - p [(m - 1) / m + (N - 2) (m - 1) (1 - 1 / m!)] - 2 l. In the first round
  the first member says the new cup, and the others tell their whole part in m - 1 words, or nothing
  if it moves no cup.
- coded, N members: 1 - p [(m - 1) / m + (N - 2) w] - l [2 + (N - 2) d]. The first member says the
  new cup. One in the middle tells some parts at once, by any message that has no other meaning
  then; the shortest messages come first. With another part it waits: where these parts take the
  ball to different cups, it has a turn, as in a relay, in which silence says the likeliest cup. A
  `Code` has its words w and its rounds d.
- reader, one agent with N pages: 1 - l N.
- guess, at once: 1 / m - l.

Answers are acts, and cost no words. For m = 3 and three members the best code takes, by l / p,

    below 1 / 3    1.33 words, 2.67 rounds    only the two rotations are told at once
    to 4 / 5       1.39 words, 2.50 rounds    and one exchange of two cups
    to 1           1.61 words, 2.22 rounds    and a second one
    above 1        1.83 words, 2 rounds       all parts but the one that moves no cup

and beats the reader where l / p > 11 / 6. No team of three earns more, whatever its messages mean,
when they are said, and where it errs: a test searches all protocols. Other teams of this kind are
beaten at some prices: of four members, who both wait, the second may tell more at once. A relay
never beats the reader; it is a protocol where parts are private.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from math import factorial
from typing import NamedTuple

Move = tuple[int, ...]
"""(cups,) The cup to which each one goes."""


@dataclass(frozen=True)
class Code:
    """What a member in the middle tells at once."""

    told: Mapping[Move, int]
    """Part -> index of its message. Names of cups come first, and then all names but one."""
    waiting: tuple[Move, ...]
    """Parts with which it waits."""

    @property
    def likeliest(self) -> tuple[int, ...]:
        """(cups,) The cup to which most of the waiting parts bring each one; silence says it."""
        return tuple(Counter(goes).most_common(1)[0][0] for goes in zip(*self.waiting, strict=True))

    def needs_a_turn(self, cup: int) -> bool:
        """Return whether waiting parts bring a cup to different ones."""
        return len({move[cup] for move in self.waiting}) > 1

    @property
    def words(self) -> float:
        """Words of the member in the mean, w."""
        cups = len(self.waiting[0])
        at_once = sum(1 if index < cups else cups - 1 for index in self.told.values())
        in_turn = sum(
            goes != said
            for move in self.waiting
            for goes, said in zip(move, self.likeliest, strict=True)
        )
        return (at_once + in_turn / cups) / factorial(cups)

    @property
    def rounds(self) -> float:
        """Rounds for which the others wait in the mean, d."""
        cups = len(self.waiting[0])
        turns = sum(map(self.needs_a_turn, range(cups)))
        return len(self.waiting) * turns / cups / factorial(cups)


class Played(NamedTuple):
    """What a protocol earns in the mean."""

    protocol: str
    """`coded`, `reader` or `guess`."""
    reward: float
    """Task reward less the prices of words and rounds."""
    words: float
    """Words of an episode."""
    rounds: float
    """Rounds until the answer."""


@cache
def codes(cups: int) -> tuple[Code, ...]:
    """Return a code for each number of waiting parts, from 1 to all.

    Those that leave most cups in their place wait first.
    """
    moves = sorted(
        permutations(range(cups)), key=lambda move: -sum(map(int.__eq__, move, range(cups)))
    )
    return tuple(
        Code({move: index for index, move in enumerate(moves[count:])}, tuple(moves[:count]))
        for count in range(1, len(moves) + 1)
    )


def best_code(price: float, round_price: float, cups: int = 3) -> Code:
    """Return the code that costs least, the first of equal ones; prices as in `best`."""
    return min(codes(cups), key=lambda code: price * code.words + round_price * code.rounds)


def plain(protocol: str, members: int, cups: int = 3) -> tuple[float, int]:
    """Return the words in the mean and the rounds of a protocol whose words mean what they say.

    Args:
        protocol: `relay` or `broadcast`.
        members: number of parts of the shuffling, N, at least 2.
        cups: number of cups, m.
    """
    moved = (cups - 1) / cups
    if protocol == "relay":
        return (members - 1) * moved, members
    return moved + (members - 2) * (cups - 1) * (1 - 1 / factorial(cups)), 2


def reader(parts: int, round_price: float) -> Played:
    """Return what a single agent earns that reads one part a round."""
    return Played("reader", 1 - round_price * parts, 0.0, parts)


def coded(
    members: int, price: float, round_price: float, cups: int = 3, deadline: int | None = None
) -> Played:
    """Return what the best code earns; arguments as in `best`, with at least two parts and rounds.

    Where the deadline leaves no turn to some members, they tell all parts at once.
    """
    middle = members - 2
    late = middle if deadline is None else min(middle, deadline - 2)
    code, full = best_code(price, round_price, cups), codes(cups)[0]
    said = (cups - 1) / cups + late * code.words + (middle - late) * full.words
    lasted = 2 + late * code.rounds
    return Played("coded", 1 - price * said - round_price * lasted, said, lasted)


def best(
    parts: int,
    price: float,
    round_price: float,
    cups: int = 3,
    alone: bool = False,
    deadline: int | None = None,
) -> Played:
    """Return the protocol that earns most, the first of equal ones.

    Args:
        parts: number of parts of the shuffling, N, of as many members or of one agent.
        price: task reward that a word costs.
        round_price: task reward that a round costs.
        cups: number of cups, m.
        alone: whether one agent reads all parts, one a round.
        deadline: rounds within which the answer has to come; None sets no limit.
    """
    needed = parts if alone else 2
    known = [Played("guess", (1 / cups if parts > 1 else 1.0) - round_price, 0.0, 1)]
    if deadline is None or deadline >= needed:
        always = (
            reader(parts, round_price)
            if alone
            else coded(parts, price, round_price, cups, deadline)
        )
        known.insert(0, always)
    return max(known, key=lambda played: played.reward)
