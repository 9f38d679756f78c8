"""What is told before anything slow begins: what is trained on what, and where it is written.

Also that the small weights in use never saw the world they are put into, and how to make some that
have: a run that starts at nothing solved has nothing to learn from.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from laconic.envs.errors import SettingError
from laconic.learners.agents.tiny import PATH
from laconic.learners.commands import command
from laconic.learners.untrusted_files import read_yaml

MINUTES: Mapping[str, str] = {
    "math": "20 to 35 minutes on one core",
    "sports": "23 minutes on one core",
    "strategyqa": "10 to 16 minutes on one core",
}
"""Environment -> how long its warm start took where that was measured."""
_SMALL = "laconic.learners.agents.tiny"
_NEW = f"{_SMALL}.new"


def header(cfg: DictConfig, choices: Mapping[str, str | None], folder: Path) -> list[str]:
    """Lines that say what a training is, from its configuration and what was chosen of it."""
    env, agent, learner = (_called(cfg, one, choices) for one in ("env", "agent", "learner"))
    model = cfg.agent.get("model")
    train = cfg.train
    return [
        f"trains {agent}{f' ({model})' if model else ''} on {env} by {learner}, seed {cfg.seed}:"
        f" {train.steps} steps of {train.tasks_per_step} tasks x {train.group_size} episodes",
        f"written to {folder}",
    ]


def unseen(cfg: DictConfig) -> str:
    """Words for small weights that were made for other worlds; empty where there is nothing to say.

    What large models have seen nobody knows, and neither what an environment of a user's own is.
    """
    world = cfg.env.get("name")
    target = str(cfg.agent.get("_target_"))
    if target.startswith(_NEW) and cfg.agent.get("model") is None:
        return _untaught(cfg)
    if not world or not target.startswith(_SMALL) or target.startswith(_NEW):
        return ""
    worlds = _worlds(Path(cfg.agent.get("model") or PATH))
    if not worlds or world in worlds:
        return ""
    time = MINUTES.get(world, "what it reaches here nobody has measured")
    folder = f"warm/{world}"
    warm_start = command("warm-start", env=world, threads=1, **{"hydra.run.dir": folder})
    train = command("train", env=world, **{"agent.model": folder})
    return (
        f"these weights never saw {world} (they were made on {' and '.join(sorted(worlds))}), so"
        " expect no solved task and nothing to learn from at first. Weights that have seen it:"
        f" {warm_start} ({time}), then {train}"
    )


def _untaught(cfg: DictConfig) -> str:
    """Return words for fresh weights that learn from reward alone; empty where they imitate."""
    learner = cfg.get("learner")
    collect = str((learner.get("collect") or {}).get("_target_")) if learner else ""
    if learner is None or collect.startswith("laconic.learners.rollout.collectors.demonstrations"):
        return ""
    return (
        "agent=new has fresh weights, which say nothing of use, and this learner learns from reward"
        " alone: expect no solved task and nothing to learn from. learner=imitation teaches them"
        f" first, as {command('warm-start', env=cfg.env.get('name') or 'gsm8k')} does"
    )


def _called(cfg: DictConfig, group: str, choices: Mapping[str, str | None]) -> str:
    """The choice of a group, or the class where it is not that of the choice."""
    target = str(cfg[group].get("_target_"))
    chosen = choices.get(group)
    return chosen if chosen and target.startswith(("laconic.", "torch.")) else target


def _worlds(model: Path) -> set[str]:
    """Names of the environments that small weights were made on, as their folder tells."""
    found = {_world(_read(model / "recipe.yaml"))}
    for run in (model, model.parent):
        if trained := _read(run / "config.yaml"):
            agent = trained.get("agent") or {}
            found.add(_world(trained))
            if not str(agent.get("_target_")).startswith(_NEW):
                found.add(_world(_read(Path(agent.get("model") or PATH) / "recipe.yaml")))
    return found - {""}


def _world(told: Mapping[str, Any]) -> str:
    env = told.get("env")
    return str(env.get("name") or "") if isinstance(env, Mapping) else ""


def _read(path: Path) -> Mapping[str, Any]:
    """A yaml of a folder; empty where there is none that can be read."""
    try:
        found = read_yaml(path)
    except SettingError:
        return {}
    return found if isinstance(found, Mapping) else {}
