"""The environments of a training: those configured, or a mixture of several shapes of them.

A warm start that plays a comparison's shapes (`train.shapes`) teaches one policy to be a member of
the team, to work alone on the whole problem, to debate and to revise, so that what is put beside
the team was taught as well as it.
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
"""The shape that is the environment as configured, and that of one agent."""


def make_training(cfg: DictConfig, count: int, team: Any) -> Environments:
    """Equal environments of the training part, in the shapes of `train.shapes`.

    A shape that makes no sense for the environment is left out; only environments of benchmarks
    can be rearranged at all.

    Raises:
        UnknownNameError: there is no such shape.
        SettingError: the configured team is not among them.
    """
    shapes = list(cfg.train.get("shapes") or [TEAM])
    if shapes == [TEAM]:
        return make_environments(cfg, count, "train", team)
    check_names("shape in train.shapes", shapes, SHAPES)
    parts = {one: made for one in dict.fromkeys(shapes) if (made := _made(cfg, one, count, team))}
    drawn = [one for one in shapes if one in parts]
    if TEAM not in drawn:
        raise SettingError(
            f"train.shapes={shapes} leaves out the team, which is what the run evaluates; add team"
        )
    if drawn == [TEAM] * len(drawn):
        return parts[TEAM]
    each = ({name: made[place] for name, made in parts.items()} for place in range(count))
    mixtures = [Mixture(one, drawn) for one in each]
    for one in mixtures if ALONE in parts and TeamSettings.of(_resolved(cfg)).joint else ():
        # A teacher knows tasks by their keys, whoever is to write them.
        one.tasks = _with_drafts_of(one.tasks, one.parts[ALONE].tasks)  # type: ignore[attr-defined]
    return mixtures


def _rearrangeable(env: DictConfig) -> bool:
    """Whether it grades one answer, so that others than its team may give it."""
    return env.get("_target_") == "laconic.envs.make" and env.name in names("benchmarks")


def _made(cfg: DictConfig, shape: str, count: int, team: Any) -> Environments:
    """Environments in a shape; none where it makes no sense."""
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
    made = make_environments(own, count, "train", team)
    configured = TeamSettings.of(settings)
    for one in made if shape == ALONE and configured.joint else ():
        let_write_all(one, configured.team)  # type: ignore[arg-type]
    return made


def _with_drafts_of(tasks: Mapping[str, Task], others: Mapping[str, Task]) -> dict[str, Task]:
    return {
        key: replace(one, drafts={**one.drafts, **others[key].drafts}) for key, one in tasks.items()
    }


def _resolved(cfg: DictConfig) -> dict[str, Any]:
    settings: Any = OmegaConf.to_container(cfg.env, resolve=True)
    return dict(settings)


def in_shape(env: dict[str, Any], shape: str) -> dict[str, Any]:
    """The settings of an environment in another shape, in which all may say as much together.

    Raises:
        Unfit: the shape makes no sense for it.
    """
    made = changed(env, SHAPES[shape](TeamSettings.of(env), None))
    total = said_in_all(env)
    if total is None:
        return made
    thought = (env.get("budget") or {}).get("thought")
    thoughts = thought and int(thought) * TeamSettings.of(env).turns
    caps = shared_out(made, total, thoughts, shape, shape)
    return changed(made, {"budget": {"_target_": BUDGET, **caps}})
