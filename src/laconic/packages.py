"""What installed packages register: entry points of the groups `laconic.<what>`."""

from __future__ import annotations

import functools
import tomllib
from importlib import metadata
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
_SOURCES = Path(__file__).resolve().parents[2] / "pyproject.toml"
"""Project file, which only a clone has."""


@functools.cache
def registered(group: str) -> dict[str, metadata.EntryPoint]:
    """Return the entry points of a group by name.

    A clone reads its own from `pyproject.toml`, so that it runs without being installed.
    """
    points = {point.name: point for point in metadata.entry_points(group=group)}
    if _SOURCES.is_file():
        project = tomllib.loads(_SOURCES.read_text("utf-8"))["project"]
        own = project.get("entry-points", {}).get(group, {})
        points = {name: metadata.EntryPoint(name, own[name], group) for name in own} | points
    return points


def load(point: metadata.EntryPoint, kind: type[T]) -> T:
    """Return what an entry point names.

    Raises:
        SettingError: it cannot be imported, or is of another kind.
    """
    try:
        found = point.load()
    except Exception as error:
        raise refusal(
            f"the entry point {point.name!r} of {point.group} names {point.value!r}, which cannot"
            f" be imported ({type(error).__name__}: {error}); repair or uninstall the package that"
            " registers it"
        ) from error
    if not isinstance(found, kind):
        raise refusal(
            f"the entry point {point.name!r} of {point.group} must name a {kind.__name__}"
            f" ({kind.__module__}); got {type(found).__name__}"
        )
    return found


def refusal(message: str) -> ValueError:
    """Return a `SettingError`, imported late so that `laconic --help` does not import `envs`."""
    from laconic.envs.errors import SettingError

    return SettingError(message)
