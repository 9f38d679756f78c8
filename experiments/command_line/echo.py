"""Print messages without control characters, so that no text can command the terminal."""

from __future__ import annotations

import sys

from laconic.envs.dialogue.messages import printable


def echo(message: object) -> None:
    """Print a message; control characters in it become U+FFFD."""
    print(printable(str(message)), flush=True)


def echo_error(message: object) -> None:
    """Print a message as `echo` does, on the standard error."""
    sys.stdout.flush()
    print(printable(str(message)), file=sys.stderr, flush=True)
