"""What is known of hops, against all circles of names."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations

import pytest

from laconic.envs.library.hops import theory


def by_all_circles(steps: int, names: int, read: int) -> float:
    """Return the accuracy of the best guess from the facts themselves, over all circles."""
    circles = [(0, *rest) for rest in permutations(range(1, names))]
    right = total = 0
    for owners in combinations(range(names), read):
        ends: dict[tuple[int, ...], Counter[int]] = {}
        for circle in circles:
            asked = {name: circle[(i + 1) % names] for i, name in enumerate(circle)}
            ends.setdefault(tuple(asked[name] for name in owners), Counter())[circle[steps]] += 1
        right += sum(max(each.values()) for each in ends.values())
        total += len(circles)
    return right / total


@pytest.mark.parametrize(
    ("steps", "names", "read"),
    [(2, 6, 3), (3, 6, 2), (3, 7, 4), (4, 7, 3), (1, 5, 2), (2, 5, 0), (5, 6, 4), (5, 6, 3)],
)
def test_the_single_agents_guess_is_the_best_of_all(steps: int, names: int, read: int) -> None:
    assert theory.alone(steps, names, read) == pytest.approx(by_all_circles(steps, names, read))


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


def test_segments_before_another_are_counted_in_all_orders() -> None:
    # Of three segments in a random order, the third one stands first, behind 2, behind 5, or last.
    assert theory.before((2, 5)) == pytest.approx({0: 1 / 3, 2: 1 / 6, 5: 1 / 6, 7: 1 / 3})


def test_facts_are_dealt_evenly_and_once() -> None:
    assert theory.deal(range(6), 3) == [[0, 1], [2, 3], [4, 5]]
