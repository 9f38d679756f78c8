"""What protocols earn in cups, against all shufflings, all codes and the crossovers by hand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

import pytest

from laconic.envs.library.cups import theory

Move = tuple[int, ...]


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


def divided(moves: list[Move]) -> Iterator[list[list[Move]]]:
    """Yield all ways to divide moves into sets."""
    if not moves:
        yield []
        return
    for sets in divided(moves[1:]):
        yield [[moves[0]], *sets]
        for place, each in enumerate(sets):
            yield [*sets[:place], [moves[0], *each], *sets[place + 1 :]]


def cheapest(ratio: float) -> float:
    """Return the least words + ratio * rounds of a member in the middle, over all messages.

    Each set of parts has one message of the first round: silence, three words, and then two words
    each. Where a set brings the cup of the ball to several ones, the member has a turn: silence for
    the likeliest, a word for another.
    """
    costs = []
    for sets in divided(list(permutations(range(3)))):
        cost = 0.0
        ordered = sorted(sets, key=len, reverse=True)
        for words, parts in zip((0, 1, 1, 1, 2, 2), ordered, strict=False):
            cost += words * len(parts)
            for cup in range(3):
                ends = [move[cup] for move in parts]
                if len(set(ends)) > 1:
                    most = max(map(ends.count, ends))
                    cost += (ratio * len(parts) + len(parts) - most) / 3
        costs.append(cost / 6)
    assert len(costs) == 203
    return min(costs)


@pytest.mark.parametrize(
    ("ratio", "words", "rounds"),
    # Of three members: 2 / 3 of the first one, and 2 / 3, 13 / 18, 17 / 18 or 7 / 6 of the second.
    [(0.2, 4 / 3, 8 / 3), (0.5, 25 / 18, 5 / 2), (0.9, 29 / 18, 20 / 9), (3.0, 11 / 6, 2.0)],
)
def test_no_messages_of_a_member_in_the_middle_cost_less_than_the_code(
    ratio: float, words: float, rounds: float
) -> None:
    price = 0.01
    found = theory.best(3, price, ratio * price)
    assert found == (
        "coded",
        pytest.approx(found.reward),
        pytest.approx(words),
        pytest.approx(rounds),
    )
    assert found.reward == pytest.approx(1 - price * (2 / 3 + 2 * ratio + cheapest(ratio)))


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
