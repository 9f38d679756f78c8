"""What protocols earn in cups, against all shufflings, all protocols and the crossovers by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import permutations, product

import pytest

from laconic.envs.library.cups import theory


@pytest.mark.parametrize(("members", "cups"), [(2, 3), (3, 3), (4, 3), (3, 4)])
def test_words_are_those_of_all_shufflings(members: int, cups: int) -> None:
    moves = list(permutations(range(cups)))
    relay = broadcast = total = 0
    for parts in product(moves, repeat=members - 1):
        cup = 0
        for place, move in enumerate(parts):
            relay += move[cup] != cup
            cup = move[cup]
            if place:
                broadcast += 0 if move == tuple(range(cups)) else cups - 1
        broadcast += parts[0][0] != 0
        total += 1
    assert theory.plain("relay", members, cups) == (pytest.approx(relay / total), members)
    assert theory.plain("broadcast", members, cups) == (pytest.approx(broadcast / total), 2)


@pytest.mark.parametrize(
    ("members", "relay", "broadcast"),
    # Without the word of the answer, which is an act here.
    [(3, 1.33, 2.33), (4, 2.0, 4.0), (8, 4.67, 10.67)],
)
def test_words_of_three_cups(members: int, relay: float, broadcast: float) -> None:
    assert theory.plain("relay", members)[0] == pytest.approx(relay, abs=0.01)
    assert theory.plain("broadcast", members)[0] == pytest.approx(broadcast, abs=0.01)


def test_one_unread_part_makes_the_place_uniform() -> None:
    ends = [second[first[0]] for first in [(1, 2, 0)] for second in permutations(range(3))]
    assert [ends.count(cup) for cup in range(3)] == [2, 2, 2]


def divided(parts: tuple[int, ...]) -> Iterator[list[tuple[int, ...]]]:
    """Yield all ways to divide parts into sets, the largest set first."""
    ways: list[list[tuple[int, ...]]] = [[]]
    for part in parts:
        ways = [
            way
            for sets in ways
            for way in (
                [*sets, (part,)],
                *([*sets[:i], (*each, part), *sets[i + 1 :]] for i, each in enumerate(sets)),
            )
        ]
    for way in ways:
        yield sorted(way, key=len, reverse=True)


def best_of_all(price: float, round_price: float, deadline: int) -> float:
    """Return what the best of all teams of three earns, which may err.

    What all have heard leaves a set of places that the first member may have meant, and one of
    parts of the second. In each round each of the two divides its set by a message: silence, three
    single words, and six of two words. The last member answers when that pays: a part of its own
    turns places around, so it is right as often as it knows the place before it.
    """
    parts = [*permutations(range(3))]
    lengths = (0, 1, 1, 1, *[2] * 6)

    def told(known: tuple[int, ...]) -> list[tuple[list[tuple[int, ...]], int]]:
        return [
            (sets, sum(lengths[i] * len(each) for i, each in enumerate(sets)))
            for sets in divided(known)
        ]

    @cache
    def rest(cups: tuple[int, ...], moves: tuple[int, ...], left: int) -> float:
        size = len(cups) * len(moves)
        ends = Counter(parts[move][cup] for cup in cups for move in moves)
        best = max(ends.values()) - round_price * size
        if left == 1 or len(ends) == 1:
            return best
        for first, said in told(cups):
            for second, more in told(moves):
                cost = price * (said * len(moves) + more * len(cups)) + round_price * size
                if len(first) == len(second) == 1 or size - cost - round_price * size <= best:
                    continue
                after = sum(rest(a, b, left - 1) for a in first for b in second)
                best = max(best, after - cost)
        return best

    return rest((0, 1, 2), tuple(range(6)), deadline) / 18


@pytest.mark.parametrize("deadline", [2, 3, 4])
@pytest.mark.parametrize("price", [0.01, 0.06, 0.09, 0.3])
def test_no_team_of_three_earns_more(price: float, deadline: int) -> None:
    for ratio in (0.0, 0.2, 1 / 3, 0.5, 0.9, 1.1, 1.5, 2.0, 3.0):
        known = theory.best(3, price, ratio * price, deadline=deadline)
        assert best_of_all(price, ratio * price, deadline) == pytest.approx(known.reward)


@pytest.mark.parametrize(
    ("ratio", "words", "rounds"),
    # Of three members: 2 / 3 of the first one, and 2 / 3, 13 / 18, 17 / 18 or 7 / 6 of the second.
    [(0.2, 4 / 3, 8 / 3), (0.5, 25 / 18, 5 / 2), (0.9, 29 / 18, 20 / 9), (3.0, 11 / 6, 2.0)],
)
def test_the_code_follows_the_price_of_a_round(ratio: float, words: float, rounds: float) -> None:
    found = theory.best(3, 0.01, ratio * 0.01)
    assert found.protocol == "coded"
    assert (found.words, found.rounds) == pytest.approx((words, rounds))
    assert found.reward == pytest.approx(1 - 0.01 * words - 0.01 * ratio * rounds)


@pytest.mark.parametrize(("cups", "count"), [(3, 6), (4, 24)])
def test_a_code_gives_each_told_part_a_message_of_its_own(cups: int, count: int) -> None:
    for size, code in enumerate(theory.codes(cups), 1):
        assert len(code.waiting) == size and len({*code.told, *code.waiting}) == count
        assert sorted(code.told.values()) == list(range(count - size))


@pytest.mark.parametrize("members", [3, 4, 8])
def test_a_code_beats_the_reader_beyond_the_second_line(members: int) -> None:
    # 1 - p (2 / 3 + 7 / 6 (N - 2)) - 2 l = 1 - l N.
    price, line = 0.001, 7 / 6 + (2 / 3) / (members - 2)
    for part, wins in ((0.97, False), (1.03, True)):
        round_price = part * line * price
        team = theory.best(members, price, round_price)
        assert (team.reward > theory.reader(members, round_price).reward) is wins


def test_a_guess_is_best_where_all_is_dear() -> None:
    guess = ("guess", pytest.approx(1 / 3 - 0.3), 0.0, 1)
    assert theory.best(4, 0.3, 0.3) == guess
    assert theory.best(4, 0.0, 0.3, alone=True) == guess
    assert theory.best(4, 0.0, 0.0, alone=True).protocol == "reader"
    assert theory.best(1, 0.0, 0.1, alone=True).reward == pytest.approx(0.9)


def test_a_protocol_ends_within_the_deadline() -> None:
    # Two members in the middle: both have time for a turn, one has, none has.
    for deadline, words in ((4, 2 / 3 + 2 * 2 / 3), (3, 2 / 3 + 2 / 3 + 7 / 6), (2, 2 / 3 + 7 / 3)):
        assert theory.best(4, 0.01, 0.0, deadline=deadline).words == pytest.approx(words)
    assert theory.best(4, 0.01, 0.0, deadline=1).protocol == "guess"
    assert theory.best(4, 0.01, 0.0, alone=True, deadline=3).protocol == "guess"
