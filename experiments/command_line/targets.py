"""Read the settings that classes take, and fit a configuration to the classes that a user names.

`env._target_=my_package.Password` changes the class and leaves the settings of `env=gsm8k` around
it. Those that the new class does not take are dropped. A setting that an override names stays: if
the class does not take it, the user made a mistake, and building the class refuses it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pkgutil import resolve_name
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf, open_dict
from pettingzoo import AECEnv

from laconic.envs.checks import check_agents
from laconic.envs.errors import SettingError
from laconic.envs.task import PromptedTask
from laconic.experiments.command_line.arguments import expand_settings
from laconic.experiments.command_line.defaults import apply_defaults, experiment_keys
from laconic.experiments.command_line.schema import known_settings, settings_of
from laconic.experiments.command_line.tree import CONF, KEPT, dotted

REQUIRED = ("agent", "env", "learner", "optimizer")
"""Config groups that must name a class; a run does without a class of the other groups."""
NAMED = ("env", "agent", "learner", "optimizer")
"""Config groups that reports and tables name."""
LOSS, OBJECTIVE = "learner.objective", "laconic.learners.training.objective.Objective"
"""Key of the loss, and the class of our own."""

_TARGET = "._target_"
_OURS = ("laconic.", "torch.")
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def finalize_config(cfg: DictConfig, overrides: Sequence[str]) -> list[str]:
    """Fit `cfg`, in place, to the classes that the command line names, and apply their defaults.

    Returns:
        Notes for the user: one line for each class that does not take every setting, and for each
        default of the team or the learner that differs from the composed value.

    Raises:
        SettingError: a group was deleted (`~env`), and no class took its place; or a key has a
            value that means something at another one.
    """
    expand_settings(cfg)
    _check_groups(cfg, overrides)
    typed = typed_keys(overrides)
    if "env.free" in typed:
        raise SettingError(
            "env.free is for laconic.envs.make in Python, because a configuration names every"
            " setting; pass env.reward.price=0, env.information=full and env.topology=complete"
        )
    price = OmegaConf.select(cfg, "learner.price")
    # The built learner refuses it as well, but only after its tasks are made.
    if "learner.price" in typed and not isinstance(price, DictConfig):
        raise SettingError(
            f"learner.price is the schedule of a price, such as learner/price=fixed; got {price!r}."
            f" The price itself is env.reward.price: set env.reward.price={price}"
        )
    nodes = sorted(key.removesuffix(_TARGET) for key in typed if key.endswith(_TARGET))
    notes = [note for node in nodes if (note := _drop_foreign_settings(cfg, node, typed))]
    notes += _fit_loss(cfg, typed)
    experiments = [
        option.strip()
        for override in overrides
        if override.startswith("experiment=")
        for option in override.partition("=")[2].strip("[]").split(",")
    ]
    preset = set[str]().union(*map(experiment_keys, experiments))
    classes = set[str]()
    for override in OverridesParser.create().parse_overrides(list(overrides)):
        # `agent=mixed` freezes its solver, and the member chosen for it may have no weights. An
        # experiment sets `engine.start`, and the user chooses `engine=own`.
        node = override.package or override.key_or_group.replace("/", ".")
        is_group = override.package or "." not in override.key_or_group
        if is_group:
            # Who chooses an option chooses its class.
            classes.add(f"{node}{_TARGET}")
        is_preset = override.package or any(key.startswith(f"{node}.") for key in preset)
        if is_group and is_preset and (note := _drop_foreign_settings(cfg, node, typed)):
            notes.append(note.partition("; kept")[0])
    takes_form = f"env{_TARGET}" in typed and _takes(str(cfg.env._target_), "instructions")
    return [*notes, *apply_defaults(cfg, typed | classes, experiments, takes_form)]


def typed_keys(overrides: Iterable[str]) -> set[str]:
    """Return the dotted keys that overrides set, with their parents (`a.b` for `a.b.c=1`)."""
    keys: set[str] = set()
    for override in OverridesParser.create().parse_overrides(list(overrides)):
        if not override.is_delete():
            key = override.key_or_group.replace("/", ".")
            for path in (key, *dotted(override.value(), key)):
                parts = path.split(".")
                keys |= {".".join(parts[: end + 1]) for end in range(len(parts))}
    return keys


def typed_values(overrides: Iterable[str]) -> dict[str, Any]:
    """Return the value of each dotted key that an override sets."""
    parsed = OverridesParser.create().parse_overrides(list(overrides))
    return {
        override.key_or_group: override.value() for override in parsed if not override.is_delete()
    }


def names_taken(target: str) -> frozenset[str] | None:
    """Return the settings that a class or function takes by name.

    None means that it takes any name, or that its names are unknown.
    """
    settings = settings_of(target)
    if settings is not None:
        return frozenset(settings)
    # Without a source, the object itself may say it.
    with suppress(Exception):
        parameters = inspect.signature(resolve_name(target)).parameters.values()
        if all(each.kind != each.VAR_KEYWORD for each in parameters):
            return frozenset(each.name for each in parameters if each.kind in _BY_NAME)
    return None


def check_environments(environments: Sequence[Any], target: str) -> None:
    """Refuse environments of `target` that a rollout could not play.

    Raises:
        SettingError: an object is no parallel environment, its agents are not named by strings, or
            two of the environments are the same object.
    """
    for environment in environments[:1]:
        required = ("possible_agents", "reset", "step")
        missing = [name for name in required if not hasattr(environment, name)]
        if isinstance(environment, AECEnv) or missing:
            advice = f"it has no {', '.join(missing)}"
            if isinstance(environment, AECEnv):
                advice = "put it through pettingzoo.utils.conversions.turn_based_aec_to_parallel"
            elif isinstance(environment, PromptedTask):
                advice = "name a function that returns laconic.envs.make(...) of it, or register it"
            raise SettingError(
                "env._target_ must name a class or function that makes a pettingzoo.ParallelEnv;"
                f" {target} made {_with_article(environment)}: {advice} (docs/own_environment.md)"
            )
        check_agents(environment.possible_agents)
    if len(set(map(id, environments))) < len(environments):
        raise SettingError(
            "env._target_ must make a new environment at every call, because several are played"
            f" at a time; {target} returned the same environment again"
        )


def refuse_settings(node: DictConfig, error: BaseException | None) -> None:
    """Explain the error of an environment that takes any settings, and passes on what does not fit.

    Raises:
        SettingError: the error is Python's, of a call whose arguments do not fit.
    """
    target = str(node._target_)
    if isinstance(error, TypeError) and "argument" in str(error) and names_taken(target) is None:
        got = _listed("env", (name for name in map(str, node) if name[0] != "_"))
        raise SettingError(
            f"expected settings that env._target_={target} can use; got {got} ({error}). Leave the"
            " settings of other environments out: '~env' +env._target_="
            f"{target} (docs/own_environment.md)"
        ) from error


def check_learner(learner: Any, target: str) -> None:
    """Refuse an object of `target` that a training loop could not use as a learner.

    Raises:
        SettingError: the object has no `update`, or a `price` that is no schedule.
    """
    if not callable(getattr(learner, "update", None)):
        raise SettingError(
            "learner._target_ must name a class or function of (policies, optimizer) that makes a"
            f" learner with update(groups) -> metrics; {target} made {_with_article(learner)}"
            " without `update` (docs/own_environment.md)"
        )
    price = getattr(learner, "price", None)
    scheduled = all(callable(getattr(price, name, None)) for name in ("share", "observe"))
    if hasattr(learner, "price") and not scheduled:
        raise SettingError(
            "the price of a learner must be a schedule with `share` and `observe`"
            f" (laconic.learners.prices.schedule.Price); that of {target} is"
            f" {_with_article(price)}. Give it another name if it is something else"
        )


def part_name(
    group: str, settings: Mapping[str, Any], choice: str | None, overrides: Sequence[str]
) -> str:
    """Return the name of a part of a run, for every title, table and file.

    Args:
        group: config group of the part, one of `NAMED`.
        settings: settings of the part.
        choice: chosen option of the group; None if unknown.
        overrides: overrides of the run.

    Returns:
        The class, if it is not the option's own; else the environment's name, or the option.
        Classes of this package have the last two parts of their path. A learner with a loss of
        one's own has both names. Empty if unknown.
    """
    target = str(settings.get("_target_") or "")
    keys = {override.partition("=")[0].lstrip("+") for override in overrides}
    # Hydra still calls the option `gspo` if a class of the user has taken its place.
    foreign = not target.startswith(_OURS) and (CONF / group / f"{choice}.yaml").is_file()
    named_class = f"{group}{_TARGET}" in keys or (target and foreign)
    if not named_class:
        if group == "env" and target in ("", "laconic.envs.make") and settings.get("name"):
            return str(settings["name"])
        if choice:
            loss = settings.get("objective") if group == "learner" else None
            own = str(loss.get("_target_") or "") if isinstance(loss, Mapping) else ""
            return f"{choice}+{own}" if is_foreign(own) else _option(group, choice, target)
    return ".".join(target.split(".")[-2:]) if target.startswith(_OURS) else target


def _option(group: str, choice: str, target: str) -> str:
    """Return the chosen option, or that of the class which a warm start put in its place."""
    options = {path.stem: path.read_text("utf-8") for path in (CONF / group).glob("*.yaml")}
    line = f"\n_target_: {target}\n"
    if "\n_target_: " not in options.get(choice, "") or line in options[choice]:
        return choice
    return next((name for name, text in sorted(options.items()) if line in text), choice)


def part_names(
    settings: Mapping[str, Any], choices: Mapping[str, str | None], overrides: Sequence[str]
) -> dict[str, str]:
    """Return the names of the parts of a composed configuration, by config group."""
    nodes = {group: settings.get(group) for group in NAMED}
    return {
        group: part_name(group, node if isinstance(node, Mapping) else {}, choice, overrides)
        for group, node in nodes.items()
        for choice in (choices.get(group),)
    }


def _check_groups(cfg: DictConfig, overrides: Sequence[str]) -> None:
    """Refuse a group that was deleted without a class in its place."""
    for key in REQUIRED:
        node = cfg.get(key)
        deleted = any(override.partition("=")[0] == f"~{key}" for override in overrides)
        if deleted and not (isinstance(node, DictConfig) and "_target_" in node):
            raise SettingError(
                f"~{key} leaves no class; add +{key}._target_=my_package.MyClass, or choose an"
                f" option with {key}=<name> in place of ~{key}"
            )


def is_foreign(target: str) -> bool:
    """Return whether a class or function is of another package."""
    return bool(target) and not target.startswith(_OURS)


def _fit_loss(cfg: DictConfig, typed: set[str]) -> list[str]:
    """Fit the node of a loss of one's own, which a yaml of ours may surround, and a function."""
    node = OmegaConf.select(cfg, LOSS)
    target = str(node.get("_target_") or "") if isinstance(node, DictConfig) else ""
    if not is_foreign(target):
        return []
    ours = {f"{LOSS}.{name}" for name in known_settings(OBJECTIVE)}
    mine = {f"{LOSS}.{name}" for name in map(str, node)} - ours
    note = _drop_foreign_settings(cfg, LOSS, typed | mine)
    with suppress(Exception):
        function = resolve_name(target)
        parameters = inspect.signature(function).parameters.values()
        asked = [each.name for each in parameters if each.default is each.empty]
        # The inputs of `loss(inputs, cap=3.0)` are no setting.
        if inspect.isfunction(function) and asked and asked[0] not in node:
            with open_dict(node):
                node.setdefault("_partial_", True)
    return [note] if note else []


def _drop_foreign_settings(cfg: DictConfig, key: str, typed: set[str]) -> str | None:
    """Delete the settings of a node that its class does not take and the user did not type."""
    node = OmegaConf.select(cfg, key)
    accepted = names_taken(str(node.get("_target_"))) if isinstance(node, DictConfig) else None
    if accepted is None:
        return None
    fixed = {*typed, *KEPT}
    names = [name for name in map(str, node) if f"{key}.{name}" not in fixed and name[0] != "_"]
    dropped = [name for name in names if name not in accepted]
    if not dropped:
        return None
    # The other settings may refer to these.
    OmegaConf.resolve(node)
    with open_dict(node):
        for name in dropped:
            del node[name]
    others = _listed(key, [name for name in names if name in accepted])
    also = f"; kept as in the yaml files: {others}" if others else ""
    return f"note: {node._target_} does not take {_listed(key, dropped)}, left out{also}"


def _takes(target: str, name: str) -> bool:
    """Return whether a class or function that can be found takes a setting of this name."""
    names = names_taken(target)
    if names is not None:
        return name in names
    try:
        resolve_name(target)
    except Exception:
        return False
    return True


def _listed(key: str, names: Iterable[str]) -> str:
    return ", ".join(f"{key}.{name}" for name in names)


def _with_article(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
