"""Read run folders of other processes: killed ones, and those of a stranger."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast
from unicodedata import category

from laconic.envs.errors import SettingError
from laconic.experiments.command_line import lock
from laconic.experiments.command_line.gone import present_class
from laconic.experiments.run_folder import provenance
from laconic.learners.untrusted_files import read_json, read_yaml

NAMES = "names"
"""Key of `config.yaml` with the names of a training's parts, which are no settings."""


def read_status(path: Path) -> dict[str, Any]:
    """Return `status.json` of a run folder, corrected and safe to print; {} without one.

    The state of a running run without a lock becomes "killed". Control characters are removed,
    because the folder may come from a stranger.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is no JSON object.
    """
    if not os.path.lexists(path / "status.json"):
        return {}
    status = without_controls(read_json(path / "status.json"))
    if not isinstance(status, dict):
        raise ValueError("status.json holds no object")
    if status.get("state") == "running" and provenance.read(path) and not lock.is_held(path):
        status["state"] = "killed"
    return status


def read_config(folder: Path) -> dict[str, Any]:
    """Return `config.yaml` of a run folder, with references unresolved.

    Raises:
        SettingError: the folder has another format, or the file does not hold settings.
    """
    provenance.check_format(folder)
    config = read_yaml(folder / "config.yaml")
    if not isinstance(config, dict):
        raise SettingError(f"{str(folder / 'config.yaml')!r} holds no settings")
    for group in ("env", "agent", "evaluation"):
        if not isinstance(config.get(group) or {}, dict):
            raise SettingError(f"{str(folder / 'config.yaml')!r} holds no settings of {group}")
    return cast(dict[str, Any], _renamed(config))


def _renamed(value: Any) -> Any:
    """Return settings with the present names of classes that an earlier version had elsewhere."""
    if isinstance(value, list):
        return [_renamed(item) for item in value]
    if not isinstance(value, dict):
        return value
    settings = {name: _renamed(item) for name, item in value.items()}
    if isinstance(value.get("_target_"), str):
        settings["_target_"] = present_class(value)
    return settings


def without_controls(value: Any) -> Any:
    """Return a value of JSON without control characters other than line ends and tabs."""
    if isinstance(value, str):
        return "".join(x for x in value if x in "\n\t" or category(x) not in ("Cc", "Cf"))
    if isinstance(value, list):
        return [without_controls(item) for item in value]
    return (
        {without_controls(k): without_controls(v) for k, v in value.items()}
        if isinstance(value, dict)
        else value
    )
