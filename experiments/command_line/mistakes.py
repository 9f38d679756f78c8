"""Words for what a user did wrong: wrong overrides with the nearest right one, short causes.

It works after a failure only, so that a right command line pays nothing for it, and it knows of the
program no more than the names of config keys, options and error classes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from hydra import compose, initialize_config_dir
from hydra._internal.utils import get_args_parser
from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Sweep
from hydra.errors import (
    HydraException,
    InstantiationException,
    MissingConfigException,
    OverrideParseException,
)
from omegaconf import OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from laconic.experiments.command_line.names import nearest
from laconic.experiments.command_line.target_mistakes import describe_target
from laconic.experiments.command_line.targets import dotted

OWN = ("laconic.envs.errors", "laconic.learners.errors")
"""Modules whose errors speak for themselves."""

PLUGINS = {
    "hydra/launcher": {
        "joblib": "joblib",
        "submitit_local": "submitit",
        "submitit_slurm": "submitit",
    },
    "hydra/sweeper": {"optuna": "optuna"},
}
"""Group -> options that a plugin of Hydra brings -> the extra of ours that installs it."""

_HINT = " (LACONIC_TRACEBACK=1 shows where)"
_CALLED = re.compile(r"Error in call to target '([^']+)'")
_FULL_KEY = re.compile(r"full_key: (\S+)")
_AMBIGUOUS = re.compile(r"Ambiguous value for argument '(.+)'")


def describe(error: BaseException, overrides: Sequence[str] = ()) -> str | None:
    """One message for a mistake of the user; None when the error is a fault of the program."""
    chain = tuple(_causes(error))
    key = next((match[1] for one in chain if (match := _FULL_KEY.search(str(one)))), None)
    where = f" (config key {key!r})" if key else ""
    for one in chain:
        if type(one).__module__ in OWN:
            return f"{one}{where}"
    for one in chain:
        if isinstance(one, MissingMandatoryValue) and key:
            return f"{key} has no value; pass {key}=<value>"
        if isinstance(one, OmegaConfBaseException):
            return f"{_first_line(one)}{where}{_HINT}"
        if isinstance(one, OSError) and not isinstance(one, HydraException):
            return f"{_without_number(one)}{where}{_HINT}"
    if isinstance(error, InstantiationException):
        return _describe_instantiation(error, chain, key, overrides)
    if isinstance(error, OverrideParseException) and error.override:
        hint = quoting(error.override)
        return f"cannot read the override {error.override!r}: {hint or _first_line(error)}"
    if match := _AMBIGUOUS.match(str(error)):
        return (
            f"{match[1]!r} has several values; a list is written [a,b], -m sweeps over them,"
            f" and for one text {quoting(match[1])}"
        )
    if isinstance(error, ValueError) and str(error).startswith("Only one of --run"):
        return "--cfg, --info and -m exclude each other: the first two show what a single run has"
    return str(error) if isinstance(error, HydraException) else None


def quoting(override: str) -> str:
    """Say how an override is typed whose value Hydra's grammar does not take; empty if unknown."""
    match = re.fullmatch(r"([+~]*[\w./@-]+)=(.+)", override, re.DOTALL)
    if match is None or match[2][0] in "\"'[{":
        return ""
    text = match[2].replace('"', '\\"')
    spelled = f'{match[1]}="{text}"'
    try:
        read = OverridesParser.create().parse_override(spelled).value()
    except HydraException:
        return ""
    return f"quote it: {shlex.quote(spelled)}" if read == match[2] else ""


def describe_folder(error: BaseException) -> str | None:
    """One message for a refusal of the system outside the job, where Hydra makes its folder."""
    refused = next((one for one in _causes(error) if isinstance(one, OSError)), None)
    if refused is None or isinstance(refused, HydraException):
        return None
    return (
        f"the run folder cannot be used: {_without_number(refused)}; pass another one with"
        " hydra.run.dir=<folder> (hydra.sweep.dir for a sweep)"
    )


def find_wrong_override(
    config_name: str, config_path: str, arguments: Sequence[str] | None = None
) -> str | None:
    """The first override that names no existing key or option, with the nearest that exists.

    Reads the arguments of this process, or those given; where they name another config it takes the
    place of this.

    Returns:
        None when every override names something that exists, or when that cannot be told because
        the config does not compose even without them.
    """
    args = get_args_parser().parse_args(arguments)
    # A further folder of choices, which comes first.
    folder = args.config_dir and str(Path(args.config_dir).resolve())
    further = [f"hydra.searchpath=[{folder!r}]"] if folder else []
    GlobalHydra.instance().clear()
    try:
        path = str(Path(args.config_path or config_path).resolve())
        with initialize_config_dir(path, version_base="1.3"):
            loader = GlobalHydra.instance().config_loader()
            overrides = OverridesParser.create(loader).parse_overrides(args.overrides)
            return _find_wrong(args.config_name or config_name, overrides, further, loader)
    except HydraException:
        return None


def unknown_option(group: str, name: str, known: Iterable[str]) -> str:
    """Words for an option that is not there, with the nearest, and with what would install it."""
    names = sorted(known)
    plugins = PLUGINS.get(group, {})
    near = get_close_matches(name, sorted({*names, *plugins}), n=1, cutoff=0.6)
    hint = f" Did you mean {near[0]!r}?" if near and near[0] != name else ""
    if near and near[0] not in names:
        hint += f" {near[0]!r} needs pip install 'laconic[{plugins[near[0]]}]'."
    return f"unknown option {name!r} of group {group!r}.{hint} Known: {', '.join(names)}"


def _find_wrong(
    config_name: str, overrides: Sequence[Override], further: list[str], loader: ConfigLoader
) -> str | None:
    choices: dict[str, list[str]] = {}
    for one in overrides:
        if one.is_delete() or not loader.get_group_options(one.key_or_group):
            continue
        for value in _values(one):
            if known := _other_options(config_name, one.key_or_group, value, further):
                return unknown_option(one.key_or_group, value, known)
            if one.package is None and not one.is_add():
                choices.setdefault(one.key_or_group, []).append(value)
    keys = _known_keys(config_name, choices, further)
    for one in overrides:
        if one.is_add() or one.is_force_add():
            keys.add(one.key_or_group)
        elif one.key_or_group not in keys and not loader.get_group_options(one.key_or_group):
            return _unknown_key(one, keys)
    return None


def _other_options(
    config_name: str, group: str, value: str, further: list[str]
) -> Sequence[str] | None:
    """What could have been chosen instead when there is no such option; None when there is."""
    try:
        compose(config_name, overrides=[*further, f"{group}={value}"])
    except MissingConfigException as error:
        return error.options
    except HydraException:
        pass  # a group without a default is right with `+`
    return None


def _values(override: Override) -> Iterator[str]:
    """The options a group override names: one, several of a list, or those of a sweep."""
    value = override.value()
    found = override.sweep_iterator() if isinstance(value, Sweep) else (value,)
    for one in found:
        for part in one if isinstance(one, list) else (one,):
            if part is not None:
                yield str(part)


def _known_keys(
    config_name: str, choices: Mapping[str, Sequence[str]], further: list[str]
) -> set[str]:
    """Dotted keys of the config under the first choices, and under each further one of a sweep."""
    first = {group: values[0] for group, values in choices.items()}
    variants = [first] + [
        first | {group: value} for group, values in choices.items() for value in values[1:]
    ]
    keys: set[str] = set()
    for variant in variants:
        overrides = [*further, *(f"{group}={value}" for group, value in variant.items())]
        cfg = compose(config_name, overrides=overrides, return_hydra_config=True)
        keys |= set(dotted(OmegaConf.to_container(cfg)))
    return keys


def _unknown_key(override: Override, keys: Iterable[str]) -> str:
    key = override.key_or_group
    hydra = key.split(".")[0] == "hydra"
    candidates = [one for one in keys if (one.split(".")[0] == "hydra") == hydra]
    near = nearest(key, candidates)
    hint = f" Did you mean {near!r}?" if near else ""
    new = "" if override.is_delete() else f" (a new key is added with '+{key}=...')"
    return f"unknown config key {key!r}.{hint}{new}"


def _describe_instantiation(
    error: InstantiationException,
    chain: Sequence[BaseException],
    key: str | None,
    overrides: Sequence[str],
) -> str:
    """A config node that cannot be built: its class, its settings, or a missing package."""
    if message := describe_target(error, key or "", overrides):
        return message
    missing = next((one for one in chain if isinstance(one, ImportError)), None)
    where = f" (config key {key!r})" if key else ""
    if missing is not None:
        return f"{' '.join(str(missing).split())}{where}"
    if (called := _CALLED.search(str(error))) and isinstance(chain[-1], TypeError | ValueError):
        return f"{called[1]} refuses its settings: {chain[-1]}{where}{_HINT}"
    return f"{_first_line(error)} {chain[-1]!r}{where}{_HINT}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what it says it came from."""
    one: BaseException | None = error
    while one is not None:
        yield one
        one = one.__cause__


def _without_number(error: OSError) -> str:
    """`No such file or directory: 'name'` without the number in front."""
    return re.sub(r"^\[Errno \d+\] ", "", str(error))


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
