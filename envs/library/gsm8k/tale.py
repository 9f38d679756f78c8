"""Sentences of a word problem, written together with its solution.

Agents may hear the facts in any order, so every sentence names its person. If the order of events
matters to the result, the sentence gives the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import add, floordiv, mul, sub
from random import Random
from typing import Any

from laconic.envs.benchmarks.generation import Decoy, Problem

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
"""Days of events whose order matters."""
TIMES = {2: "twice", 3: "three times", 4: "four times"}
"""Words for small factors."""
_OPERATIONS = {"+": add, "-": sub, "*": mul, "/": floordiv}


class Tale:
    """A story under construction: its sentences, steps and present quantity."""

    def __init__(self, random: Random) -> None:
        """Start an empty story; every choice in it is drawn from the generator."""
        self.random = random
        self.facts: list[str] = []
        self.steps: list[str] = []
        self.value = 0

    def start(self, value: int, *facts: str) -> None:
        """Begin with a known quantity, which takes no step."""
        self.value = value
        self.facts.extend(facts)

    def tell(self, fact: str, *step: Any) -> int:
        """Add a sentence whose numbers the steps around it use, and the `step` that follows it."""
        self.facts.append(fact)
        return self.step(*step) if step else self.value

    def step(self, operation: str, operand: int, start: int | None = None) -> int:
        """Take one arithmetic step from the present quantity, or from `start`; return its result.

        The operation is `+`, `-`, `*` or `/`; a division must come out even.
        """
        first = self.value if start is None else start
        self.value = _OPERATIONS[operation](first, operand)
        self.steps.append(f"{first} {operation} {operand} = {self.value}")
        return self.value

    def divisor(self, choices: Sequence[int]) -> int | None:
        """Draw one of the choices that divide the present quantity evenly; None if none does."""
        fitting = [number for number in choices if self.value % number == 0]
        return self.random.choice(fitting) if fitting else None

    def ask(self, question: str, decoy: Decoy) -> Problem:
        """End the story with its question."""
        working = ", ".join(self.steps)
        return Problem(tuple(self.facts), question, str(self.value), working, decoy, ordered=True)


def portions(random: Random, total: int, max_events: int) -> list[int]:
    """Cut a number of steps into events of one or two; `max_events` is at least half of it."""
    twos = random.randint(max(0, total - max_events), total // 2)
    cut = [2] * twos + [1] * (total - 2 * twos)
    random.shuffle(cut)
    return cut


def singular(item: str) -> str:
    """Return the singular of an item with its article."""
    return f"{'an' if item[0] in 'aeiou' else 'a'} {item[:-1]}"
