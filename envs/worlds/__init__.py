"""Worlds: environments played by acts, under the same budgets and prices as dialogues.

A world is a frozen dataclass whose fields are its settings (`envs.worlds.base.World`).
"""

from __future__ import annotations

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
    "split_act",
]

explain((RandomPlay, TeacherStyle, TurnView))
