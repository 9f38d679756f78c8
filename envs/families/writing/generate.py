"""Drawing pieces to write: texts to read, each different, with drafts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from laconic.envs.benchmarks.generation import Candidate, draw_different
from laconic.envs.task import Split, Task


@dataclass(frozen=True, slots=True)
class Piece:
    """A text to read, and texts that may be written about it."""

    core: str
    """Identity of the piece, whatever else its text says."""
    text: str
    """Text that all agents read."""
    reference: str
    """Reference that the author of the text might have written."""
    drafts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Drafts of each role, the best first."""


def draw(
    make: Callable[[Random], Piece], kind: str, seed: int, count: int, split: Split
) -> tuple[Task, ...]:
    """Draw different tasks, as `draw_different` does; `kind` is for instance `posts`."""

    def candidate(random: Random, key: str) -> Candidate[Task]:
        piece = make(random)
        task = Task(key, piece.text, (), piece.reference, drafts=piece.drafts)
        return Candidate(piece.core, lambda: task)

    return draw_different(candidate, seed, count, split, kind)
