"""Apply defaults that depend on several choices: team and learner, environment and warm start.

A YAML file states the defaults of its own group. Some values depend on another group, and are set
here after the configuration is composed:

- Environments state how a warm start teaches them (`WARM_STARTS`), and how fresh weights are
  made into a shipped policy (`learners.agents.recipes`).
- Teams state what suits their weights: learning rate, token budgets, form of the first observation
  (`team.defaults`).
- Learners state how agents share weights (`learner.sharing`).

A key that the user typed always wins; over defaults of teams and learners, so does a key that the
chosen `experiment=` sets. A run prints one line per value that it applied.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any

from hydra.core.global_hydra import GlobalHydra
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf, open_dict

from laconic.envs.errors import SettingError
from laconic.learners.agents.recipes import RECIPES

TEACHER = "learner.collect.teacher"
_ONE_WORDING = {"train.steps": 1600, f"{TEACHER}.terse": 0.4, f"{TEACHER}.frames": 1}
_SUMMARIES = {"env.tasks": 20_000, f"{TEACHER}.best": 0.0}
_JOINT_PROGRAMS = {"env.tasks": 10_000, f"{TEACHER}.best": 0.1}
# The generators have 17,048 functions and 17,326 tables to train on.
_FUNCTIONS = {"env.tasks": 16_000}
WARM_STARTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "arxiv": _SUMMARIES,
        # An episode has up to 60 rounds of four arms, and untrained weights use every token of it:
        # evaluations of 100 tasks took longer than the training.
        "boxnet": {
            "env.tasks": 20_000,
            "train.steps": 300,
            "train.tasks_per_step": 2,
            "evaluation.tasks": 1,
            "agent.sampling.max_reply_tokens": 25,
            "agent.model_config.positions": 4096,
            "agent.model_config.hidden": 64,
            "agent.model_config.layers": 2,
            "agent.model_config.heads": 2,
            "agent.model_config.intermediate": 128,
        },
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
            "agent.model_config.positions": 4096,
            "agent.model_config.hidden": 64,
            "agent.model_config.layers": 2,
            "agent.model_config.heads": 2,
            "agent.model_config.intermediate": 128,
        },
        "coop_humaneval": _JOINT_PROGRAMS,
        "coop_mbpp": _JOINT_PROGRAMS,
        # Every turn of every member is a part of the way.
        "cups": {"learner.collect.others": 1.0},
        "hops": {"learner.collect.others": 1.0},
        "humaneval": _FUNCTIONS,
        "jury": {
            # All states in an evaluation, and 4,096 of them, drawn by their chance, to learn from.
            "env.tasks": None,
            "evaluation.tasks": None,
            "train.tasks_per_step": 64,
            f"{TEACHER}.best": 0.8,
            f"{TEACHER}.silent_uninformed": 0.22,
        },
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
"""Environment -> key -> value of a warm start that differs from that of all environments.

Keys of the teacher hold wherever it is imitated."""


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
    for key, value in WARM_STARTS.get(name, {}).items():
        if warm_start or key.startswith("learner.collect."):
            _set(cfg, key, value, typed)
    fixed = typed | {key for name in experiments for key in experiment_keys(name)}
    if warm_start and str(OmegaConf.select(cfg, "agent._target_")) == _FRESH and name in RECIPES:
        stated = RECIPES[name].settings
        for key, value in stated.items():
            # A node whose class the user chose has its own settings.
            own = f"{key.partition('.')[0]}._target_"
            if not (own in typed and own in stated):
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


def experiment_keys(name: str) -> Iterator[str]:
    """Yield the dotted keys that an option of the group `experiment` sets."""
    if not GlobalHydra.instance().is_initialized():
        return
    loader: Any = GlobalHydra.instance().config_loader()
    loaded = loader.repository.load_config(f"experiment/{name}")
    if loaded is not None:
        yield from _leaves(OmegaConf.to_container(loaded.config, resolve=False), "")


def _leaves(node: Any, prefix: str) -> Iterator[str]:
    if not isinstance(node, Mapping):
        yield prefix
        return
    for name, value in node.items():
        yield from _leaves(value, f"{prefix}.{name}" if prefix else str(name))
