"""Find the name that a mistyped one is most like."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like `name`; None when none is like it.

    The last parts of the two must be alike, because the parts before them are shared by many keys.
    """
    names = sorted(known)
    ends = sorted({one.rpartition(".")[2] for one in names})
    last = name.rpartition(".")[2]
    # One wrong letter of a short name weighs more.
    alike = get_close_matches(last, ends, n=len(ends) or 1, cutoff=0.65 if len(last) < 5 else 0.72)
    whole = [one for one in names if one.rpartition(".")[2] in alike]
    if close := get_close_matches(name, whole, n=1, cutoff=0.66):
        return close[0]
    close = get_close_matches(name.rpartition(".")[2], ends, n=1, cutoff=0.75)
    return next((one for one in names if one.rpartition(".")[2] in close), None)
