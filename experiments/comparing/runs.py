"""Entries of trained runs: who speaks, and in which team, as a run's folder says.

Taken from a run are its policies and what the team is like: roles, rounds, information, topology,
schedule, who answers, and the form of the first observation. Tasks, budgets and reward are the
comparison's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from laconic.envs.errors import SettingError
from laconic.experiments.comparing.entries import Entry
from laconic.experiments.running.foreign import refuse_old_names
from laconic.experiments.running.run_folder import flatten
from laconic.experiments.running.trust import check_settings

TAKEN = ("team", "rounds", "information", "topology", "schedule", "answer", "instructions")
"""Settings of the environment that a run brings along."""
POLICY = "policy"
"""Folder in which a finished run leaves its policies."""


def entries_of_runs(cfg: DictConfig, taken: Collection[str]) -> list[Entry]:
    """One entry for each folder of `compare.runs`.

    Args:
        cfg: the comparison's configuration.
        taken: names of other entries.

    Raises:
        SettingError: a folder is no run of this environment, has no trained policy, was written by
            a version with other names, or would build what `compare.trust` does not allow.
    """
    runs = cfg.compare.runs
    if runs is None:
        return []
    if OmegaConf.is_dict(runs):
        named = {str(name): Path(str(folder)) for name, folder in runs.items()}
    elif OmegaConf.is_list(runs):
        named = _names([Path(str(folder)) for folder in runs])
    else:
        raise SettingError(f"compare.runs must be a list of run folders; got {runs!r}")
    clash = [name for name in named if name in taken]
    if clash:
        raise SettingError(
            f"a run and an entry are both called {clash[0]!r}; name the run in compare.runs, as in"
            " {mine: <folder>}"
        )
    trusted = [str(one) for one in cfg.compare.get("trust") or ()]
    return [_entry(one, named[one], str(cfg.env.get("name")), trusted) for one in named]


def _entry(name: str, folder: Path, environment: str, trusted: list[str]) -> Entry:
    saved = folder / "config.yaml"
    if not saved.is_file():
        raise SettingError(f"compare.runs: {str(folder)!r} is no run folder: it has no config.yaml")
    found: Any = OmegaConf.to_container(OmegaConf.load(saved), resolve=False)
    refuse_old_names(folder, flatten(found))
    env: Mapping[str, Any] = found.get("env") or {}
    if env.get("name") != environment:
        raise SettingError(
            f"compare.runs: the run in {str(folder)!r} is of env={env.get('name')}, and this"
            f" comparison is of env={environment}"
        )
    if not (folder / POLICY).is_dir():
        raise SettingError(
            f"compare.runs: {str(folder)!r} has no folder {POLICY!r}; a run leaves its policies"
            " there when it has finished"
        )
    agent = {**(found.get("agent") or {}), "model": str((folder / POLICY).resolve())}
    taken = {key: env[key] for key in TAKEN if key in env}
    for part, settings in (("env", taken), ("agent", agent)):
        where = f"compare.runs: {folder}: {part}"
        check_settings(settings, where, trusted, "pass compare.trust=[{}] to allow it")
    return Entry(name, env=taken, agent=agent, source=str(folder))


def _names(folders: list[Path]) -> dict[str, Path]:
    """Folders by their last part, with the part before it where two have the same."""
    made: dict[str, Path] = {}
    for folder in folders:
        parts = [re.sub(r"[^\w.+-]", "-", part) for part in folder.resolve().parts[1:]]
        length = 1
        while (name := "_".join(parts[-length:])) in made and length < len(parts):
            length += 1
        made[name] = folder
    return made
