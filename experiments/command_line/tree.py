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
from pathlib import Path
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.utils import create_config_search_path
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict

from laconic import envs
from laconic.envs.registry import find, names
from laconic.experiments.command_line import programs
from laconic.experiments.command_line.schema import Named, Setting, known_settings

MAKE = "laconic.envs.make"
"""Function that makes all environments of this package, whose settings depend on the name."""
_REFERENCE = re.compile(r"\$\{(?:oc\.select:)?([\w.]+)(?:,[^}]*)?\}")


class RegisteredFolders(SearchPathPlugin):
    """Search path with the config folders that packages register, after that of the program."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Add the folders."""
        for folder in programs.config_folders():
            search_path.append(programs.CONFIG_GROUP, f"file://{folder}")


Plugins.instance().register(RegisteredFolders)


def compose(program: str, path: str, arguments: Sequence[str], values: bool = False) -> DictConfig:
    """Compose the configuration of a program with the options that its command line chooses.

    Args:
        program: name of the primary config.
        path: folder of the configs.
        arguments: command line, whose flags may name another config or folder. Of a sweep, the
            first option counts.
        values: whether to set values as well; keys need not exist.

    Raises:
        HydraException: an override cannot be read, or there is no such option.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name, default in (("name", program), ("path", path), ("dir", None)):
        parser.add_argument(f"--config-{name}", f"-c{name[0]}", default=default)
    flags, rest = parser.parse_known_args(arguments)
    loader = ConfigLoaderImpl(
        create_config_search_path(f"file://{Path(flags.config_path).resolve()}")
    )
    chosen: list[str] = []
    if flags.config_dir:
        chosen.append(f"hydra.searchpath=[{str(Path(flags.config_dir).resolve())!r}]")
    texts = [text for text in rest if re.match(r"[^-][^=]*=", text)]
    for override in OverridesParser.create(loader).parse_overrides(texts):
        is_group = loader.repository.group_exists(override.key_or_group)
        if override.is_delete() or not (is_group or values):
            continue
        if override.is_sweep_override():
            first = next(override.sweep_string_iterator())
            chosen.append(f"{override.get_key_element()}={first}")
        else:
            text = str(override.input_line)
            chosen.append(text if is_group else f"++{text.lstrip('+')}")
    return loader.load_configuration(flags.config_name, chosen, RunMode.RUN)


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
    setting = Setting(Named("Record", (), {"path": record})) if record else None
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
        for name, text in (_texts(cfg) if setting is None else ())
        if key in _REFERENCE.findall(text)
        if name != key and (found := setting_at(cfg, name, record)) is not None
    )
    return next(referring, setting)


def plain(cfg: DictConfig) -> dict[str, Any]:
    """Return a configuration without Hydra's part as plain values, with references as text."""
    cfg = copy.copy(cfg)
    with open_dict(cfg):
        cfg.pop("hydra", None)
    return OmegaConf.to_container(cfg, resolve=False)  # type: ignore[return-value]


def _texts(node: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield dotted key and text of each text in a mapping."""
    if isinstance(node, Mapping):
        for name, value in node.items():
            yield from _texts(value, f"{prefix}.{name}" if prefix else str(name))
    elif isinstance(node, str):
        yield prefix, node
