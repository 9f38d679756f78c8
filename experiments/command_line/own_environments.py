"""Environments of the user as options of the config group `env`: `laconic train env=<name>`.

A name that `laconic.envs.register` or an entry point adds has no YAML file. This module composes
its option from the settings of all worlds or dialogues and the defaults of its own constructor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from inspect import isclass, signature
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore

from laconic import envs
from laconic.envs import declared_defaults
from laconic.envs.registry import Factory, find
from laconic.envs.task import Benchmark
from laconic.envs.worlds import World

_CHOICE = re.compile(r"\+?(?:override )?/?env=(?P<names>[\w,]+)")
_GIVEN = ("name", "split", "tasks", "tokenize")
"""Parameters that programs set."""
_PLAIN = (bool, int, float, str, type(None))


def offer_environments(overrides: Iterable[str], conf: Path) -> None:
    """Add an option to the group `env` for each name that overrides choose and `conf` lacks.

    Raises:
        SettingError: the package that offers the environment cannot be imported.
    """
    matches = filter(None, map(_CHOICE.fullmatch, overrides))
    chosen = {name for match in matches for name in match["names"].split(",")}
    missing = {name for name in chosen if not (conf / "env" / f"{name}.yaml").exists()}
    for name in sorted(missing.intersection(envs.names("own")) if missing else ()):
        ConfigStore.instance().store(name, _option(name, find(name)), group="env")


def _option(name: str, factory: Factory) -> dict[str, Any]:
    if isinstance(factory, Benchmark):
        base = {"defaults": ["base/dialogue@_here_", "_self_"]}
        return {**base, "name": name, "instructions": "full", **declared_defaults(factory)}
    defaults = {
        parameter.name: parameter.default
        for parameter in signature(factory).parameters.values()
        if parameter.name not in _GIVEN and isinstance(parameter.default, _PLAIN)
    }
    if isclass(factory) and issubclass(factory, World):
        return {
            "defaults": ["base/world@_here_", "_self_"],
            "name": name,
            **defaults,
            "instructions": "full",
            **declared_defaults(factory),
        }
    return {"_target_": "laconic.envs.make", "name": name, **defaults}
