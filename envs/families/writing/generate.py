"""Drawing pieces to write: texts to read, each different, each in its part, with drafts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from laconic.envs.families.common.generation import check_request, ran_out, split_of
from laconic.envs.task import Split, Task

_PATIENCE = 2_000
"""Pieces in a row that were there already before the space counts as used up."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What is read, and what may be written about it."""

    core: str
    """What makes this piece this piece, whatever else its text says."""
    text: str
    """What everybody reads."""
    reference: str
    """What the author of the text might have written."""
    drafts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Drafts of each role, the best first."""


def draw(
    make: Callable[[Random], Piece], kind: str, seed: int, count: int, split: Split
) -> tuple[Task, ...]:
    """Draw different tasks; fewer of the same seed are the first of these.

    Args:
        make: draws a piece.
        kind: what there are too few of, should they run out, e.g. `posts`.
        seed: any whole number.
        count: how many tasks.
        split: train or evaluation; they share no core, whatever the seeds.

    Raises:
        SettingError: seed or count is no whole number, or there are not so many pieces.
        UnknownNameError: there is no such part.
    """
    check_request(seed, count, split)
    random, misses = Random(f"{split}/{seed}"), 0
    tasks: list[Task] = []
    seen: set[str] = set()
    while len(tasks) < count:
        piece = make(random)
        if piece.core in seen or split_of(piece.core) != split:
            misses += 1
            if misses > _PATIENCE:
                raise ran_out(f"{split} {kind}", count, len(tasks))
            continue
        seen.add(piece.core)
        misses = 0
        key = f"{split}-{seed}/{len(tasks)}"
        tasks.append(Task(key, piece.text, (), piece.reference, drafts=piece.drafts))
    return tuple(tasks)
