"""Find the settings behind the keys of a composed configuration.

A node is judged by the class that it names. Keys of a program belong to no class: its record
declares them (`Program.record`). A key that other nodes refer to, `${evaluation.fidelity}`, is a
setting of theirs; so packages need not declare what they only pass on.
"""

from __future__ import annotations

import argparse
import copy
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from inspect import Parameter
from pathlib import Path
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import IConfigRepository
from hydra._internal.utils import create_config_search_path
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.default_element import ResultDefault
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.types import RunMode
from omegaconf import BooleanNode, DictConfig, OmegaConf, ValidationError, open_dict

from laconic import envs
from laconic.envs.checks import alternatives, check
from laconic.envs.registry import find, names
from laconic.experiments.command_line import programs
from laconic.experiments.command_line.schema import Named, Setting, known_settings, settings_of

CONF = Path(__file__).resolve().parents[2] / "conf"
"""Folder of the configs, in a clone and when installed."""
MAKE = "laconic.envs.make"
"""Function that makes all environments of this package, whose settings depend on the name."""
KEPT = ("env.max_rounds",)
"""Keys that the rollout reads, also if the class does not take them."""
_PLAIN_OVERRIDE = re.compile(r"(?:\+\+)?([a-z_][\w.]*)=")
_REFERENCE = re.compile(r"\$\{(?:oc\.select:)?([\w.]+)(?:,[^}]*)?\}")


class RegisteredFolders(SearchPathPlugin):
    """Search path with the config folders that packages register, after that of the program."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Add the folders."""
        for folder in programs.config_folders():
            search_path.append(programs.CONFIG_GROUP, f"file://{folder}")


Plugins.instance().register(RegisteredFolders)


class Loader(ConfigLoaderImpl):
    """Loader that remembers the files of the last configuration."""

    files: Sequence[ResultDefault] = ()
    """Files with their packages, in the order in which they are merged."""

    def _compose_config_from_defaults_list(
        self, defaults: list[ResultDefault], repo: IConfigRepository
    ) -> DictConfig:
        self.files = defaults
        return super()._compose_config_from_defaults_list(defaults, repo)


def compose(program: str, path: str, arguments: Sequence[str], values: bool = False) -> DictConfig:
    """Compose the configuration of a program with the options that its command line chooses.

    Args:
        program: name of the primary config.
        path: folder of the configs.
        arguments: command line, whose flags may name another config or folder. Of a sweep, the
            first option counts.
        values: whether to set values as well, and not classes alone; keys need not exist.

    Raises:
        HydraException: an override cannot be read, or there is no such option.
    """
    loader, name, chosen = read_choices(program, path, arguments, values)
    return loader.load_configuration(name, chosen, RunMode.RUN)


def read_choices(
    program: str, path: str, arguments: Sequence[str], values: bool
) -> tuple[Loader, str, list[str]]:
    """Return what composes the configuration: a loader, the primary config, and overrides.

    Args:
        program: see `compose`.
        path: see `compose`.
        arguments: see `compose`.
        values: see `compose`.

    Raises:
        HydraException: an override cannot be read.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name, default in (("name", program), ("path", path), ("dir", None)):
        parser.add_argument(f"--config-{name}", f"-c{name[0]}", default=default)
    flags, rest = parser.parse_known_args(arguments)
    loader = _loader(flags.config_path)
    chosen: list[str] = []
    if flags.config_dir:
        chosen.append(f"hydra.searchpath=[{str(Path(flags.config_dir).resolve())!r}]")
    texts = [text for text in rest if re.match(r"[^-][^=]*=", text)]
    for override in OverridesParser.create(loader).parse_overrides(texts):
        is_group = loader.repository.group_exists(override.key_or_group)
        is_class = str(override.key_or_group).endswith("._target_")
        if override.is_delete() or not (is_group or is_class or values):
            continue
        if override.is_sweep_override():
            first = next(override.sweep_string_iterator())
            chosen.append(f"{override.get_key_element()}={first}")
        else:
            text = str(override.input_line)
            chosen.append(text if is_group else f"++{text.lstrip('+')}")
    return loader, flags.config_name, chosen


def stated_in(path: str) -> dict[str, Any]:
    """Return what a YAML file of the search path states itself; empty where there is none.

    Args:
        path: group and option, as in `experiment/warm_start`.
    """
    hydra = GlobalHydra.instance()
    loader: Any = hydra.config_loader() if hydra.is_initialized() else _loader(CONF)
    loaded = loader.repository.load_config(path)
    return {} if loaded is None else plain(loaded.config)


def _loader(folder: str | Path) -> Loader:
    return Loader(create_config_search_path(f"file://{Path(folder).resolve()}"))


def record_of(program: str) -> str | None:
    """Return the record of a program, by the name of its config; None if it declares none."""
    found = programs.find(program.replace("_", "-"))
    return found.record if found else None


def settings_of_node(node: Mapping[str, Any]) -> Mapping[str, Setting]:
    """Return the settings that the class of a node is known to take."""
    target = str(node.get("_target_"))
    return _of_make(str(node.get("name"))) if target == MAKE else known_settings(target)


@functools.cache
def _of_make(name: str) -> Mapping[str, Setting]:
    makers: list[Any] = [envs.DialogueEnv, envs.WorldEnv]
    if name in names():
        # Making the environment names the package that it lacks.
        with suppress(ImportError):
            makers = envs.makers(find(name))
    settings: dict[str, Setting] = {}
    for each in makers:
        settings |= known_settings(f"{each.__module__}.{each.__qualname__}")
    return {**settings, **known_settings(MAKE)}


def setting_at(cfg: Mapping[str, Any], key: str, record: str | None) -> Setting | None:
    """Return the setting of a dotted key; None if no class and no record declares it.

    Args:
        cfg: plain composed configuration, with references.
        key: the key; its last parts need not be in `cfg`.
        record: record of the program.
    """
    node: Any = cfg
    setting = Setting(Named.of(record)) if record else None
    for part in key.split("."):
        if isinstance(node, Mapping) and "_target_" in node:
            setting = settings_of_node(node).get(part)
        else:
            setting = setting and setting.inner(part)
        node = node.get(part) if isinstance(node, Mapping) else None
    if setting is None and isinstance(node, Mapping) and "_target_" in node:
        return Setting()
    referring = (
        found
        for name, value in (leaves(cfg) if setting is None else ())
        if isinstance(value, str) and key in _REFERENCE.findall(value)
        if name != key and (found := setting_at(cfg, name, record)) is not None
    )
    return next(referring, setting)


def declared(cfg: Mapping[str, Any], record: str | None) -> dict[str, Setting]:
    """Return the settings with a default that classes and records declare, by dotted key."""
    found: dict[str, Setting] = {}

    def walk(settings: Mapping[str, Setting], node: Any, prefix: str) -> None:
        node = node if isinstance(node, Mapping) else {}
        settings = settings_of_node(node) if "_target_" in node else settings
        found.update(
            (f"{prefix}{name}", setting)
            for name, setting in settings.items()
            if setting.default is not Parameter.empty
        )
        for name in {**settings, **node}:
            kinds = alternatives(settings[name].kind) if name in settings else ()
            paths = [kind.path for kind, _ in kinds if isinstance(kind, Named)]
            inner = {key: each for path in paths for key, each in known_settings(path).items()}
            walk(inner, node.get(name), f"{prefix}{name}.")

    walk(known_settings(record) if record else {}, cfg, "")
    shown = {*dotted(cfg)}
    for key in {key for _, value in leaves(cfg) for key in _REFERENCE.findall(str(value))} - shown:
        if setting := setting_at(cfg, key, record):
            found[key] = setting
    return found


def allow_unlisted(
    arguments: Sequence[str], program: str = "train", path: str | Path = CONF
) -> list[str]:
    """Return command line arguments in which a key that its class declares needs no plus sign.

    The composed configuration does not show such a key, so Hydra would refuse it. The words of a
    switch become `true` or `false`: Hydra reads `no` as a text, which is true.
    """
    typed = {text: match[1] for text in arguments if (match := _PLAIN_OVERRIDE.match(text))}
    if not typed:
        return list(arguments)
    try:
        cfg = compose(program, str(path), arguments)
    except HydraException:
        # Running the program reports what is wrong with them.
        return list(arguments)
    values, record = plain(cfg), record_of(program)
    hidden = {*typed.values()} - {*dotted(values)}
    accepted = {text: text for text in arguments}
    for text, key in typed.items():
        setting = setting_at(values, key, record) if key in hidden or key == "resume" else None
        if is_open(values, key, record):
            # Composing with the class has made it a key.
            setting, hidden = Setting(), hidden | {key}
        if setting is not None or key in KEPT:
            plus = "++" if key in hidden and not text.startswith("+") else ""
            switch = setting is not None and setting.kind is bool
            accepted[text] = plus + (_plain_switch(text) if switch else text)
    return [accepted[text] for text in arguments]


def is_open(cfg: Mapping[str, Any], key: str, record: str | None) -> bool:
    """Return whether a key names a class where a program takes any, or a setting of an unknown one.

    Args:
        cfg: plain composed configuration.
        key: the key.
        record: record of the program, in which a mapping of nodes stands for such a place.
    """
    parent, _, last = key.rpartition(".")
    setting = Setting(Named.of(record)) if record else None
    node: Any = cfg
    for part in parent.split("."):
        setting = setting and setting.inner(part)
        node = node.get(part) if isinstance(node, Mapping) else None
    if setting is None or not isinstance(node, Mapping) or "_target_" not in node:
        return False
    return last == "_target_" or settings_of(str(node["_target_"])) is None


def _plain_switch(argument: str) -> str:
    key, _, value = argument.partition("=")
    # OmegaConf takes any other number for true.
    if not value.isdecimal() or value in ("0", "1"):
        with suppress(ValidationError):
            return f"{key}={str(BooleanNode(value)._value()).lower()}"
    return argument


def check_values(cfg: DictConfig, record: str | None) -> None:
    """Refuse a value that the declaration of its key does not admit.

    Args:
        cfg: composed configuration without Hydra's part.
        record: record of the program.

    Raises:
        SettingError: a number or a switch is none, or a number is out of its bounds.
        UnknownNameError: a word is none of those that the type lists.
    """
    values = plain(cfg)
    for key, value in leaves(values):
        # What refers to another key is checked there, and what has no value has its own message.
        skipped = "._" in key or value == "???" or "${" in str(value)
        setting = None if skipped else setting_at(values, key, record)
        if setting is not None and not (value is None and setting.default is None):
            check(key, value, setting.kind)


def dotted(value: Any, prefix: str = "") -> Iterator[str]:
    """Yield the dotted keys of a mapping and its inner mappings; none for another value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            key = f"{prefix}.{name}" if prefix else str(name)
            yield key
            yield from dotted(inner, key)


def plain(cfg: DictConfig) -> dict[str, Any]:
    """Return a configuration without Hydra's part as plain values, with references as text."""
    cfg = copy.copy(cfg)
    with open_dict(cfg):
        cfg.pop("hydra", None)
    return OmegaConf.to_container(cfg, resolve=False)  # type: ignore[return-value]


def leaves(node: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted key and value of all in a mapping that is no mapping."""
    if isinstance(node, Mapping):
        for name, value in node.items():
            yield from leaves(value, f"{prefix}.{name}" if prefix else str(name))
    else:
        yield prefix, node
