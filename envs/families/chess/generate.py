"""Drawing mate-in-one tasks from a seed, each different, each in its part."""

from __future__ import annotations

from random import Random

from laconic.envs.families.chess.library import chess
from laconic.envs.families.chess.placements import side_to_move, tell
from laconic.envs.families.chess.play import SIZES, content, positions
from laconic.envs.families.common.generation import check_request, span
from laconic.envs.task import Split, Task

LEVELS = (min(SIZES), max(SIZES))
"""From a queen or two rooks and next to nothing else, to games with most pieces on the board."""


def generate(
    seed: int, count: int, split: Split, level: int | tuple[int, int] = (1, 3)
) -> tuple[Task, ...]:
    """Find different positions from a seed; fewer of the same seed are the first of these.

    Args:
        seed: any whole number.
        count: how many tasks.
        split: train or evaluation; they share no placement of kings and pawns.
        level: 1 to 5, see `SIZES`; a pair draws from the lowest to the highest.

    Raises:
        SettingError: a setting is out of its range.
    """
    check_request(seed, count, split)
    low, high = span("level", level, LEVELS)
    random = Random(f"{split}/{seed}")
    sources = {one: positions(random, one, split) for one in range(low, high + 1)}
    tasks: list[Task] = []
    seen: set[str] = set()
    while len(tasks) < count:
        drawn = random.randint(low, high)
        board, mate = next(sources[drawn])
        same = content(board)
        if same not in seen:
            seen.add(same)
            tasks.append(task_of(f"{split}-{seed}/{len(tasks)}", board, mate))
    return tuple(tasks)


def task_of(key: str, board: chess.Board, mate: chess.Move, moves: str = "") -> Task:
    """The task of a position.

    Args:
        key: its name.
        board: the position.
        mate: a move that mates in it; its usual short form is the reference answer.
        moves: how the position came about, for who may read everything; empty: the placement.
    """
    statements, relevant = tell(board, mate)
    question = f"{side_to_move(board)} to move. Which move gives checkmate at once?"
    return Task(
        key,
        question,
        statements,
        board.san(mate),
        relevant,
        whole=f"{moves}\n{question}" if moves else "",
        details={"fen": board.fen()},
    )
