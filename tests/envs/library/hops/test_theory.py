"""What is known of hops, against all circles of names."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations

import pytest

from laconic.envs.library.hops import theory


def by_all_circles(steps: int, names: int, read: int, first: bool = False) -> float:
    """Return the accuracy of the best guess from the facts themselves, over all circles.

    With `first`, the link behind the first name is always one of them.
    """
    circles = [(0, *rest) for rest in permutations(range(1, names))]
    right = total = 0
    for owners in combinations(range(names), read):
        # The circles begin with name 0.
        if first and 0 not in owners:
            continue
        ends: dict[tuple[int, ...], Counter[int]] = {}
        for circle in circles:
            asked = {name: circle[(i + 1) % names] for i, name in enumerate(circle)}
            ends.setdefault(tuple(asked[name] for name in owners), Counter())[circle[steps]] += 1
        right += sum(max(each.values()) for each in ends.values())
        total += len(circles)
    return right / total


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize(
    ("steps", "names", "read"),
    [(2, 6, 3), (3, 6, 2), (3, 7, 4), (4, 7, 3), (1, 5, 2), (2, 5, 1), (5, 6, 4), (5, 6, 3)],
)
def test_a_guess_is_the_best_of_all(steps: int, names: int, read: int, first: bool) -> None:
    expected = by_all_circles(steps, names, read, first)
    assert theory.alone(steps, names, read, first) == pytest.approx(expected)


def test_a_guess_without_a_link_is_any_other_name() -> None:
    assert theory.alone(2, 5, 0) == pytest.approx(1 / 4)


def test_what_is_read_but_for_one_link_is_certain() -> None:
    assert theory.alone(3, 8, 7) == theory.alone(7, 8, 8) == 1.0


def test_too_many_sets_of_links_are_not_enumerated() -> None:
    assert theory.alone(8, 24, 12) is None


@pytest.mark.parametrize(
    ("names", "members", "steps", "words"),
    # 1 - s is the chance that another member holds the next link: 9 of the other 11 links.
    [(12, 4, 3, 2 * 9 / 11), (16, 8, 4, 3 * 14 / 15), (24, 8, 8, 7 * 21 / 23), (12, 4, 1, 0)],
)
def test_a_team_says_a_name_when_another_member_goes_on(
    names: int, members: int, steps: int, words: float
) -> None:
    assert theory.words(steps, names, members) == pytest.approx(words)


def by_all_deals(steps: int, names: int, members: int) -> tuple[float, float]:
    """Return words and rounds of the code, from its rule, over all deals and chains."""
    said = lasted = total = 0
    held = names // members
    deals = {tuple(deal) for deal in permutations([i // held for i in range(names)])}
    for chain in permutations(range(1, names)):
        for owners in deals:
            heard = {0}
            for round in range(1, steps + 1):
                # Link i leads from the i-th name of the chain to the next one.
                if len(set(owners[round - 1 : steps])) == 1:
                    break
                name = chain[round - 1]
                spared = round == steps - 1 and name == min({*range(names)} - heard)
                if owners[round - 1] != owners[round] and not spared:
                    said += 1
                    heard.add(name)
            lasted += round
            total += 1
    return said / total, lasted / total


@pytest.mark.parametrize(
    ("steps", "names", "members"), [(1, 4, 2), (2, 4, 2), (3, 4, 2), (3, 6, 3)]
)
def test_words_and_rounds_of_the_code_are_those_of_all_deals(
    steps: int, names: int, members: int
) -> None:
    assert theory.coded(steps, names, members) == pytest.approx(by_all_deals(steps, names, members))


def test_words_and_rounds_of_the_usual_team() -> None:
    # s = 2 / 11. A word in round 1: 9 / 11. In round 2 as well, but for a name in 10 (11) that
    # silence says, after a word (none). The last two links lie together: 2 / 11; all: 1 / 55.
    first, both = 9 / 11, 36 / 55
    words = first + first - both / 10 - (first - both) / 11
    assert theory.coded(3, 12, 4) == pytest.approx((words, 3 - 2 / 11 - 1 / 55))


@pytest.mark.parametrize(
    ("price", "round_price", "name", "reward"),
    [
        (0.06, 0, "coded", 1 - 0.06 * 1.556033),
        (0.06, 0.06, "coded", 1 - 0.06 * (1.556033 + 2.8)),
        (1.0, 0, "guess", 31 / 220),
        (0.1, 0.5, "guess", 31 / 220 - 0.5),
    ],
)
def test_a_guess_is_best_where_words_or_rounds_are_dear(
    price: float, round_price: float, name: str, reward: float
) -> None:
    assert theory.best(3, 12, 4, price, round_price) == (name, pytest.approx(reward))


def test_segments_before_another_are_counted_in_all_orders() -> None:
    # Of three segments in a random order, the third one stands first, behind 2, behind 5, or last.
    assert theory.before((2, 5)) == pytest.approx({0: 1 / 3, 2: 1 / 6, 5: 1 / 6, 7: 1 / 3})


def test_facts_are_dealt_evenly_and_once() -> None:
    assert theory.deal(range(6), 3) == [[0, 1], [2, 3], [4, 5]]
