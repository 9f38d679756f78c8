"""What teams and the best single agent reach in hops.

The names form one random cycle, and each fact is one link of it. N shares of c = n / N facts are
dealt by chance.

**The chain.** In round r the holder of the link behind the r-th name of the chain learns the next
one. It says that name, unless it holds the next link too: then it waits, and says a later name in
the round of its number. So a team of N members that follows the chain needs k rounds, is always
right, and says

    words = (k - 1) (1 - s),    s = (c - 1) / (n - 1)

in the mean, with s the chance that the same member holds the next link.

**The code.** Whose links lead to the end answers at once. Then nobody waits in round k - 1, so
silence there can say a name: the first one that was neither asked nor said. That saves a word with
the probability 1 / (n - 1 - q) after q words, and rounds where the last links lie together.

**The guess.** The holder of the first link follows its links, answers with the likeliest name, and
nobody says a word. It is best where words are dear.

The circle may be walked backwards as well, so what counts is the shorter way, k or n - k. These are
the best that is known within k rounds, and not shown to be the best there are. Where a word costs
0.5 to 0.8, speaking only where one member holds two links earns up to 0.04 more.

**The single agent** reads one share a round and remembers all. What it read leaves the cycle in
segments, whose order is uniformly random. It follows the chain to the end of its segment, and then
guesses the name that most orders put k steps behind the first. `alone` sums over all sets of links
that it may have read.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import combinations
from math import comb, factorial

MOST = 20_000
"""Largest number of sets of links that are enumerated."""


def words(steps: int, names: int, members: int) -> float:
    """Return the words of a team that follows the chain, in the mean.

    Args:
        steps: steps from the first name to the one asked for.
        names: number of names.
        members: number of agents; each holds `names / members` links.
    """
    same = (names / members - 1) / (names - 1)
    return (steps - 1) * (1 - same)


@cache
def coded(steps: int, names: int, members: int) -> tuple[float, float]:
    """Return the words and the rounds of a team with the code, in the mean; arguments as above."""
    held = names // members
    # Links that one member holds from a place of the chain to its end save as many rounds.
    together, saved = 1.0, 0.0
    for more in range(1, min(held, steps)):
        together *= (held - more) / (names - more)
        saved += together
    silent = sum(
        chance / (names - 1 - said) for said, chance in _said(steps, names, members).items()
    )
    return words(steps, names, members) - silent, steps - saved


def _said(steps: int, names: int, members: int) -> dict[int, float]:
    """Return the chance of each number of words before round k - 1, if that round has one too."""
    held = names // members
    if steps < 2:
        return {}
    # (links of the present holder, links of the others from the least to the most, words) -> chance
    states: dict[tuple[int, tuple[int, ...], int], float] = {(1, (0,) * (members - 1), 0): 1.0}
    for dealt in range(1, steps):
        after: defaultdict[tuple[int, tuple[int, ...], int], float] = defaultdict(float)
        for (own, others, said), chance in states.items():
            left = chance / (names - dealt)
            if dealt < steps - 1 and own < held:
                after[own + 1, others, said] += left * (held - own)
            for place, other in enumerate(others):
                rest = tuple(sorted((*others[:place], *others[place + 1 :], own)))
                after[other + 1, rest, said + (dealt < steps - 1)] += left * (held - other)
        states = dict(after)
    chances: defaultdict[int, float] = defaultdict(float)
    for (_, _, said), chance in states.items():
        chances[said] += chance
    return dict(chances)


@cache
def alone(steps: int, names: int, read: int, first: bool = False) -> float | None:
    """Return the accuracy of the best guess of an agent that read some links, by enumeration.

    Args:
        steps: steps from the first name to the one asked for, below `names`.
        names: number of names.
        read: number of links that it read, drawn by chance.
        first: whether the link behind the first name is one of them.

    Returns:
        None if there are more than `MOST` sets of links to enumerate.
    """
    if read >= names - 1:
        return 1.0
    ways = comb(names - first, read - first)
    if ways > MOST:
        return None
    # Link i leads from the i-th name of the chain to the next one; the first name is 0.
    total = 0.0
    lacking = names - read
    kinds: Counter[tuple[int, tuple[int, ...]]] = Counter()
    for missing in combinations(range(int(first), names), lacking):
        # The segment of the first name ends at the first missing link; it begins behind the last.
        gaps = sorted(after - before for before, after in zip(missing, missing[1:], strict=False))
        kinds[missing[0], tuple(gaps)] += 1
    for (end, others), count in kinds.items():
        total += count * (1.0 if steps <= end else best_guess(steps - end, others))
    return total / ways


@cache
def best_guess(distance: int, lengths: tuple[int, ...]) -> float:
    """Return the chance of the likeliest name behind an end, with segments in a random order.

    Args:
        distance: steps behind the end of the segment of the first name, at least 1.
        lengths: lengths of the other segments.

    Returns:
        The largest probability of a name of the other segments. A distance beyond them all leads
        back into the known beginning of the first segment, and is certain.
    """
    if distance > sum(lengths):
        return 1.0
    best = 0.0
    for place, length in enumerate(lengths):
        others = (*lengths[:place], *lengths[place + 1 :])
        chances = before(others)
        # The name at this index of the segment is right if the segments before it fill the rest.
        best = max(best, *(chances.get(distance - index, 0.0) for index in range(1, length + 1)))
    return best


@cache
def before(lengths: tuple[int, ...]) -> dict[int, float]:
    """Return the chance of each total length of the segments that precede a given one.

    In a random order of m + 1 segments, each set of j others precedes it with the probability
    j! (m - j)! / (m + 1)!.
    """
    sums: Counter[tuple[int, int]] = Counter({(0, 0): 1})
    for length in lengths:
        for (count, total), ways in list(sums.items()):
            sums[count + 1, total + length] += ways
    m, chances = len(lengths), dict[int, float]()
    for (count, total), ways in sums.items():
        chance = ways * factorial(count) * factorial(m - count) / factorial(m + 1)
        chances[total] = chances.get(total, 0.0) + chance
    return chances


def best(
    steps: int, names: int, members: int, price: float, round_price: float
) -> tuple[str, float]:
    """Return the best known protocol of a team, `coded` or `guess`, and its reward.

    Args:
        steps: steps from the first name to the one asked for, within as many rounds.
        names: number of names.
        members: number of agents, at least 2.
        price: task reward that a word costs.
        round_price: task reward that a round costs.
    """
    steps = min(steps, names - steps)
    said, lasted = coded(steps, names, members)
    known = {"coded": 1 - price * said - round_price * lasted}
    guessed = alone(steps, names, names // members, first=True)
    if guessed is not None:
        known["guess"] = guessed - round_price
    name = max(known, key=known.__getitem__)
    return name, known[name]


def share(names: int, shares: int) -> int:
    """Return the number of facts of a share."""
    return names // shares


def deal(facts: Sequence[int], shares: int) -> list[list[int]]:
    """Cut shuffled facts into equal shares."""
    size = share(len(facts), shares)
    return [list(facts[place * size : (place + 1) * size]) for place in range(shares)]
