r"""Reading chess moves in a text; knows neither board nor rules.

A move is written in short (`Qxf7#`, `Nbd2`, `e8=Q`), long (`Qh5xf7`, `e2-e4`) or coordinate
algebraic notation (`h5f7`), castling with the letter O or with zeros. Pieces may be figurines
(`♛xf7#`). A text commits to a move with `#### Qxf7#` or `\boxed{Qxf7\#}`; a move number may
stand before the move. The work is bounded: a window at the end of the text is read.
"""

from __future__ import annotations

import re

from laconic.envs.dialogue.characters import ascii_alike

WINDOW = 20_000
"""Characters at the end of a text that are read."""

_PIECE = "[KQRBNkqrn\u2654-\u2658\u265a-\u265e][\ufe0e\ufe0f]?"
_PAWN = "[\u2659\u265f][\ufe0e\ufe0f]?"
_CASTLING = r"[Oo0]-[Oo0](?:-[Oo0])?+"
_MOVE = (
    rf"(?P<move>(?:{_CASTLING}|(?:{_PIECE}|{_PAWN})?[a-h]?[1-8]?[-x:]?[a-h][1-8]"
    rf"(?:=?(?:{_PIECE}|[Bb]))?+)(?:\\?[+#]){{0,2}}+[!?]{{0,2}}+)(?![A-Za-z0-9])"
)
_NUMBER = r"(?:[0-9]{1,3}\.{1,3}[ ]?)?+"
_DRESS = r"[ \t]{0,4}(?:\\[(\[]|</?[a-z]{1,10}>|[*_`$\"']){0,4}[ ]?"
_MARKED = re.compile(rf"####{_DRESS}(?:\\[a-z]{{4,6}}[ ]?\{{)?{_NUMBER}{_MOVE}")
_BOXED = re.compile(
    rf"\\boxed[ ]?\{{(?:\\[a-z]{{4,6}}[ ]?\{{)?{_DRESS}{_NUMBER}{_MOVE}{_DRESS}\}}{{1,2}}"
)
_STATED = re.compile(rf"\b(?:move|answer|mate|checkmate)(?: is|:| is:){_DRESS}{_NUMBER}{_MOVE}")
_MENTIONED = re.compile(rf"(?<![A-Za-z0-9]){_MOVE}")
_SQUARE = re.compile(r"[a-h][1-8]")
# Captures, checks and mates by their typographic signs; each stands for one ASCII character.
_SIGNS = str.maketrans({"\u00d7": "x", "\u266f": "#", "\u2021": "#", "\u2020": "+"})


def commitment(text: str) -> tuple[str, str] | None:
    """Return the last marker that holds a move: its exact text, and the move as written."""
    written, tail = _tail(text)
    marked = [*_MARKED.finditer(tail), *_BOXED.finditer(tail)]
    last = max(marked, key=lambda mark: mark.start(), default=None)
    return (written[last.start() : last.end()], last["move"]) if last else None


def move_text(text: str) -> str | None:
    """Return the move that a text answers with, as written; None without one.

    Candidates in order of preference: the marked move; the last move that is stated as the answer
    (`the move is Qh7#`); the last text that can only be a move; the last square, which may be a
    pawn move. Legality is not considered, so a list of moves counts as its last move.
    """
    marked = commitment(text)
    if marked is not None:
        return marked[1]
    _, tail = _tail(text)
    stated = [move["move"] for move in _STATED.finditer(tail)]
    mentioned = [move["move"] for move in _MENTIONED.finditer(tail)]
    certain = [move for move in mentioned if not _SQUARE.fullmatch(move)]
    return next((moves[-1] for moves in (stated, certain, mentioned) if moves), None)


def _tail(text: str) -> tuple[str, str]:
    """Return the window at the end of a text, as written and in ASCII signs of the same length."""
    tail = text[-WINDOW:]
    return tail, ascii_alike(tail).translate(_SIGNS)
