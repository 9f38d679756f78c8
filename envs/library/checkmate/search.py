"""Finding the moves that give checkmate at once.

Only moves that can give check are tried: a piece that goes where it attacks the king, a piece that
stood between the king and a slider, and the rare kinds (promotion, en passant, castling).
"""

from __future__ import annotations

from collections.abc import Iterator

from laconic.envs.library.checkmate.python_chess import chess


def mating_moves(board: chess.Board, max_found: int | None = None) -> list[chess.Move]:
    """Return the legal moves that give checkmate; the board does not change.

    The search stops after `max_found` moves.
    """
    moves: list[chess.Move] = []
    for move in _checking_moves(board):
        if mates(board, move):
            moves.append(move)
            if len(moves) == max_found:
                break
    return moves


def mates(board: chess.Board, move: chess.Move) -> bool:
    """Return whether a legal move gives checkmate; the board does not change."""
    board.push(move)
    is_mate = board.is_checkmate()
    board.pop()
    return is_mate


def _checking_moves(board: chess.Board) -> Iterator[chess.Move]:
    """Return all legal moves that give check, and a few others."""
    own = board.occupied_co[board.turn]
    king = board.king(not board.turn)
    if king is None:
        return
    diagonal = chess.BB_DIAG_ATTACKS[king][chess.BB_DIAG_MASKS[king] & board.occupied]
    straight = (
        chess.BB_RANK_ATTACKS[king][chess.BB_RANK_MASKS[king] & board.occupied]
        | chess.BB_FILE_ATTACKS[king][chess.BB_FILE_MASKS[king] & board.occupied]
    )
    # A piece of one's own in the king's line of sight may uncover a slider behind it.
    near = (diagonal | straight) & own
    rim = chess.BB_RANK_1 | chess.BB_RANK_8
    passing = chess.BB_SQUARES[board.ep_square] if board.ep_square is not None else 0
    targets = (
        (near, chess.BB_ALL),
        (board.queens & own & ~near, diagonal | straight),
        (board.rooks & own & ~near, straight),
        (board.bishops & own & ~near, diagonal),
        (board.knights & own & ~near, chess.BB_KNIGHT_ATTACKS[king]),
        (board.pawns & own & ~near, chess.BB_PAWN_ATTACKS[not board.turn][king] | rim | passing),
    )
    for pieces, squares in targets:
        if pieces and squares:
            yield from board.generate_legal_moves(pieces, squares)
    if board.castling_rights and not board.kings & near:
        yield from board.generate_castling_moves()
