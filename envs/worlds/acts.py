"""Acts in a message: its last line, if that begins with `>`, is what an agent does.

    I think 10 each is what the lake can bear.
    > catch 10

All else is speech. An act is no part of what others hear. A legal one is free, and a world says
what it reveals of it. A line that is no legal act is charged as a thought. Lines that quote others
are indented or begin with a name, so none of them can be taken for an act; lines that begin with
`>` before the last one are speech.
"""

from __future__ import annotations

MARK = ">"
"""What a line begins with that is an act."""


def split_act(message: str) -> tuple[str, str]:
    """The speech and the act of a message, without the white space around them; both may be empty.

    Empty lines after the act are nobody's.
    """
    speech, line_break, last = message.rstrip().rpartition("\n")
    if not last.startswith(MARK):
        return message, ""
    return speech.rstrip(), last


def with_act(speech: str, act: str) -> str:
    """The message that `split_act` takes apart again; without an act it is the speech."""
    return "\n".join(filter(None, (speech, act)))
