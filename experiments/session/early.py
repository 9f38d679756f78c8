"""Check a configuration before torch is imported and before a run folder is made.

The checks build the parts that need no torch as the program will: the environment with one task,
the team, and the settings of the learner's parts. The device and the optimizer, which need torch,
come last. A user's own classes are not built here, so that they are built only once; a loss, which
remembers nothing, is.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from inspect import isclass, signature
from pkgutil import resolve_name
from typing import Any, Protocol, runtime_checkable

from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf, open_dict

from laconic.envs.dialogue import DialogueEnv
from laconic.envs.dialogue.budget import split_words
from laconic.envs.errors import SettingError, SourceError, UnknownNameError
from laconic.experiments.command_line import programs
from laconic.experiments.command_line.targets import is_foreign, names_taken
from laconic.experiments.command_line.tree import check_values
from laconic.experiments.session.played_run import take_run
from laconic.experiments.session.splits import of_source, own_source
from laconic.experiments.session.training_run import USERS, Callback
from laconic.learners.advantages.credit import credit
from laconic.learners.advantages.group import Estimator
from laconic.learners.commands import command
from laconic.learners.training.ratio import check_ratio

AGENTS, METHODS = "laconic.learners.agents.", "laconic.extras.methods."
BUILT = (AGENTS, METHODS)
"""Beginnings of the teams of this package that load no torch with their class."""
PARTS = ("laconic.learners.prices.", "laconic.learners.advantages.", METHODS)
"""Beginnings of the parts of a learner that are built without torch."""
SCRIPTED = f"{AGENTS}scripted.ScriptedTeam"


@runtime_checkable
class ChecksRun(Protocol):
    """A part of a learner that not every run suits."""

    def check_run(self, settings: Mapping[str, Any], environment: Any) -> None:
        """Refuse a composed configuration (`SettingError`); `environment` may be None."""
        ...


def check_config(program: str, cfg: DictConfig, overrides: Sequence[str]) -> None:
    """Check a composed configuration of a program.

    Args:
        program: name of the program and of its YAML file in `conf/`.
        cfg: configuration without Hydra's part, after `targets.settle`; it may be changed.
        overrides: overrides that the user typed.

    Raises:
        SettingError: a setting is out of range, or contradicts another.
        HydraException: a part cannot be built from its settings.
    """
    registered = programs.find(program.replace("_", "-"))
    if registered is None or not (registered.check or registered.record):
        return
    check_values(cfg, registered.record)
    if registered.check:
        resolve_name(registered.check)(cfg)
    if "run" in cfg:
        take_run(cfg, overrides)
    environment = check_environment(program, cfg)
    check_team(cfg, trained=program == "train")
    if "learner" in cfg:
        check_learner(cfg, environment)
    check_callbacks(cfg)
    # The measures of installed packages import torch, for they play episodes.
    check_hooks(cfg)
    check_with_torch(cfg)


def check_environment(program: str, cfg: DictConfig) -> Any:
    """Build the environment with one task of each split; return the last one.

    A user's own class is not built; the result is then None.
    """
    if cfg.env.get("_target_") != "laconic.envs.make":
        return None
    small = copy.deepcopy(cfg)
    with open_dict(small):
        small.env.tasks = 1
    splits: dict[str, dict[str, Any]] = {"train": {}} if program in ("train",) else {}
    if "evaluation" in cfg:
        splits[cfg.evaluation.get("split", "evaluation")] = own_source(cfg)
    environment: Any = None
    for split, settings in splits.items():
        try:
            environment = instantiate(
                small.env, _convert_="all", split=split, tokenize=split_words, **settings
            )
        except InstantiationException as error:
            if isinstance(error.__cause__, SourceError):
                raise SourceError(of_source(error.__cause__)) from error.__cause__
            raise
        if isinstance(environment, DialogueEnv):
            environment.check_order()
    return environment


def check_team(cfg: DictConfig, trained: bool) -> None:
    """Build the team, which loads no model yet.

    Raises:
        SettingError: a setting is wrong, or the agents to train are scripted.
    """
    if trained and cfg.agent.get("_target_") == SCRIPTED:
        raise SettingError(
            "agent=scripted follows a script and has no weights to train; choose agent=tiny or"
            f" agent=hf; {command('evaluate', agent='scripted')} plays scripted agents"
        )
    targets = [str(node["_target_"]) for node in _nodes(cfg.agent)]
    if all(target.startswith(BUILT) for target in targets):
        instantiate(cfg.agent, _convert_="all")


def check_learner(cfg: DictConfig, environment: Any) -> None:
    """Build the settings of one of this package's learners, and its parts that need no torch.

    Raises:
        SettingError: a setting is out of range, groups are too small for the advantages, or a part
            does not suit the run.
    """
    node = cfg.learner
    if not _target(node) or is_foreign(_target(node)):
        return
    parts = {key: instantiate(node[key]) for key in node if _target(node[key]).startswith(PARTS)}
    with suppress(KeyError):
        instantiate(node["collect"]["teacher"]) if node.get("collect") else None
    objective = node.get("objective")
    if not is_foreign(_target(objective)):
        ratio = (objective or {}).get("importance_sampling_level", "sequence")
        check_ratio(ratio, (objective or {}).get("shortest", 1), node.get("correction", "auto"))
    if "credit" in node:
        credit(node.credit)
    advantages = parts.get("advantages")
    if isinstance(advantages, Estimator) and environment is not None and not node.get("collect"):
        # At most, all agents share one policy.
        advantages.check(cfg.train.group_size, len(environment.possible_agents))
    for part in parts.values():
        if isinstance(part, ChecksRun):
            part.check_run(cfg, environment)


def check_hooks(cfg: DictConfig) -> None:
    """Build this package's hooks after an evaluation and columns of a comparison.

    Raises:
        SettingError: a setting is out of range.
    """
    groups = [OmegaConf.select(cfg, key) or {} for key in ("evaluation.after", "compare.columns")]
    for node in (node for group in groups for node in group.values()):
        if _target(node).startswith("laconic.") and isclass(resolve_name(node._target_)):
            instantiate(node, _convert_="all")


def check_callbacks(cfg: DictConfig) -> None:
    """Check that each callback of the user is one and takes its settings; none is built.

    Raises:
        SettingError: it is no class, or no `Callback`, or lacks a setting.
        UnknownNameError: it takes no such setting.
        InstantiationException: the class cannot be imported.
    """
    nodes = cfg.get("callbacks") or {}
    if not isinstance(nodes, Mapping):
        raise SettingError(
            f"callbacks must hold nodes by name, as in callbacks.<name>._target_=<class>;"
            f" got {nodes!r}"
        )
    for name, node in nodes.items():
        key, target = f"{USERS}{name}", _target(node)
        if not isinstance(node, Mapping) or "_target_" not in node:
            raise SettingError(
                f"{key} must name a class: {key}._target_=my_package.MyCallback; got {node!r}"
            )
        # Hydra finds the class, and says which of its parts is missing.
        made = instantiate(node, _partial_=True, _recursive_=False, _convert_="all")
        if not (isclass(made.func) and issubclass(made.func, Callback)):
            raise SettingError(
                f"{key}._target_ must name a subclass of laconic.experiments.Callback; got {target}"
            )
        known = names_taken(target)
        for setting in made.keywords:
            if known is not None and setting not in known:
                raise UnknownNameError(f"setting in {key}", setting, known)
        try:
            signature(made.func).bind(*made.args, **made.keywords)
        except TypeError as error:
            raise SettingError(f"{key}: {target} is {error}") from error


def check_with_torch(cfg: DictConfig) -> None:
    """Check the device of the agents, the settings of the optimizer and a loss of one's own.

    Raises:
        SettingError: there is no such GPU, or the loss is none.
        InstantiationException: the optimizer refuses its settings.
    """
    devices = {str(node["device"]) for node in _nodes(cfg.get("agent")) if node.get("device")}
    for device in sorted(device for device in devices if device.startswith("cuda")):
        import torch

        number, count = device.partition(":")[2], torch.cuda.device_count()
        if (int(number) if number.isdigit() else 0) >= count:
            raise SettingError(
                f"agent.device must be a device of this machine; got {device}, and torch finds"
                f" {count} GPUs: set agent.device=auto or agent.device=cpu"
            )
    if _target(cfg.get("optimizer")).startswith(("torch.optim.", "laconic.learners.training.")):
        import torch

        instantiate(cfg.optimizer, [torch.zeros(1)], _partial_=False, _convert_="all")
    objective = (cfg.get("learner") or {}).get("objective")
    if is_foreign(_target(objective)):
        from laconic.learners.training.own_loss import as_objective

        as_objective(instantiate(objective, _convert_="all"))


def _nodes(node: Any) -> Iterator[DictConfig]:
    """Yield the nodes of a configuration that name a class, outermost first."""
    if isinstance(node, DictConfig):
        if "_target_" in node:
            yield node
        for key in node:
            if not OmegaConf.is_missing(node, key):
                yield from _nodes(node[key])


def _target(node: Any) -> str:
    return str(node.get("_target_")) if isinstance(node, DictConfig) else ""
