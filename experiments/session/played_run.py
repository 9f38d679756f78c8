"""`run=<folder>` of an evaluation: the environment and the team of a training, with its weights.

What is typed takes the place of what the run had: `env.rounds=3` of that one setting, `env=math` of
the whole environment.
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
    """Put environment and team of the run that `cfg.run` names into `cfg`, in place.

    Raises:
        SettingError: it is no run folder, its team has no one model, or its configuration would
            build what `cfg.trust` does not allow.
    """
    if cfg.run is None:
        if cfg.step is not None:
            raise SettingError(f"step={cfg.step} is a step of a run; pass run=<run folder>, too")
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
            f"run={str(folder)!r} has no env and agent.model, as a team of several kinds has none;"
            " evaluate it with its own env=... agent=..., and each member's"
            " model=<run folder>/policy/..."
        )
    typed = typed_values(overrides)
    apart = (saved.get("evaluation") or {}).get("source")
    if apart and not {"env", "env.source"} & typed.keys():
        saved["env"]["source"] = apart
    with open_dict(cfg):
        for group in GROUPS:
            if group not in typed:
                own = _without(saved[group], group, typed)
                say = f"type it ({group}.<setting>=<value>), or pass trust=[{{}}] to allow it"
                check_settings(own, group, f"run={folder}", list(cfg.trust), say)
                _replace(cfg, group, saved[group], typed)
        cfg.agent.model = str(folder)
        if cfg.step is not None:
            cfg.agent.step = cfg.step


def _without(settings: Any, key: str, typed: Collection[str]) -> Any:
    """Return settings without those that were typed, whose dotted keys begin with `key`."""
    if not isinstance(settings, dict):
        return settings
    inner = ((name, f"{key}.{name}", one) for name, one in settings.items())
    return {name: _without(one, path, typed) for name, path, one in inner if path not in typed}


def _replace(cfg: DictConfig, group: str, settings: Any, typed: dict[str, Any]) -> None:
    """Give a group other settings, those aside that were typed."""
    own = [key for key in typed if key.startswith(f"{group}.")]
    kept = {key: OmegaConf.select(cfg, key) for key in own}
    cfg[group] = settings
    for key, value in kept.items():
        OmegaConf.update(cfg, key, value)
