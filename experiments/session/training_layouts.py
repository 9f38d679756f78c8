"""Make the environments of a training, as configured or as a mixture of several shapes.

A warm start may play the shapes of a comparison (`train.shapes`). It then teaches one policy to be
a member of the team, to work alone, to debate and to revise, so that a comparison is fair.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict

from laconic.envs import names
from laconic.envs.checks import check_names
from laconic.envs.errors import SettingError
from laconic.envs.task import Task
from laconic.envs.wrappers.mixture import Mixture
from laconic.experiments.session.alone import let_write_all
from laconic.experiments.session.setup import Environments, make_environments
from laconic.experiments.session.team_layouts import (
    BUDGET,
    SHAPES,
    TeamSettings,
    Unfit,
    changed,
    said_in_all,
    shared_out,
)

TEAM, ALONE = "team", "alone"
"""Shapes of the environment as configured, and of one agent."""


def make_training(cfg: DictConfig, count: int, team: Any) -> Environments:
    """Make equal environments of the training split, in the shapes of `train.shapes`.

    A shape that does not fit the environment is left out. Only environments of benchmarks can be
    rearranged.

    Raises:
        UnknownNameError: a shape is unknown.
        SettingError: `train.shapes` does not contain `team`.
    """
    shapes = list(cfg.train.get("shapes") or [TEAM])
    if shapes == [TEAM]:
        return make_environments(cfg, count, "train", team)
    check_names("shape in train.shapes", shapes, SHAPES)
    by_shape = {shape: _make(cfg, shape, count, team) for shape in dict.fromkeys(shapes)}
    by_shape = {shape: environments for shape, environments in by_shape.items() if environments}
    mixed = [shape for shape in shapes if shape in by_shape]
    if TEAM not in mixed:
        raise SettingError(
            f"train.shapes must contain team, the shape that the run evaluates; got {shapes}"
        )
    if mixed == [TEAM] * len(mixed):
        return by_shape[TEAM]
    mixtures = [
        Mixture({shape: environments[place] for shape, environments in by_shape.items()}, mixed)
        for place in range(count)
    ]
    for mixture in mixtures if ALONE in by_shape and TeamSettings.of(_resolved(cfg)).joint else ():
        # A teacher looks tasks up by key and needs the drafts of the writer as well.
        mixture.tasks = _with_drafts_of(mixture.tasks, mixture.parts[ALONE].tasks)  # type: ignore[attr-defined]
    return mixtures


def _rearrangeable(env: DictConfig) -> bool:
    """Check that an environment grades one answer, which a team of another shape may give."""
    return env.get("_target_") == "laconic.envs.make" and env.name in names("benchmarks")


def _make(cfg: DictConfig, shape: str, count: int, team: Any) -> Environments:
    """Make environments in a shape; none if it does not fit."""
    if shape == TEAM:
        return make_environments(cfg, count, "train", team)
    if not _rearrangeable(cfg.env):
        return []
    settings = _resolved(cfg)
    try:
        arranged = in_shape(settings, shape)
    except Unfit:
        return []
    own = copy.copy(cfg)
    with open_dict(own):
        own.env = arranged
    environments = make_environments(own, count, "train", team)
    configured = TeamSettings.of(settings)
    for environment in environments if shape == ALONE and configured.joint else ():
        let_write_all(environment, configured.team)  # type: ignore[arg-type]
    return environments


def _with_drafts_of(tasks: Mapping[str, Task], others: Mapping[str, Task]) -> dict[str, Task]:
    return {
        key: replace(task, drafts={**task.drafts, **others[key].drafts})
        for key, task in tasks.items()
    }


def _resolved(cfg: DictConfig) -> dict[str, Any]:
    settings: Any = OmegaConf.to_container(cfg.env, resolve=True)
    return dict(settings)


def in_shape(env: dict[str, Any], shape: str) -> dict[str, Any]:
    """Return the settings of an environment in another shape, with the same total budget.

    Raises:
        Unfit: the shape does not fit the environment.
    """
    settings = changed(env, SHAPES[shape](TeamSettings.of(env), None))
    total = said_in_all(env)
    if total is None:
        return settings
    thought = (env.get("budget") or {}).get("thought")
    thoughts = thought and int(thought) * TeamSettings.of(env).turns
    caps = shared_out(settings, total, thoughts, shape, shape)
    return changed(settings, {"budget": {"_target_": BUDGET, **caps}})
