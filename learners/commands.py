"""The commands that messages tell a user to type; all of them are made here, so tests know them."""

from __future__ import annotations

import re
import shlex
from typing import Any


def command(program: str, *options: str, **overrides: Any) -> str:
    """Return a command as it is typed in a shell.

    Args:
        program: the name of a program of `laconic`, such as `warm-start`.
        options: what stands after it as it is: flags, and overrides that are spelled already.
        **overrides: key -> value; dotted keys come in as `**{"hydra.run.dir": "warm"}`.
    """
    spelled = [f"{key}={quoted(value)}" for key, value in overrides.items()]
    return " ".join(["laconic", program, *map(shlex.quote, [*options, *spelled])])


def quoted(value: object) -> str:
    """Return a value as Hydra's command line reads it: a text of other signs is put in quotes."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = str(value)
    # What stands between angle brackets is for the user to fill in.
    if re.fullmatch(r"[\w./-]+|<[\w ]+>", text, re.ASCII):
        return text
    return "'" + text.replace("\\'", "\\\\'").replace("'", "\\'") + "'"
