"""The grammar: what a move says in Python is what it does."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from laconic.envs.families.coding.function import (
    MOVES,
    Step,
    body,
    draw,
    fits,
    inputs,
    neighbours,
    run,
    signature,
)
from laconic.envs.families.coding.move import KINDS

TYPES = {"numbers": list, "number": int, "text": str}


@pytest.fixture
def chain():
    """Keep the odd numbers, add 2, take the sum."""
    by_words = {move.words: move for move in MOVES}
    return (
        Step(by_words["keep only the odd numbers"]),
        Step(by_words["add $k to every number"], 2),
        Step(by_words["take the sum of the numbers"]),
    )


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.words)
def test_the_code_of_a_move_does_what_the_move_does(move):
    values = inputs(move.takes, 40, Random(1))
    for choice in move.choices:
        step = Step(move, choice)
        assert "$" not in step.words + step.code("v")
        for value in values:
            copy = list(value) if isinstance(value, list) else value
            expected = run((step,), value)
            assert type(expected) is TYPES[move.gives]
            # The expressions are the grammar's own.
            assert eval(step.code("v"), {"v": copy}) == expected
            assert value == copy


def test_moves_are_told_apart_by_their_words():
    assert len({(move.takes, move.words) for move in MOVES}) == len(MOVES)


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
    found = list(neighbours(chain, Random(0)))
    odd, add, total = chain
    assert (
        (odd, total) in found
        and (add, total) in found
        and (odd, add) not in [other for other in found if other[-1].move.gives == "number"]
    )
    assert (add, odd, total) in found
    assert {other[1].choice for other in found if other[1].move is add.move} >= {1, 3}
    assert all(fits(other) and other[0].move.takes == "numbers" for other in found)


@pytest.mark.parametrize("length", [1, 2, 4])
def test_drawn_chains_fit_together(length):
    random = Random(0)
    for _ in range(200):
        chain = draw(random, length)
        assert len(chain) == length
        assert all(one.move.gives == two.move.takes for one, two in pairwise(chain))


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_are_different_and_begin_with_the_simplest(kind):
    found = inputs(kind, 30, Random(0))
    assert len({repr(value) for value in found}) == 30
    assert found[0] in ([], 0, "")
