"""From written moves to moves on a board, and back to the board after a game's moves."""

from __future__ import annotations

import re
from itertools import islice

from laconic.envs.families.chess.library import chess
from laconic.envs.families.chess.move_texts import moves_in

_MAX_TRIED = 64
"""Moves of one text that are looked up on the board."""
_MOVE_NUMBER = re.compile(r"[0-9]+\.+")


def move_in(board: chess.Board, text: str) -> chess.Move | None:
    """The legal move a text answers with (see `moves_in`); None without one."""
    for written in islice(moves_in(text), _MAX_TRIED):
        move = parse(board, written)
        if move is not None:
            return move
    return None


def parse(board: chess.Board, written: str) -> chess.Move | None:
    """The legal move that is written in a notation python-chess accepts; None when it is none.

    Marks of check, mate and praise make no difference. A piece may be written in lower case where
    that is no legal move otherwise: `bxc3` is the pawn's capture if there is one.
    """
    bare = re.sub(r"[\\+#!?]", "", written)
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
    """The board after the moves of a game, which may end in a bare move number.

    A move that cannot be read, or is illegal where it stands, raises ValueError.
    """
    board = chess.Board()
    for place, written in enumerate(_MOVE_NUMBER.sub(" ", moves).split(), start=1):
        try:
            board.push_san(written)
        except ValueError as error:
            raise ValueError(f"half-move {place}: {error}") from error
    return board
