"""Read run folders that another program has left: killed, or of somebody else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from unicodedata import category

from laconic.envs.errors import SettingError
from laconic.experiments.running import lock, provenance
from laconic.learners.rollout.strange_files import read_json, read_yaml


def read_status(path: Path) -> dict[str, Any]:
    """What `status.json` of a run folder says, made true and fit to be shown; {} without one.

    A run that says it is running, and whose lock nobody holds, is called "killed" here. Characters
    that a terminal would obey are left out, because the folder may come from somebody else.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no JSON object.
    """
    if not os.path.lexists(path / "status.json"):
        return {}
    found = without_controls(read_json(path / "status.json"))
    if not isinstance(found, dict):
        raise ValueError("status.json holds no object")
    if found.get("state") == "running" and provenance.read(path) and not lock.is_held(path):
        found["state"] = "killed"
    return found


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
    return config


def without_controls(value: Any) -> Any:
    """A value of JSON whose texts have no control characters but line ends and tabs."""
    if isinstance(value, str):
        return "".join(one for one in value if one in "\n\t" or category(one) not in ("Cc", "Cf"))
    if isinstance(value, list):
        return [without_controls(one) for one in value]
    return (
        {without_controls(k): without_controls(v) for k, v in value.items()}
        if isinstance(value, dict)
        else value
    )
