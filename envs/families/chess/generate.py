"""Drawing mate-in-one tasks from a seed, each different."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from random import Random

from laconic.envs.families.chess.library import chess
from laconic.envs.families.chess.placements import side_to_move, tell
from laconic.envs.families.chess.play import SIZES, content, frame, positions
from laconic.envs.families.chess.shipped import shipped
from laconic.envs.families.common.generation import Candidate, Span, draw_different, span
from laconic.envs.task import Split, Task

LEVELS = (min(SIZES), max(SIZES))
"""Levels from a queen or two rooks and little else to games with most pieces on the board."""


def generate(seed: int, count: int, split: Split, level: Span = (1, 3)) -> tuple[Task, ...]:
    """Draw different positions, as `draw_different` does; splits share no frame (kings and pawns).

    Positions of few pieces come from a file, so tasks are there at once; others are searched for.

    `level` is 1 to 5, see `SIZES`; a pair draws from the lowest to the highest.
    """
    low, high = span("level", level, LEVELS)
    sources: dict[int, Iterator[tuple[chess.Board, chess.Move]]] = {}

    def make(random: Random, key: str) -> Candidate[Task]:
        drawn_level = random.randint(low, high)
        if drawn_level not in sources:
            # What is shipped is used up before anything is searched for.
            sources[drawn_level] = chain(
                shipped(random, drawn_level, split), positions(random, drawn_level, split)
            )
        board, mate = next(sources[drawn_level])
        return Candidate(content(board), lambda: task_of(key, board, mate), frame(board))

    return draw_different(make, seed, count, split, f"positions of level {level!r}")


def task_of(key: str, board: chess.Board, mate: chess.Move, moves: str = "") -> Task:
    """Return the task of a position; the usual short form of the mate is the reference answer.

    `moves` tells the game to agents that may read everything. If empty, they read the placement.
    """
    statements, relevant = tell(board, mate)
    question = f"{side_to_move(board)} to move. Which move gives checkmate at once?"
    return Task(
        key,
        question,
        statements,
        board.san(mate),
        relevant,
        source_text=f"{moves}\n{question}" if moves else "",
        details={"fen": board.fen()},
    )
