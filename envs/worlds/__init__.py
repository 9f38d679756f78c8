"""Environments that are played by acts, on the same budgets, prices and silence as dialogues.

A world is a folder here with a `WORLD`, a frozen dataclass whose fields are its settings
(`envs.worlds.base`).
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

from laconic.envs.checks import choice
from laconic.envs.worlds.base import World
from laconic.envs.worlds.environment import WorldEnv

__all__ = ["World", "WorldEnv", "names", "script_names", "world"]


def names() -> tuple[str, ...]:
    """The worlds there are, in alphabetical order."""
    return tuple(sorted(one.name for one in pkgutil.iter_modules(__path__) if one.ispkg))


def world(name: str) -> type[World[Any, Any]]:
    """The class of a world.

    Raises:
        UnknownNameError: there is no world of that name.
    """
    choice("world", name, names())
    found: type[World[Any, Any]] = import_module(f"laconic.envs.worlds.{name}").WORLD
    return found


def script_names() -> tuple[str, ...]:
    """The scripts of all worlds."""
    return tuple(dict.fromkeys(one for name in names() for one in world(name).scripts()))
