"""Drawing of different mate-in-one tasks, with the position as statements.

There is one sentence for each kind of piece of each side, and a flag on the sentences that matter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from random import Random
from typing import NamedTuple

from laconic.envs.benchmarks.generation import Candidate, Span, draw_different, span
from laconic.envs.library.checkmate.play import SIZES, content, frame, positions
from laconic.envs.library.checkmate.python_chess import chess
from laconic.envs.library.checkmate.search import mates
from laconic.envs.library.checkmate.shipped import shipped
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


_KINDS = (chess.KING, chess.QUEEN, chess.ROOK, chess.BISHOP, chess.KNIGHT, chess.PAWN)


class _Fact(NamedTuple):
    """A sentence, `White rooks on a1 and f1.`, and the squares of its pieces; none for a right."""

    sentence: str
    squares: chess.Bitboard = chess.BB_EMPTY


_CASTLING = "castle"
_PASSING = "en passant"


def side_to_move(board: chess.Board) -> str:
    """Return `White` or `Black`."""
    return _side(board.turn)


def tell(board: chess.Board, mate: chess.Move) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    """Describe the position in sentences, with a flag for each on which the mate depends.

    The flagged sentences are sufficient and minimal. On a board with only their pieces the move is
    legal and mates; without any one of them it does not. If pieces can replace each other (two
    guards of one square), one of them is flagged.
    """
    facts = _facts(board)
    needed = _needed(board, mate, facts)
    return tuple(fact.sentence for fact in facts), tuple(fact in needed for fact in facts)


def _facts(board: chess.Board) -> list[_Fact]:
    facts = []
    for color in (chess.WHITE, chess.BLACK):
        for kind in _KINDS:
            squares = board.pieces(kind, color)
            if squares:
                name = chess.piece_name(kind) + ("s" if len(squares) > 1 else "")
                places = _listed([chess.square_name(square) for square in squares])
                facts.append(_Fact(f"{_side(color)} {name} on {places}.", squares.mask))
    side = side_to_move(board)
    if any(board.generate_castling_moves()):
        facts.append(_Fact(f"{side} may {_CASTLING}."))
    if board.ep_square is not None and board.has_legal_en_passant():
        square = chess.square_name(board.ep_square)
        facts.append(_Fact(f"{side} may capture {_PASSING} on {square}."))
    return facts


def _needed(board: chess.Board, mate: chess.Move, facts: Sequence[_Fact]) -> list[_Fact]:
    """Leave out facts as long as the move still mates, pawns before pieces."""
    needed = list(facts)
    # What could not be left out at first may be, once others are gone.
    while True:
        before = len(needed)
        for fact in reversed(needed.copy()):
            fewer = [other for other in needed if other is not fact]
            if _mates_with(board, mate, fewer):
                needed = fewer
        if len(needed) == before:
            return needed


def _mates_with(board: chess.Board, mate: chess.Move, facts: Collection[_Fact]) -> bool:
    """Return whether the move is legal and mates on a board with nothing but these facts."""
    reduced = board.copy(stack=False)
    stays = chess.BB_EMPTY
    for fact in facts:
        stays |= fact.squares
    for square in chess.scan_forward(board.occupied & ~stays):
        reduced.remove_piece_at(square)
    if not any(_CASTLING in fact.sentence for fact in facts):
        reduced.castling_rights = chess.BB_EMPTY
    if not _may_pass(reduced) or not any(_PASSING in fact.sentence for fact in facts):
        reduced.ep_square = None
    return reduced.is_legal(mate) and mates(reduced, mate)


def _may_pass(board: chess.Board) -> bool:
    """Return whether the pawn that could be captured en passant is still there."""
    if board.ep_square is None:
        return False
    pawn = board.ep_square + (-8 if board.turn == chess.WHITE else 8)
    return bool(board.pawns & chess.BB_SQUARES[pawn])


def _side(color: chess.Color) -> str:
    return "White" if color == chess.WHITE else "Black"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
