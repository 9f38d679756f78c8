"""A position in words, one sentence for each kind of piece of each side, and which ones matter."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from laconic.envs.families.chess.library import chess
from laconic.envs.families.chess.search import mates

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
