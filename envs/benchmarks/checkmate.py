"""Checkmate-in-one: find the move that mates, on real game positions and on generated ones.

Source: the task `checkmate_in_one` of BIG-bench (Srivastava et al., arXiv:2206.04615); rows are
`{"input", "target"}`, a game's moves and the mating one. Needs python-chess (extra `chess`,
GPL-3.0-or-later), which is imported only where a board is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from laconic.envs.errors import SourceError
from laconic.envs.families.chess.move_texts import commitment
from laconic.envs.families.common.generation import refuse
from laconic.envs.families.common.sources import Row, field, numbered, open_source
from laconic.envs.task import Benchmark, Score, Split, Task, majority

_DOCUMENTS: Mapping[Split, tuple[str, ...]] = {"evaluation": ("task.json",)}


class Checkmate(Benchmark):
    """Chess positions in which the side to move can mate at once."""

    name = "checkmate"
    roles = ("solver", "attack", "escape")
    goal = (
        "Your team looks for the move that gives checkmate at once. The pieces on the board may be"
        " spread over the team, and some of them do not matter."
    )
    answer_form = "State the move as `#### move`, for example `#### Qh7#`."
    duties = {
        "solver": "You give the answer: put together the pieces you know and those the others"
        f" tell you, and find the mate. {answer_form}",
        "attack": "You look at the attack: tell the solver, in few words, the pieces you know"
        " that can give the check or guard squares around the king that is mated, and leave out"
        " the rest.",
        "escape": "You look at the escapes: tell the solver, in few words, where the king that is"
        " mated stands, and the pieces you know that take squares from it or could save it, and"
        " leave out the rest.",
    }

    def load(self, path: str | Path, split: Split = "evaluation") -> tuple[Task, ...]:
        """Replay the original games: JSON Lines, BIG-bench's `task.json`, or `hub:<id>`.

        Needs python-chess, also to generate tasks; without it both raise ImportError.
        """
        return numbered(*open_source(path, split, _DOCUMENTS), _read)

    def generate(
        self,
        seed: int,
        count: int,
        *,
        split: Split = "train",
        level: int | tuple[int, int] = (1, 3),
        **unknown: Any,
    ) -> tuple[Task, ...]:
        """Find mate-in-one positions; see `envs.families.chess.generate`.

        `level` is from 1 (a queen or two rooks, and little else) to 5 (games with more than 20
        pieces).
        """
        refuse(unknown, "level")
        from laconic.envs.families.chess.generate import generate

        return generate(seed, count, split, level)

    def score(self, task: Task, answers: Mapping[str, str]) -> Score:
        """Make the move most agents answer with; it is worth 1 when it is legal and mates.

        Any mating move counts. Agents without a legal move have no vote.
        """
        from laconic.envs.families.chess.library import chess
        from laconic.envs.families.chess.notation import move_in
        from laconic.envs.families.chess.search import mates

        board = chess.Board(task.details["fen"])
        move = majority(move_in(board, text) for text in answers.values())
        if move is None:
            return Score(0.0, False, "")
        solved = mates(board, move)
        return Score(float(solved), solved, board.san(move))

    def committed(self, message: str) -> str | None:
        r"""The last `#### Qh7#` or `\boxed{Qh7#}` of a message, letter for letter, or None."""
        found = commitment(message)
        return found[0] if found else None

    def exempt(self, message: str, task: Task) -> str:
        """`#### Qh7#`, whatever else stands in the mark."""
        found = commitment(message)
        return f"#### {found[1]}" if found else ""


def _read(row: Row, where: str, key: str) -> Task:
    from laconic.envs.families.chess.generate import task_of
    from laconic.envs.families.chess.notation import parse, replay
    from laconic.envs.families.chess.search import mates

    moves, target = field(row, "input", where), _target(row, where)
    try:
        board = replay(moves)
    except ValueError as error:
        raise SourceError(
            f"{where}: expected field 'input' to be the moves of a game; {error}"
        ) from error
    mate = parse(board, target)
    if mate is None or not mates(board, mate):
        raise SourceError(
            f"{where}: expected field 'target' to be a move that mates after those of 'input';"
            f" got {target!r}"
        )
    return task_of(key, board, mate, moves.strip())


def _target(row: Row, where: str) -> str:
    """The field `target`, or else the move that `target_scores` gives 1."""
    if "target" in row or "target_scores" not in row:
        return field(row, "target", where)
    scores = field(row, "target_scores", where, dict)
    right = [str(move) for move, value in scores.items() if value == 1]
    if not right:
        raise SourceError(
            f"{where}: expected a move of 'target_scores' to have the value 1;"
            f" got {repr(scores)[:80]}"
        )
    return right[0]


BENCHMARK = Checkmate()
