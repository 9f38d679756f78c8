"""Folders of a user's own that bear the name of one of our packages, and hide it.

With `python -m` the working folder is searched first, so that `envs/` in it comes before Laconic's.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("envs", "learners", "experiments")
"""Those that lie beside this one, in a clone and when installed."""

_HOME = Path(__file__).resolve().parent.parent


def refuse_shadows() -> None:
    """Stop before an import fails for a reason that nobody would guess.

    Raises:
        ImportError: names the folder that hides a package of ours.
    """
    for name in PACKAGES:
        if shadow := shadow_of(name):
            # With this name `python -m` says it in one line.
            raise ImportError(shadow, name=__package__)


def shadow_of(name: str) -> str | None:
    """What hides one of our packages and what to do; None where nothing does, or it is not ours."""
    spec = find_spec(name) if name in PACKAGES else None
    if spec is None:
        return None
    # A folder without `__init__.py` has no file.
    place = spec.origin or next(iter(spec.submodule_search_locations or ()), None)
    if place is None or _HOME / name in (found := Path(place).resolve(), *found.parents):
        return None
    return (
        f"{name!r} is here {str(found)!r}, which hides Laconic's {str(_HOME / name)!r}: give it"
        " another name, or start in another folder"
    )
