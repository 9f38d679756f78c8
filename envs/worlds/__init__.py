"""Worlds: environments played by acts, under the same budgets and prices as dialogues.

A world is a frozen dataclass whose fields are its settings (`envs.worlds.base.World`).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from laconic.envs.checks import choice
from laconic.envs.worlds.base import (
    RandomPlay,
    Script,
    TeacherStyle,
    TurnView,
    World,
    join_act,
    split_act,
)
from laconic.envs.worlds.environment import WorldEnv
from laconic.records import explain

__all__ = [
    "RandomPlay",
    "Script",
    "TeacherStyle",
    "TurnView",
    "World",
    "WorldEnv",
    "join_act",
    "names",
    "split_act",
    "world",
]

explain((RandomPlay, TeacherStyle, TurnView))

_WORLDS = {
    "boxnet": ("boxnet", "BoxNet"),
    "commons": ("commons", "Commons"),
    "cups": ("cups", "Cups"),
    "hops": ("hops", "Hops"),
    "jury": ("jury", "Jury"),
    "matrix": ("matrix", "Matrix"),
}
"""Module and class of each world, by name."""


def names() -> tuple[str, ...]:
    """Return the names of the worlds, in alphabetical order."""
    return tuple(sorted(_WORLDS))


def world(name: str) -> type[World[Any, Any]]:
    """Return the class of a world.

    Raises:
        UnknownNameError: no world has this name.
    """
    module, class_name = _WORLDS[choice("world", name, names())]
    world_class: type[World[Any, Any]] = getattr(
        import_module(f"laconic.envs.worlds.{module}"), class_name
    )
    return world_class
