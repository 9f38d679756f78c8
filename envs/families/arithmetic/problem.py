"""What a family of word problems makes: the facts that are needed, the question, the solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

Decoy = Callable[[Random], tuple[str, str]]
"""Draws a sentence that looks like a fact and does not matter, and what it is about."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A word problem before statements that do not matter are mixed in."""

    facts: tuple[str, ...]
    """The sentences needed, every one of them, in an order that reads well."""
    question: str
    """What is asked."""
    steps: tuple[str, ...]
    """The solution, one arithmetic step each: `7 + 5 = 12`. The last result is the answer."""
    decoy: Decoy
    """Draws a distractor and its subject; two distractors of one task have different subjects."""
    ordered: bool = True
    """Whether the facts are told in their order. False: they are shuffled."""

    @property
    def answer(self) -> str:
        """The result of the last step."""
        return self.steps[-1].rpartition(" ")[2]

    @property
    def solution(self) -> str:
        """The steps in one line: `7 + 5 = 12, 12 * 2 = 24`."""
        return ", ".join(self.steps)

    @property
    def content(self) -> str:
        """What makes this problem this problem: its facts, whatever their order, and question."""
        return "\n".join((*sorted(self.facts), self.question))
