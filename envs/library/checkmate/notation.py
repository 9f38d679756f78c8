"""From written moves to moves on a board, and back to the board after a game's moves."""

from __future__ import annotations

import re

from laconic.envs.library.checkmate.move_texts import move_text
from laconic.envs.library.checkmate.python_chess import chess

_FIGURINES = str.maketrans(
    {
        **{
            first + place: piece
            for first in (0x2654, 0x265A)
            for place, piece in enumerate("KQRBN")
        },
        # A pawn has no letter, and selectors of emoji mean nothing.
        **dict.fromkeys((0x2659, 0x265F, 0xFE0E, 0xFE0F)),
    }
)
_MOVE_NUMBER = re.compile(r"[0-9]+\.+")


def move_in(board: chess.Board, text: str) -> chess.Move | None:
    """Return the move that a text answers with (see `move_text`); None if it is not legal."""
    written = move_text(text)
    return None if written is None else parse(board, written)


def parse(board: chess.Board, written: str) -> chess.Move | None:
    """Return the legal move that is written in a notation python-chess accepts; None without one.

    Marks of check, mate and praise make no difference. A piece may be a figurine of either color.
    It may be written in lower case where that is no legal move otherwise: `bxc3` is the pawn's
    capture if there is one.
    """
    bare = re.sub(r"[\\+#!?]", "", written.translate(_FIGURINES)).replace(":", "x")
    capital = bare.upper() if "-" in bare[:2] else bare[:1].upper() + bare[1:]
    # Only the last one knows castling as the king's capture of its own rook.
    tries = ((board.parse_san, bare), (board.parse_san, capital), (board.parse_uci, bare))
    for read, form in tries:
        try:
            move = read(form)
        except ValueError:
            continue
        # To pass is no move of the game, though python-chess can read it.
        return move or None
    return None


def replay(moves: str) -> chess.Board:
    """Return the board after the moves of a game, which may end in a bare move number.

    A move that cannot be read, or is illegal where it stands, raises ValueError.
    """
    board = chess.Board()
    for place, written in enumerate(_MOVE_NUMBER.sub(" ", moves).split(), start=1):
        try:
            board.push_san(written)
        except ValueError as error:
            raise ValueError(f"half-move {place}: {error}") from error
    return board
