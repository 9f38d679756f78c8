"""Check the needs of every program before its imports: a name, a folder, docstrings, memory.

It imports nothing slow, and nothing that reads the working folder.
"""

from __future__ import annotations

import errno
import os
import re
import resource
import sys
from importlib.metadata import distributions
from io import TextIOWrapper

LEAST_SPACE = 2**30
"""Bytes of address space that are too few for the smallest policy, which takes 1.1 GiB."""
_NO_MEMORY = re.compile(r"failed to map segment|[Cc]an(?:not|'t) allocate|can't start new thread")


def replace_unprintable() -> None:
    """Let the output show `?` for a character that its encoding lacks, in place of an error.

    A terminal or a pipe may take ASCII or a code page of Windows alone, and an error there would
    come after the run. A notebook's output has no encoding.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def preflight() -> str | None:
    """Return the reason why no program can run in this process; None if one can."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return "the working folder was deleted; change to one that exists (cd) and start again"
    if sys.flags.optimize >= 2:
        return (
            "expected Python with docstrings, which transformers reads; got PYTHONOPTIMIZE=2 (or"
            " -OO): unset it, or set it to 1"
        )
    return _namesake() or (_limited() if 0 <= _space() <= LEAST_SPACE else None)


def find_memory_limit(error: BaseException) -> str | None:
    """Return a message if a limit on memory caused an error; None for another cause."""
    cause: BaseException | None = error if _space() >= 0 else None
    while cause is not None:
        full = isinstance(cause, OSError) and cause.errno == errno.ENOMEM
        if full or isinstance(cause, MemoryError) or _NO_MEMORY.search(str(cause)):
            return _limited()
        cause = cause.__cause__ or cause.__context__
    return None


def _namesake() -> str | None:
    """Return a message if another project with the import `laconic` is installed; else None."""
    others = [
        each
        for each in distributions(name="laconic")
        # Ours was installed by this name, too, before the index had another one.
        if not any(point.value.startswith("laconic.experiments.") for point in each.entry_points)
    ]
    if not others:
        return None
    # Here, because `envs` reads the working folder when it is imported.
    from laconic.envs.errors import DISTRIBUTION

    return (
        f"expected {DISTRIBUTION} alone to have the import `laconic`; got the other project"
        f" 'laconic' {others[0].version} beside it: pip uninstall laconic, then install"
        f" {DISTRIBUTION} again"
    )


def _space() -> int:
    """Return the bytes of address space that this process may use; -1 without a limit."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return -1 if limit == resource.RLIM_INFINITY else limit


def _limited() -> str:
    return (
        f"this process may use {_space() / 2**30:.1f} GiB of address space (ulimit -v), which is"
        " too little; raise that limit, or lift it with ulimit -v unlimited"
    )
