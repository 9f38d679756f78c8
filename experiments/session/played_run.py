"""Evaluate a training with `run=<folder>`: its environment, its team and its weights.

Typed settings replace those of the run: `env.rounds=3` replaces that setting, and `env=math` the
whole environment.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.targets import typed_values
from laconic.experiments.command_line.trust import GROUPS, check_settings
from laconic.experiments.run_folder.foreign import read_config
from laconic.learners.agents.trained import run_folder


def take_run(cfg: DictConfig, overrides: Sequence[str]) -> None:
    """Copy environment and team of the run `cfg.run` into `cfg`, in place.

    Raises:
        SettingError: `cfg.run` is no run folder, its team has several models, or its configuration
            names an object that `cfg.trust` does not allow.
    """
    if cfg.run is None:
        if cfg.step is not None:
            raise SettingError(f"step={cfg.step} needs a run; pass run=<run folder> as well")
        return
    folder = run_folder(str(cfg.run))
    if folder is None:
        raise SettingError(
            f"run={str(cfg.run)!r} is no folder of a training: expected config.yaml there, beside"
            " checkpoints/ or policy/"
        )
    saved = read_config(folder)
    if "model" not in (saved.get("agent") or {}) or not saved.get("env"):
        raise SettingError(
            f"run={str(folder)!r} must have env and agent.model, which a team of several kinds has"
            " not; evaluate it with env=... agent=..., and for each member"
            " model=<run folder>/policy/..."
        )
    typed = typed_values(overrides)
    source = (saved.get("evaluation") or {}).get("source")
    if source and not {"env", "env.source"} & typed.keys():
        saved["env"]["source"] = source
    with open_dict(cfg):
        for group in GROUPS:
            if group not in typed:
                own = _without(saved[group], group, typed)
                advice = f"type it ({group}.<setting>=<value>), or pass trust=[{{}}] to allow it"
                check_settings(own, group, f"run={folder}", list(cfg.trust), advice)
                _replace(cfg, group, saved[group], typed)
        cfg.agent.model = str(folder)
        if cfg.step is not None:
            cfg.agent.step = cfg.step


def _without(settings: Any, key: str, typed: Collection[str]) -> Any:
    """Return the settings below `key` without those that were typed."""
    if not isinstance(settings, dict):
        return settings
    inner = ((name, f"{key}.{name}", value) for name, value in settings.items())
    return {name: _without(value, path, typed) for name, path, value in inner if path not in typed}


def _replace(cfg: DictConfig, group: str, settings: Any, typed: dict[str, Any]) -> None:
    """Replace the settings of a group, except those that were typed."""
    typed_here = [key for key in typed if key.startswith(f"{group}.")]
    values = {key: OmegaConf.select(cfg, key) for key in typed_here}
    cfg[group] = settings
    for key, value in values.items():
        OmegaConf.update(cfg, key, value)
