"""A generated function as a puzzle, with examples to show and inputs that test it.

The tests distinguish the function from its near neighbors: every neighbor that differs on some
input of the pool fails at least one test. A chain gives no puzzle if a step can be left out
unnoticed, if its results hardly vary, or if they grow too large to read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

from laconic.envs.families.coding.function import Chain, inputs, modest, neighbors, run, shortened
from laconic.envs.families.coding.moves import TYPES

_POOL = 16
"""Number of inputs from which a puzzle's tests and examples are chosen."""
_EXAMPLES = 2
_FEWEST_TESTS = 6
_FEWEST_RESULTS = 4
"""Minimum number of different results of a function on its pool."""
_FIXED = {kind: inputs(kind, 24, Random(f"fixed/{kind}")) for kind in TYPES}
"""Inputs that distinguish functions, the same for all seeds."""


@dataclass(frozen=True, slots=True)
class Puzzle:
    """A function to write."""

    name: str
    """Name of the function, which reveals nothing about it."""
    chain: Chain
    """Steps of the function."""
    examples: tuple[tuple[Any, Any], ...]
    """Inputs and results that are shown."""
    tests: tuple[tuple[Any, Any], ...]
    """Inputs and results that are hidden; none of them is an example."""


def puzzle(name: str, chain: Chain, random: Random) -> Puzzle | None:
    """Return the puzzle of a chain, or None if the chain does not give a good one."""
    pool = inputs(chain[0].move.takes, _POOL, random)
    results = [run(chain, value) for value in pool]
    if not modest(results) or len({repr(result) for result in results}) < _FEWEST_RESULTS:
        return None
    if any(not _differences(rest, pool, results) for rest in shortened(chain)):
        return None
    all_differences = (_differences(other, pool, results) for other in neighbors(chain, random))
    chosen = _cover([differences for differences in all_differences if differences])
    rest = [index for index in range(_POOL) if index not in chosen]
    random.shuffle(rest)
    example_places, spare = rest[:_EXAMPLES], rest[_EXAMPLES:]
    tests = sorted([*chosen, *spare[: max(0, _FEWEST_TESTS - len(chosen))]])
    pairs = list(zip(pool, results, strict=True))
    return Puzzle(
        name, chain, tuple(pairs[i] for i in example_places), tuple(pairs[i] for i in tests)
    )


@lru_cache(maxsize=65_536)
def behavior(chain: Chain) -> str:
    """Return the results of a function on fixed inputs, which identify it whatever its words."""
    kind = chain[0].move.takes
    return f"{kind}: {[run(chain, value) for value in _FIXED[kind]]!r}"


def _differences(other: Chain, pool: Sequence[Any], results: Sequence[Any]) -> frozenset[int]:
    """Return the indices of the inputs on which another chain gives another result."""
    return frozenset(i for i, value in enumerate(pool) if run(other, value) != results[i])


def _cover(sets: Sequence[frozenset[int]]) -> list[int]:
    """Return few indices such that every set contains one of them, chosen greedily."""
    uncovered, chosen = list(sets), []
    while uncovered:
        counts = [sum(index in places for places in uncovered) for index in range(_POOL)]
        best = counts.index(max(counts))
        chosen.append(best)
        uncovered = [places for places in uncovered if best not in places]
    return chosen
