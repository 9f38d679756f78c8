"""Configurations that are composed hundreds of times are read once in a process.

Reading and parsing them again takes more than a third of the time of Hydra.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from typing import Any

import yaml
from hydra._internal import defaults_list
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.hydra import Hydra
from omegaconf import OmegaConf, base
from omegaconf._utils import get_yaml_loader
from places import CONF, EXTRAS_CONF

OWN = {f"file://{CONF}", f"file://{EXTRAS_CONF}"}
"""Search paths of the package."""


def remembering() -> Callable[..., Any]:
    """Return a `yaml.load` that parses each text for OmegaConf once, and other texts as always."""
    load, own, texts = yaml.load, get_yaml_loader().__name__, dict[str, bytes]()

    def read(stream: Any, Loader: Any) -> Any:
        if Loader.__name__ != own:
            return load(stream, Loader)
        text = stream if isinstance(stream, str) else stream.read()
        if text not in texts:
            if stream is not text:
                # An error names the file.
                stream.seek(0)
            texts[text] = pickle.dumps(load(stream, Loader))
        return pickle.loads(texts[text])

    return read


def remembered_files() -> Callable[..., Any]:
    """Return a `ConfigRepository.load_config` that reads each file of the package once.

    Files of search paths with other folders are read again, because tests change them, and so is
    what a package offers.
    """
    load, results = ConfigRepository.load_config, dict[Any, bytes]()

    def load_config(self: Any, config_path: str) -> Any:
        paths = _paths(self)
        if (paths, config_path) not in results:
            result = load(self, config_path)
            if _others(paths) or not _fixed(result):
                return result
            results[paths, config_path] = pickle.dumps(result)
        # Hydra changes what it has read; a pickle is read five times faster than a copy is made.
        return pickle.loads(results[paths, config_path])

    return load_config


def remembered_choices() -> Callable[..., Any]:
    """Return a `_compose_config_from_defaults_list` that merges the same files of the package once.

    Values that a command line sets are applied to the result afterwards.
    """
    merge, merged = ConfigLoaderImpl._compose_config_from_defaults_list, dict[Any, bytes]()

    def compose(self: Any, defaults: Any, repo: Any) -> Any:
        paths = _paths(repo)
        results = [repo.load_config(default.config_path) for default in defaults]
        if _others(paths) or not all(map(_fixed, results)):
            return merge(self, defaults, repo)
        key = (paths, *((default.config_path, default.package) for default in defaults))
        if key not in merged:
            merged[key] = pickle.dumps(merge(self, defaults, repo))
        return pickle.loads(merged[key])

    return compose


def remembered_expressions() -> Callable[..., Any]:
    """Return a `parse` of OmegaConf that parses each expression with interpolations once."""
    return functools.cache(base.parse)


def _paths(repository: Any) -> tuple[str, ...]:
    return tuple(f"{source.scheme()}://{source.path}" for source in repository.get_sources())


def _others(paths: tuple[str, ...]) -> bool:
    """Return whether a search path has folders of a test."""
    return any(path.startswith("file://") and path not in OWN for path in paths)


def _fixed(result: Any) -> bool:
    """Return whether a file is one of this package or of Hydra, which no test changes."""
    return result is not None and (result.path in OWN or result.provider == "hydra")


def interpolation_map() -> Callable[..., Any]:
    """Return a `_create_interpolation_map` that is empty if no choice refers to another one."""
    make = defaults_list._create_interpolation_map

    def create(overrides: Any, choices: list[Any], self_added: bool) -> Any:
        if "${" in f"{choices} {overrides.known_choices}":
            return make(overrides, choices, self_added)
        return OmegaConf.create()

    return create


def mode_of_overrides() -> Callable[..., Any]:
    """Return a `Hydra.get_mode` that composes only if an override names `hydra.mode`.

    Before a run Hydra composes everything to see whether it is set, and then again.
    """
    ask = Hydra.get_mode

    def get_mode(self: Any, config_name: str | None, overrides: list[str]) -> Any:
        chosen = any("hydra.mode" in override for override in overrides)
        return ask(self, config_name, overrides) if chosen else None

    return get_mode


PATCHES = (
    (yaml, "load", remembering),
    (ConfigRepository, "load_config", remembered_files),
    (ConfigLoaderImpl, "_compose_config_from_defaults_list", remembered_choices),
    (base, "parse", remembered_expressions),
    (defaults_list, "_create_interpolation_map", interpolation_map),
    (Hydra, "get_mode", mode_of_overrides),
)
"""Owner and name of each function, and the function that makes its replacement."""


def remember() -> None:
    """Parse every yaml of the package now, for this process and those that it forks."""
    for owner, name, make in PATCHES:
        setattr(owner, name, make())
    for path in (path for folder in (CONF, EXTRAS_CONF) for path in folder.rglob("*.yaml")):
        OmegaConf.load(path)
