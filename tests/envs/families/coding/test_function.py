"""Chains of moves: their words, their code, their results and their neighbors."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from laconic.envs.families.coding.function import (
    Step,
    body,
    draw,
    fits,
    inputs,
    neighbors,
    run,
    signature,
)
from laconic.envs.families.coding.moves import MOVES, TYPES


@pytest.fixture
def chain():
    """Keep the odd numbers, add 2, take the sum."""
    by_words = {move.words: move for move in MOVES}
    return (
        Step(by_words["keep only the odd numbers"]),
        Step(by_words["add $k to every number"], 2),
        Step(by_words["take the sum of the numbers"]),
    )


def test_a_function_is_written_worked_and_run_alike(chain):
    # [1, 2, 3] -> [1, 3] -> [3, 5] -> 8
    assert run(chain, [1, 2, 3]) == 8
    assert signature("bab", chain) == "def bab(numbers: list[int]) -> int:"
    assert body(chain) == (
        "    numbers = [x for x in numbers if x % 2 == 1]\n"
        "    numbers = [x + 2 for x in numbers]\n"
        "    return sum(numbers)\n"
    )
    assert chain[1].words == "add 2 to every number"


def test_neighbours_lack_a_step_or_change_one(chain):
    results = list(neighbors(chain, Random(0)))
    odd, add, total = chain
    assert (
        (odd, total) in results
        and (add, total) in results
        and (odd, add) not in [other for other in results if other[-1].move.gives == "number"]
    )
    assert (add, odd, total) in results
    assert {other[1].choice for other in results if other[1].move is add.move} >= {1, 3}
    assert all(fits(other) and other[0].move.takes == "numbers" for other in results)


@pytest.mark.parametrize("length", [1, 2, 4])
def test_drawn_chains_fit_together(length):
    random = Random(0)
    for _ in range(200):
        chain = draw(random, length)
        assert len(chain) == length
        assert all(first.move.gives == two.move.takes for first, two in pairwise(chain))


@pytest.mark.parametrize("kind", TYPES)
def test_inputs_are_different_and_begin_with_the_simplest(kind):
    result = inputs(kind, 30, Random(0))
    assert len({repr(value) for value in result}) == 30
    assert result[0] in ([], 0, "")
