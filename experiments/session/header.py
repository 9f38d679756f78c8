"""Texts at the start of a program: the run in two lines, its grading and limits, and a warning.

The warning says that the small weights in use never saw this environment or one of its settings,
and how to train some that have. A run that solves no task at its start has nothing to learn from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from pettingzoo import ParallelEnv

from laconic.envs.dialogue.reward import Reward
from laconic.envs.errors import SettingError
from laconic.envs.registry import recipe
from laconic.envs.task import PRICE
from laconic.experiments.command_line.targets import part_names
from laconic.experiments.run_folder.folder import flatten
from laconic.experiments.session.setup import print_conditions
from laconic.experiments.statistics.words import count
from laconic.learners.agents.recipes import CARD, SHIPPED, shipped
from laconic.learners.commands import command
from laconic.learners.untrusted_files import read_yaml

_ASKED = (
    *("env.generator.", "env.team.", "env.reader."),
    *(f"env.{name}" for name in ("rounds", "information", "topology", "schedule", "answer")),
    *(f"env.{name}" for name in ("source", "instructions", "language", "wording", "months")),
    *("env.talk", "env.newcomer"),
)
"""Beginnings of the keys that change what small weights read and have to say."""
_SMALL = "laconic.learners.agents.tiny"
_NEW = f"{_SMALL}.new"


def header(
    cfg: DictConfig,
    choices: Mapping[str, str | None],
    folder: Path,
    overrides: Sequence[str] = (),
) -> list[str]:
    """Describe a training in lines, from its configuration, chosen options and overrides."""
    names = part_names(cfg, choices, overrides)
    env, agent, learner = (names[group] for group in ("env", "agent", "learner"))
    model = cfg.agent.get("model")
    train = cfg.train
    numbers = (train.steps, "step"), (train.tasks_per_step, "task"), (train.group_size, "episode")
    steps = "{} of {} x {}".format(*(count(*each) for each in numbers))
    if train.minutes is not None:
        steps = f"{train.minutes:g} minutes, at most {steps}"
    weights = shipped(str(cfg.env.get("name"))) if _takes_shipped(cfg) else None
    lines = [
        f"trains {agent}{f' ({model})' if model else ''} on {env} by {learner}, seed {cfg.seed}:"
        f" {steps}",
        f"written to {folder}",
    ]
    return [*lines, f"weights shipped for {cfg.env.name}: {weights}"] if weights else lines


def print_start(team: Any, environment: ParallelEnv[str, Any, Any]) -> None:
    """Print the conditions under which an environment grades answers, and conflicting limits."""
    print_conditions(environment)
    for conflict in conflicting_limits(team, environment):
        print(f"limits: {conflict}")
    if words := unaffordable(environment):
        print(f"price: {words}")


def unaffordable(environment: ParallelEnv[str, Any, Any]) -> str:
    """Describe prices that a perfect, brief team could not pay in its last round; else empty.

    A price was once for 50 tokens everywhere, so an old `env.reward.price=3` would pass in silence.
    """
    task = getattr(environment, "benchmark", getattr(environment, "world", None))
    tokens = getattr(task, "defaults", {}).get("reward", {}).get("normalizer")
    reward = getattr(environment, "reward", None)
    if not isinstance(reward, Reward) or (tokens is None and not reward.round_price):
        return ""
    # What the words of other environments cost is unknown.
    paid = 0.0 if tokens is None else reward.price * tokens / reward.normalizer
    most, rounds = environment.metadata["max_reward"], environment.rounds
    if paid <= most < paid + rounds * reward.round_price:
        return (
            f"a task solved in the last of {rounds} rounds earns less than nothing: {most:g}, less"
            f" {rounds} x {reward.round_price:g} for time and {paid:.3g} for the fewest words; set"
            f" env.reward.round_price to at most {(most - paid) / rounds:.3g}"
        )
    if paid <= most:
        return ""
    return (
        f"a perfect, brief team would pay more than it earns: {paid:.3g} for {tokens} tokens, of"
        f" {most:g}; set env.reward.price to at most {most * reward.normalizer / tokens:.3g}."
        f" {PRICE:g} is the default; a former price p, for 50 tokens, is p * {tokens} / 50"
    )


def conflicting_limits(team: Any, environment: ParallelEnv[str, Any, Any]) -> list[str]:
    """Describe limits of a team and its environment that differ, one line each.

    A reply ends at the smaller of two limits, so the rest of the larger one is never used.
    """
    settings = {"": getattr(team, "sampling", None)} | {
        f"members.{name}.": getattr(member, "sampling", None)
        for name, member in getattr(team, "members", {}).items()
    }
    budget = getattr(environment, "budget", None)
    cap = getattr(budget, "message", None)
    conflicts = []
    for where, sampling in settings.items():
        most = getattr(sampling, "max_reply_tokens", None)
        if cap is None or most is None or most == cap + 1:
            continue
        # The token that ends a reply counts toward max_reply_tokens, but not toward a message.
        conflicts.append(
            f"replies end after {min(most, cap + 1)} tokens:"
            f" agent.{where}sampling.max_reply_tokens={most}, env.budget.message={cap} and one"
            " to end"
        )
    episode = getattr(budget, "episode", None)
    thought = getattr(budget, "thought", None)
    for where, sampling in settings.items():
        most = getattr(sampling, "thinking_tokens", None)
        if thought is not None and most is not None and thought != most:
            conflicts.append(
                f"thoughts end after {min(thought, most)} tokens:"
                f" agent.{where}sampling.thinking_tokens={most}, env.budget.thought={thought}"
            )
    if cap is not None and episode is not None and episode < cap:
        conflicts.append(
            f"no message can use the {cap} tokens of env.budget.message:"
            f" env.budget.episode={episode}"
        )
    return conflicts


def untrained_warning(cfg: DictConfig) -> str:
    """Return a warning about small weights that never saw the environment or a setting; else empty.

    Nothing is known about the training data of large models.
    """
    world = _world(cfg)
    target = str(cfg.agent.get("_target_"))
    if target.startswith(_NEW) and cfg.agent.get("model") is None:
        return _untaught(cfg)
    if not world or not target.startswith(_SMALL) or target.startswith(_NEW):
        return ""
    settings: dict[str, Any] = {}
    if _takes_shipped(cfg) and (folder := shipped(world)):
        settings = _unknown_settings(cfg, _read(folder / CARD))
        if not settings:
            return ""
        known = f"the weights shipped for {world} never saw {', '.join(settings)} as it is here"
    else:
        worlds = _worlds(
            Path(cfg.agent.get("model") or shipped(str(cfg.env.get("name"))) or SHIPPED)
        )
        if not worlds or world in worlds:
            return ""
        known = f"these weights never saw {world} (they were trained on {_joined(worlds)})"
    if world == cfg.env.get("_target_"):
        # A warm start needs a script that solves the tasks, which an own class does not have.
        return (
            f"{known}, so expect little to learn from. Choose a policy that has read English:"
            " agent=smollm2, or agent=hf agent.model=<folder> (docs/own_environment.md)"
        )
    here = {"env": world, **settings}
    warm_start = command("warm-start", **here, threads=1, **{"hydra.run.dir": f"warm/{world}"})
    train = command("train", **here, **{"agent.model": f"warm/{world}"})
    declared = recipe(world)
    time = f" (about {declared.minutes:.0f} minutes on one core)" if declared else ""
    return (
        f"{known}, so expect low scores and little to learn from at first. To train some that"
        f" have: {warm_start}{time}, then {train}"
    )


def _takes_shipped(cfg: DictConfig) -> bool:
    """Return whether the team is `agent=tiny` without weights of the user."""
    tiny = str(cfg.agent.get("_target_")) == f"{_SMALL}.TinyTeam"
    return tiny and cfg.agent.get("model") is None


def _unknown_settings(cfg: DictConfig, card: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the environment that differ from those of a policy's card."""
    known = card.get("env")
    here = flatten(OmegaConf.to_container(cfg.env, resolve=True), "env")
    return {
        key: value
        for key, value in here.items()
        if isinstance(known, Mapping) and key.startswith(_ASKED) and key in known
        if known[key] != value
    }


def _joined(names: set[str]) -> str:
    return " and ".join(sorted(names))


def _untaught(cfg: DictConfig) -> str:
    """Return a warning about fresh weights that learn from reward alone; empty if they imitate."""
    learner = cfg.get("learner")
    collect = str((learner.get("collect") or {}).get("_target_")) if learner else ""
    if learner is None or collect.startswith("laconic.learners.rollout.collectors.demonstrations"):
        return ""
    return (
        "agent=new has fresh weights, which say nothing useful, and this learner learns from reward"
        " alone: expect no solved task and nothing to learn from. learner=imitation teaches them"
        f" first, as {command('warm-start', env=cfg.env.get('name') or 'gsm8k')} does"
    )


def _worlds(model: Path) -> set[str]:
    """Return the names of the environments that small weights were trained on, from their files."""
    names = {_world(_read(model / name)) for name in ("recipe.yaml", CARD)}
    for run in (model, model.parent):
        if trained := _read(run / "config.yaml"):
            agent = trained.get("agent") or {}
            names.add(_world(trained))
            if not str(agent.get("_target_")).startswith(_NEW):
                start = Path(agent.get("model") or shipped(_world(trained)) or SHIPPED)
                names |= {_world(_read(start / name)) for name in ("recipe.yaml", CARD)}
    return names - {""}


def _world(config: Mapping[str, Any]) -> str:
    """Return the class of an own environment, and the name of another one; empty if unknown."""
    env = config.get("env")
    if not isinstance(env, Mapping):
        return ""
    target = str(env.get("_target_") or "laconic.")
    # An own class may keep the name of the environment whose place it takes.
    if not target.startswith("laconic."):
        return target
    return str(env.get("name") or env.get("env.name") or "")


def _read(path: Path) -> Mapping[str, Any]:
    """Read a YAML file; empty if it does not exist or cannot be read."""
    try:
        content = read_yaml(path)
    except SettingError:
        return {}
    return content if isinstance(content, Mapping) else {}
