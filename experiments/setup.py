"""Builds what every program needs from a composed configuration: environments, policies, starts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hydra.utils import instantiate
from omegaconf import DictConfig
from pettingzoo import ParallelEnv

from envs.errors import SettingError
from learners.rollout import Start

Environments = list[ParallelEnv[str, Any, Any]]


def make_team(cfg: DictConfig) -> Any:
    """The builder of a team's policies: it has `tokenize` and `policies(environment)`."""
    return instantiate(cfg.agent, _convert_="all")


def make_environments(
    cfg: DictConfig, count: int, part: str, team: Any, **settings: Any
) -> Environments:
    """Equal environments of one part of the task source.

    Args:
        cfg: the composed configuration.
        count: how many.
        part: `train` or `evaluation`.
        team: whose tokens budgets are counted in.
        **settings: settings that replace those of the configuration.
    """
    return [
        instantiate(cfg.env, part=part, tokenize=team.tokenize, _convert_="all", **settings)
        for _ in range(count)
    ]


def task_keys(environment: ParallelEnv[str, Any, Any]) -> tuple[str, ...]:
    """The tasks an environment knows by name; empty where it draws its own."""
    return tuple(getattr(environment, "tasks", ()))


def draw_starts(keys: tuple[str, ...], count: int, seed: int, step: int) -> list[Start]:
    """Starts of one training step, a function of seed and step alone.

    Args:
        keys: tasks to draw from, without repetition within a step; empty lets the environment draw.
        count: how many starts.
        seed: of the run.
        step: of the run.

    Raises:
        SettingError: there are fewer tasks than starts.
    """
    generator = np.random.default_rng((seed, step))
    seeds = [int(each) for each in generator.integers(2**31, size=count)]
    if not keys:
        return [Start(each) for each in seeds]
    if count > len(keys):
        raise SettingError(
            f"train.tasks_per_step={count} is more than the {len(keys)} tasks of the source;"
            " lower it, or raise env.tasks"
        )
    chosen = generator.choice(len(keys), size=count, replace=False)
    return [Start(each, keys[index]) for each, index in zip(seeds, chosen, strict=True)]


def set_price(environments: Environments, price: float) -> None:
    """Give environments with a priced reward another price."""
    for environment in environments:
        reward = getattr(environment, "reward", None)
        if hasattr(reward, "price"):
            environment.reward = replace(reward, price=price)  # type: ignore[attr-defined,type-var]


def refuse_shared_tasks(train: Environments, evaluation: Environments) -> None:
    """Stop a run that would be evaluated on what it trains on.

    Raises:
        SettingError: the two parts have tasks of equal text.
    """
    texts = [
        {task.text for task in getattr(part[0], "tasks", {}).values()}
        for part in (train, evaluation)
    ]
    shared = texts[0] & texts[1]
    if shared:
        raise SettingError(
            f"{len(shared)} evaluation tasks are training tasks too; env.source should be a folder"
            " with a train and a test file, not one file for both"
        )
