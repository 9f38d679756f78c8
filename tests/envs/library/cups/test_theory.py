"""What protocols earn in cups, against all shufflings and the crossovers by hand."""

from __future__ import annotations

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
    assert theory.words("relay", members, cups) == pytest.approx(relay / total)
    assert theory.words("broadcast", members, cups) == pytest.approx(broadcast / total)


@pytest.mark.parametrize(
    ("members", "relay", "broadcast"),
    # Without the word of the answer, which is an act here.
    [(3, 1.33, 2.33), (4, 2.0, 4.0), (8, 4.67, 10.67)],
)
def test_words_of_three_cups(members: int, relay: float, broadcast: float) -> None:
    assert theory.words("relay", members) == pytest.approx(relay, abs=0.01)
    assert theory.words("broadcast", members) == pytest.approx(broadcast, abs=0.01)


def test_one_unread_part_makes_the_place_uniform() -> None:
    ends = [second[first[0]] for first in [(1, 2, 0)] for second in permutations(range(3))]
    assert [ends.count(cup) for cup in range(3)] == [2, 2, 2]
    assert theory.reward("guess", 4, 0.0, 0.1) == pytest.approx(1 / 3 - 0.1)
    assert theory.reward("guess", 1, 0.0, 0.1) == pytest.approx(0.9)


@pytest.mark.parametrize("members", [3, 4, 8])
def test_broadcast_beats_relay_where_a_round_costs_more_than_a_word(members: int) -> None:
    price = 0.01
    for round_price, name in ((0.9 * price, "relay"), (1.1 * price, "broadcast")):
        assert theory.best(members, price, round_price)[0] == name


@pytest.mark.parametrize("members", [3, 4, 8])
def test_broadcast_beats_the_reader_beyond_the_second_line(members: int) -> None:
    price, line = 0.01, 5 / 3 + (2 / 3) / (members - 2)
    for part, wins in ((0.95, False), (1.05, True)):
        round_price = part * line * price
        team = theory.reward("broadcast", members, price, round_price)
        assert (team > theory.reward("reader", members, price, round_price)) is wins
        # A relay takes as long as the reader, and pays for words.
        assert theory.reward("relay", members, price, round_price) < theory.reward(
            "reader", members, price, round_price
        )


def test_a_guess_is_best_where_all_is_dear() -> None:
    assert theory.best(4, 0.3, 0.3) == ("guess", pytest.approx(1 / 3 - 0.3))
    assert theory.best(4, 0.0, 0.3, alone=True) == ("guess", pytest.approx(1 / 3 - 0.3))
    assert theory.best(4, 0.0, 0.0, alone=True)[0] == "reader"


def test_a_protocol_ends_within_the_deadline() -> None:
    assert theory.best(4, 0.01, 0.0, deadline=4)[0] == "relay"
    assert theory.best(4, 0.01, 0.0, deadline=3)[0] == "broadcast"
    assert theory.best(4, 0.01, 0.0, alone=True, deadline=3) == ("guess", pytest.approx(1 / 3))
