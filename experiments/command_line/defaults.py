"""Apply defaults that depend on several choices: team and learner, environment and warm start.

A YAML file states the defaults of its own group. Some values depend on another group, and are set
here after the configuration is composed:

- `warm_start/<environment>.yaml` states what a warm start changes there: for any team, and under
  `new` for fresh weights. Keys of the teacher hold wherever it is imitated, and keys that a team or
  learner lacks are skipped. Hydra could compose these values only from one file for each of the
  three conditions (33 files): a defaults list chooses files, not parts of them.
- Teams state what suits their weights: learning rate, token budgets, form of the first observation
  (`team.defaults`).
- Learners state how agents share weights (`learner.sharing`).

A key that the user typed always wins; over defaults of teams and learners, so does a key that the
chosen `experiment=` sets. A run prints one line per value that team or learner changed, and
`--cfg job` shows the result.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pkgutil import resolve_name
from typing import Any

from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf, open_dict

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.tree import leaves, stated_in

_BUDGETS = ("env.budget.message", "env.budget.episode")
"""Caps that a team may raise; a cap that the environment does not set stays unset."""
_FORM = "env.instructions"
"""Setting that full instructions would take otherwise, which overflow small weights: they then fall
silent. So it is also set where the user names a class, whose node holds only what was typed."""
_DEMONSTRATIONS = "laconic.learners.rollout.collectors.demonstrations"
_FRESH = "laconic.learners.agents.tiny.new.NewTeam"


def apply_defaults(
    cfg: DictConfig, typed: set[str], experiments: Sequence[str], takes_form: bool = False
) -> list[str]:
    """Set the defaults of environment, learner and team in a composed configuration, in place.

    Args:
        cfg: the composed configuration.
        typed: dotted keys that the user typed, with their parents.
        experiments: chosen options of the group `experiment`.
        takes_form: whether the user named a class of environments that takes `env.instructions`.

    Returns:
        One line per value that the team or the learner changed.

    Raises:
        SettingError: the team refuses a setting, or a warm start has no demonstrations.
    """
    collect = str(OmegaConf.select(cfg, "learner.collect._target_"))
    imitates = collect.startswith(_DEMONSTRATIONS)
    warm_start = "warm_start" in experiments
    if warm_start and not imitates and _learns_here(cfg, collect):
        chosen = OmegaConf.select(cfg, "learner.collect._target_") or "null"
        raise SettingError(
            "experiment=warm_start (laconic warm-start) teaches by demonstrations, but the learner"
            f" collects none; got learner.collect={chosen}: leave `learner` out, or choose"
            " learner=imitation. laconic train trains with another learner"
        )
    name = str(OmegaConf.select(cfg, "env.name"))
    # A name from a stranger's run folder may be the path of any file.
    stated = stated_in(f"warm_start/{name}") if name.isidentifier() else {}
    fresh = stated.pop("new", {})
    for key, value in leaves(stated):
        if warm_start or key.startswith("learner.collect."):
            _set(cfg, key, value, typed)
    fixed = typed.union(*map(experiment_keys, experiments))
    if warm_start and str(OmegaConf.select(cfg, "agent._target_")) == _FRESH:
        values = dict(leaves(fresh))
        for key, value in values.items():
            # A node whose class the user chose has its own settings.
            own = f"{key.partition('.')[0]}._target_"
            if not (own in typed and own in values):
                _set(cfg, key, value, typed)
                fixed.add(key)
    notes = []
    sharing = OmegaConf.select(cfg, "learner.sharing")
    if sharing is not None and _set(cfg, "agent.sharing", sharing, fixed):
        notes.append(f"note: agent.sharing={sharing}, as the learner asks")
    for key, value in team_defaults(cfg.get("agent"), imitates, name).items():
        if key in _BUDGETS:
            cap = OmegaConf.select(cfg, key)
            if cap is None or (value is not None and cap >= value):
                continue
        if _set(cfg, key, value, fixed, new=key == _FORM and takes_form):
            shown = "null" if value is None else value
            notes.append(f"note: {key}={shown}, which suits the team")
    return notes


def _learns_here(cfg: DictConfig, collect: str) -> bool:
    """Return whether learner and collector are this package's, so that their data is known."""
    learner = str(OmegaConf.select(cfg, "learner._target_"))
    return learner.startswith("laconic.") and (collect == "None" or collect.startswith("laconic."))


def team_defaults(agent: Any, imitates: bool = False, environment: str = "") -> Mapping[str, Any]:
    """Return the defaults that a team states, by dotted key; empty for a team without `defaults`.

    Args:
        agent: node of the team in a configuration.
        imitates: True if the team learns from demonstrations.
        environment: name of the environment, for a team that chooses its weights by it.

    Raises:
        SettingError: the team refuses a setting.
    """
    if not isinstance(agent, DictConfig) or "_target_" not in agent:
        return {}
    try:
        target = resolve_name(str(agent["_target_"]))
    except (ImportError, AttributeError, ValueError):
        # Building the team names what is wrong with its target.
        return {}
    if isinstance(inspect.getattr_static(target, "defaults", None), staticmethod):
        stated = target.defaults
    elif hasattr(target, "defaults"):
        team = instantiate(agent, _convert_="all")
        choose = getattr(team, "for_environment", None)
        stated = (team if choose is None else choose(environment)).defaults
    else:
        return {}
    return dict(stated(imitates))


def _set(cfg: DictConfig, key: str, value: Any, fixed: set[str], new: bool = False) -> bool:
    """Set a key that exists, or may be new, and is not fixed; return whether its value changed."""
    parent, _, name = key.rpartition(".")
    node = OmegaConf.select(cfg, parent)
    if key in fixed or not isinstance(node, DictConfig) or not (new or name in node):
        return False
    if OmegaConf.select(cfg, key, throw_on_missing=False) == value:
        return False
    with open_dict(node):
        node[name] = value
    return True


def experiment_keys(name: str) -> set[str]:
    """Return the dotted keys that an option of the group `experiment` sets."""
    return {key for key, _ in leaves(stated_in(f"experiment/{name}"))}
