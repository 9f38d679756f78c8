"""Make the environments of a training, as configured or as a mixture of several layouts.

A warm start may play the layouts of a comparison (`train.layouts`). It then teaches one policy to
be a member of the team, to work alone, to debate and to revise, so that a comparison is fair.
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
from laconic.experiments.session.alone import single_writer
from laconic.experiments.session.setup import Environments, make_environments
from laconic.experiments.session.team_layouts import (
    BUDGET,
    LAYOUTS,
    LayoutError,
    TeamSettings,
    changed,
    split_budget,
    token_cap,
)

TEAM, ALONE = "team", "alone"
"""Layouts of the environment as configured, and of one agent."""


def make_training(cfg: DictConfig, count: int, team: Any) -> Environments:
    """Make equal environments of the training split, in the layouts of `train.layouts`.

    A layout that does not fit the environment is left out. Only environments of benchmarks can be
    rearranged.

    Raises:
        UnknownNameError: a layout is unknown.
        SettingError: `train.layouts` does not contain `team`.
    """
    layouts = list(cfg.train.get("layouts") or [TEAM])
    if layouts == [TEAM]:
        return make_environments(cfg, count, "train", team)
    check_names("layout in train.layouts", layouts, LAYOUTS)
    by_layout = {layout: _make(cfg, layout, count, team) for layout in dict.fromkeys(layouts)}
    by_layout = {layout: environments for layout, environments in by_layout.items() if environments}
    mixed = [layout for layout in layouts if layout in by_layout]
    if TEAM not in mixed:
        raise SettingError(
            f"train.layouts must contain team, the layout that the run evaluates; got {layouts}"
        )
    if mixed == [TEAM] * len(mixed):
        return by_layout[TEAM]
    mixtures = [
        Mixture({layout: environments[place] for layout, environments in by_layout.items()}, mixed)
        for place in range(count)
    ]
    for mixture in mixtures if ALONE in by_layout and TeamSettings.of(_resolved(cfg)).joint else ():
        # A teacher looks tasks up by key and needs the drafts of the writer as well.
        mixture.tasks = _with_drafts_of(mixture.tasks, mixture.parts[ALONE].tasks)  # type: ignore[attr-defined]
    return mixtures


def _rearrangeable(env: DictConfig) -> bool:
    """Check that an environment grades one answer, which a team of another layout may give."""
    return env.get("_target_") == "laconic.envs.make" and env.name in names("benchmarks")


def _make(cfg: DictConfig, layout: str, count: int, team: Any) -> Environments:
    """Make environments in a layout; none if it does not fit."""
    if layout == TEAM:
        return make_environments(cfg, count, "train", team)
    if not _rearrangeable(cfg.env):
        return []
    settings = _resolved(cfg)
    try:
        arranged = in_layout(settings, layout)
    except LayoutError:
        return []
    own = copy.copy(cfg)
    with open_dict(own):
        own.env = arranged
    environments = make_environments(own, count, "train", team)
    configured = TeamSettings.of(settings)
    for environment in environments if layout == ALONE and configured.joint else ():
        single_writer(environment, configured.team)  # type: ignore[arg-type]
    return environments


def _with_drafts_of(tasks: Mapping[str, Task], others: Mapping[str, Task]) -> dict[str, Task]:
    return {
        key: replace(task, drafts={**task.drafts, **others[key].drafts})
        for key, task in tasks.items()
    }


def _resolved(cfg: DictConfig) -> dict[str, Any]:
    settings: Any = OmegaConf.to_container(cfg.env, resolve=True)
    return dict(settings)


def in_layout(env: dict[str, Any], layout: str) -> dict[str, Any]:
    """Return the settings of an environment in another layout, with the same total budget.

    Raises:
        LayoutError: the layout does not fit the environment.
    """
    settings = changed(env, LAYOUTS[layout](TeamSettings.of(env), None))
    total = token_cap(env)
    if total is None:
        return settings
    thought = (env.get("budget") or {}).get("thought")
    thoughts = thought and int(thought) * TeamSettings.of(env).turns
    caps = split_budget(settings, total, thoughts, layout, layout)
    return changed(settings, {"budget": {"_target_": BUDGET, **caps}})
