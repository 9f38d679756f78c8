"""Resolve `${preset:train.steps,800}` to the value that suits the chosen environment.

These values let `laconic warm-start env=<name>` work in every environment. They are defaults: a
typed key wins. Settings of the teacher hold wherever it is imitated; the others only in a warm
start, whose experiment reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from omegaconf import DictConfig, OmegaConf

TEACHER = "learner.collect.teacher"
_ONE_WORDING = {"train.steps": 1600, f"{TEACHER}.terse": 0.4, f"{TEACHER}.frames": 1}
_SUMMARIES = {"env.tasks": 20_000, f"{TEACHER}.best": 0.0}
_JOINT_PROGRAMS = {"env.tasks": 10_000, f"{TEACHER}.best": 0.1}
# The generators have 17,048 functions and 17,326 tables to train on.
_FUNCTIONS = {"env.tasks": 16_000}
PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "arxiv": _SUMMARIES,
        # The number of shipped positions; a search for more is slow.
        "checkmate": {"env.tasks": 8_000},
        # Conversations over twelve months are long, and few fit into a step.
        "commons": {
            "env.tasks": 2_000,
            "train.steps": 300,
            "train.tasks_per_step": 2,
            "evaluation.tasks": 8,
            f"{TEACHER}.best": 0.05,
            f"{TEACHER}.frames": 1,
            "agent.shape.positions": 4096,
            "agent.shape.hidden": 64,
            "agent.shape.layers": 2,
            "agent.shape.heads": 2,
            "agent.shape.intermediate": 128,
        },
        "coop_humaneval": _JOINT_PROGRAMS,
        "coop_mbpp": _JOINT_PROGRAMS,
        "humaneval": _FUNCTIONS,
        "math": _ONE_WORDING,
        "mbpp": _FUNCTIONS,
        "signal": {"env.tasks": 16_000},
        "sports": {
            "train.steps": 1000,
            "learner.collect.others": 1.0,
            f"{TEACHER}.terse": 0.4,
            f"{TEACHER}.frames": 1,
            f"{TEACHER}.silent_uninformed": 0.6,
            f"{TEACHER}.silent_informed": 0.01,
        },
        "tldr": _SUMMARIES,
    }
)
"""Environment -> key -> value, where it differs from the default of all environments."""


def preset(key: str, default: Any, *, _root_: DictConfig) -> Any:
    """Return the value of a key that suits the chosen environment.

    Args:
        key: dotted key of the configuration.
        default: the value for environments without a preset.
        _root_: the whole configuration.
    """
    name = OmegaConf.select(_root_, "env.name", default="", throw_on_missing=False)
    return PRESETS.get(str(name), {}).get(key, default)


OmegaConf.register_new_resolver("preset", preset, replace=True)
