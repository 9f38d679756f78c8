"""A generated function: a chain of moves, its words, its reference solution and its results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from laconic.envs.families.coding.moves import MOVES, TYPES, Move, ValueKind

_BY_KIND = {kind: tuple(move for move in MOVES if move.takes == kind) for kind in TYPES}
_PEERS = {
    (takes, gives): tuple(m for m in MOVES if (m.takes, m.gives) == (takes, gives))
    for takes in TYPES
    for gives in TYPES
}
_WORDS = (
    "apple banana cat day egg Fox green hat ice Jam kite lemon Moon nest old pear queen river sun"
    " Tree up van wind yes zoo"
).split()


@dataclass(frozen=True, slots=True)
class Step:
    """A move with its parameter."""

    move: Move
    """Move of the step."""
    choice: Any = None
    """Parameter of the move; None if it has none."""

    @property
    def words(self) -> str:
        """Return the step in plain words."""
        return self.move.words.replace("$k", str(self.choice))

    def code(self, variable: str) -> str:
        """Return the step as an expression of a variable."""
        return self.move.code.replace("$v", variable).replace("$k", str(self.choice))


Chain = tuple[Step, ...]
"""Sequence of steps, each of which takes the result of the one before."""


def run(chain: Chain, value: Any) -> Any:
    """Return the value after all steps; the input is not changed."""
    for step in chain:
        value = step.move.run(value, step.choice)
    return value


def draw(random: Random, length: int) -> Chain:
    """Draw a chain of `length` steps, beginning with any kind of value."""
    move = random.choice(MOVES)
    chain = [Step(move, random.choice(move.choices))]
    while len(chain) < length:
        move = random.choice(_BY_KIND[chain[-1].move.gives])
        chain.append(Step(move, random.choice(move.choices)))
    return tuple(chain)


def shortened(chain: Chain) -> Iterator[Chain]:
    """Yield the chain without one of its steps, if the others still fit together."""
    for index in range(len(chain)):
        rest = chain[:index] + chain[index + 1 :]
        if rest and fits(rest) and rest[0].move.takes == chain[0].move.takes:
            yield rest


def neighbors(chain: Chain, random: Random) -> Iterator[Chain]:
    """Yield chains that are easily mistaken for this one.

    A step is left out, two steps are swapped, a parameter is the next one in its list, or a move is
    replaced by another of the same kinds.
    """
    yield from shortened(chain)
    for index in range(len(chain) - 1):
        swapped = (*chain[:index], chain[index + 1], chain[index], *chain[index + 2 :])
        if fits(swapped) and swapped[0].move.takes == chain[0].move.takes:
            yield swapped
    for index, step in enumerate(chain):
        for other in (*_beside(step), _instead(step, random), _instead(step, random)):
            yield (*chain[:index], other, *chain[index + 1 :])


def fits(chain: Chain) -> bool:
    """Return whether each step takes the result of the step before."""
    return all(
        step.move.gives == following.move.takes
        for step, following in zip(chain, chain[1:], strict=False)
    )


def signature(name: str, chain: Chain) -> str:
    """Return the head of the function, without a body: `def mend(numbers: list[int]) -> int:`."""
    takes, gives = chain[0].move.takes, chain[-1].move.gives
    return f"def {name}({takes}: {TYPES[takes]}) -> {TYPES[gives]}:"


def body(chain: Chain) -> str:
    """Return the body of the reference solution, indented, one line per step."""
    *before, last = chain
    lines = [f"    {step.move.gives} = {step.code(step.move.takes)}" for step in before]
    return "\n".join([*lines, f"    return {last.code(last.move.takes)}"]) + "\n"


def inputs(kind: ValueKind, count: int, random: Random) -> list[Any]:
    """Return different values of a kind, the simplest first: the empty one, or 0."""
    values: list[Any] = [{"numbers": [], "number": 0, "text": ""}[kind]]
    while len(values) < count:
        value = _value(kind, random)
        if value not in values:
            values.append(value)
    return values


def modest(values: Sequence[Any]) -> bool:
    """Return whether results are short enough to read: small numbers, short lists and texts."""
    return all(_modest(value) for value in values)


def _modest(value: Any) -> bool:
    if isinstance(value, int):
        return abs(value) < 100_000
    return len(value) <= 40 and (isinstance(value, str) or all(map(_modest, value)))


def _value(kind: ValueKind, random: Random) -> Any:
    if kind == "number":
        return random.randint(-30, 99)
    if kind == "text":
        return " ".join(random.choices(_WORDS, k=random.randint(1, 4)))
    # Few different values, so that repeated ones occur.
    return [random.randint(-9, 12) for _ in range(random.randint(1, 8))]


def _beside(step: Step) -> Iterator[Step]:
    at = step.move.choices.index(step.choice)
    for index in (at - 1, at + 1):
        if 0 <= index < len(step.move.choices):
            yield replace(step, choice=step.move.choices[index])


def _instead(step: Step, random: Random) -> Step:
    move = random.choice(_PEERS[step.move.takes, step.move.gives])
    return Step(move, random.choice(move.choices))
