"""Cards of shipped policies: recipe, environment that the weights know, and figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from laconic.envs.registry import recipes
from laconic.experiments.command_line.targets import finalize_config
from laconic.experiments.command_line.tree import CONF
from laconic.experiments.run_folder.folder import flatten
from laconic.learners.agents.recipes import CARD
from laconic.learners.commands import command

RECIPES = recipes()

_LEFT_OUT = ("env._target_", "env.tasks", "env.generator.seed", "env.budget", "env.reward")


def recipe_command(name: str, **overrides: Any) -> str:
    """Return the warm start that makes the policy of an environment."""
    return command("warm-start", env=name, threads=1, seed=RECIPES[name].seed, **overrides)


def composed(name: str) -> DictConfig:
    """Return the configuration of the warm start of an environment."""
    overrides = ["experiment=warm_start", f"env={name}"]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("train", overrides=overrides)
        finalize_config(cfg, overrides)
    return cfg


def known_settings(name: str) -> dict[str, Any]:
    """Return the settings of the environment of a recipe, by dotted key."""
    settings = flatten(OmegaConf.to_container(composed(name).env, resolve=True), "env")
    return {key: value for key, value in settings.items() if not key.startswith(_LEFT_OUT)}


def write_card(folder: Path, name: str, facts: Mapping[str, Any]) -> None:
    """Write the card of a policy beside its weights."""
    card = {**facts, "env": known_settings(name)}
    (folder / CARD).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
