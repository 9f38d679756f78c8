"""Commands that messages tell a user to type; all are built here, so that tests can check them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Any

_flags: list[str] = []
"""Flags of this process that a command needs to find the same configurations."""


def repeat_flags(flags: Iterable[str]) -> None:
    """Let all commands of this process have flags, such as `--config-dir my_conf`."""
    _flags[:] = flags


def command(program: str, *options: str, **overrides: Any) -> str:
    """Return a command as it is typed in a shell, with the flags of `repeat_flags`.

    Args:
        program: name of a program of `laconic`, such as `warm-start`.
        options: flags and overrides that are written already; they follow the program unchanged.
        **overrides: value of each key; pass dotted keys as `**{"hydra.run.dir": "warm"}`.
    """
    texts = [f"{key}={quoted(value)}" for key, value in overrides.items()]
    return " ".join(["laconic", program, *map(shlex.quote, [*_flags, *options, *texts])])


def quoted(value: object) -> str:
    """Return a value as Hydra's command line reads it, in quotes if it has special characters."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list | tuple):
        return f"[{','.join(map(quoted, value))}]"
    text = str(value)
    # Text between angle brackets is for the user to fill in.
    if re.fullmatch(r"[\w./-]+|<[\w ]+>", text, re.ASCII):
        return text
    return "'" + text.replace("\\'", "\\\\'").replace("'", "\\'") + "'"
