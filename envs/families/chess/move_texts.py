r"""Reading chess moves in a text; knows neither board nor rules.

A move is written in short (`Qxf7#`, `Nbd2`, `e8=Q`), long (`Qh5xf7`, `e2-e4`) or coordinate
algebraic notation (`h5f7`), castling with the letter O or with zeros. A text commits to a move with
`#### Qxf7#` or `\boxed{Qxf7\#}`; a move number may stand before the move. The work is bounded: a
window at the end of the text is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

WINDOW = 20_000
"""Characters at the end of a text that are read."""

_CASTLING = r"[Oo0]-[Oo0](?:-[Oo0])?+"
_MOVE = (
    rf"(?P<move>(?:{_CASTLING}|[KQRBNkqrn]?[a-h]?[1-8]?[-x]?[a-h][1-8](?:=?[QRBNqrbn])?+)"
    r"(?:\\?[+#]){0,2}+[!?]{0,2}+)(?![A-Za-z0-9])"
)
_NUMBER = r"(?:[0-9]{1,3}\.{1,3}[ ]?)?+"
_DRESS = r"[ \t]{0,4}[*_`$\"']{0,4}"
_MARKED = re.compile(rf"####{_DRESS}{_NUMBER}{_MOVE}")
_BOXED = re.compile(
    rf"\\boxed[ ]?\{{(?:\\[a-z]{{4,6}}[ ]?\{{)?{_DRESS}{_NUMBER}{_MOVE}{_DRESS}\}}{{1,2}}"
)
_STATED = re.compile(rf"\b(?:move|answer|mate|checkmate)(?: is|:| is:){_DRESS}{_NUMBER}{_MOVE}")
_MENTIONED = re.compile(rf"(?<![A-Za-z0-9]){_MOVE}")
_SQUARE = re.compile(r"[a-h][1-8]")


def commitment(text: str) -> tuple[str, str] | None:
    """The last marker that holds a move: its exact text, and the move as written."""
    start = max(0, len(text) - WINDOW)
    marked = [*_MARKED.finditer(text, start), *_BOXED.finditer(text, start)]
    last = max(marked, key=lambda found: found.start(), default=None)
    return (last.group(), last["move"]) if last else None


def moves_in(text: str) -> Iterator[str]:
    """What may be the move a text answers with, the best first.

    With a marker that is the marked move alone. Otherwise it is what is said to be the move (`the
    move is Qh7#`), then what can be nothing but a move, then squares, which may be pawn moves; each
    kind from the end of the text.
    """
    marked = commitment(text)
    if marked is not None:
        yield marked[1]
        return
    start = max(0, len(text) - WINDOW)
    yield from reversed([found["move"] for found in _STATED.finditer(text, start)])
    mentioned = [found["move"] for found in _MENTIONED.finditer(text, start)]
    for squares in (False, True):
        for move in reversed(mentioned):
            if bool(_SQUARE.fullmatch(move)) == squares:
                yield move
