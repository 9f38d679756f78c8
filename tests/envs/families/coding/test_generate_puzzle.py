"""Puzzles whose tests tell their function from its neighbors, and chains that make none."""

from __future__ import annotations

from random import Random

import pytest

from laconic.envs.families.coding.function import Step, draw, neighbors, run
from laconic.envs.families.coding.generate import behavior, puzzle
from laconic.envs.families.coding.moves import MOVES


def step(words: str, choice: object = None) -> Step:
    return next(Step(move, choice) for move in MOVES if move.words == words)


@pytest.mark.parametrize("seed", range(12))
def test_examples_and_tests_are_right_and_apart(seed):
    random = Random(seed)
    made_puzzle = None
    while made_puzzle is None:
        chain = draw(random, 2)
        made_puzzle = puzzle("bab", chain, random)
    assert len(made_puzzle.examples) == 2 and len(made_puzzle.tests) >= 6
    for value, result in (*made_puzzle.examples, *made_puzzle.tests):
        assert run(chain, value) == result
    examples = [repr(value) for value, _ in made_puzzle.examples]
    assert not set(examples) & {repr(value) for value, _ in made_puzzle.tests}


def test_a_neighbour_that_differs_fails_a_test():
    chain = (step("add $k to every number", 3), step("take the sum of the numbers"))
    made_puzzle = puzzle("bab", chain, Random(0))
    assert made_puzzle is not None
    for other in neighbors(chain, Random(0)):
        if behavior(other) != behavior(chain):
            assert any(run(other, value) != result for value, result in made_puzzle.tests)


def test_steps_that_do_nothing_and_results_that_hardly_vary_make_no_puzzle():
    # Sorted numbers need not be sorted again.
    twice = (step("sort the numbers from smallest to largest"),) * 2
    assert puzzle("bab", twice, Random(0)) is None
    assert puzzle("bab", (step("replace the number x by x % $k", 3),), Random(0)) is None
    grown = (step("square the number"),) * 4
    assert puzzle("bab", grown, Random(0)) is None


def test_functions_that_do_the_same_behave_the_same():
    steps = (step("add $k", 2), step("add $k", 3))
    assert behavior(steps) == behavior((step("add $k", 5),))
    assert behavior(steps) != behavior((step("add $k", 6),))
