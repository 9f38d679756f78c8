"""What keeps training and evaluation apart: their sources, and the tasks that stand in both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig
from pettingzoo import ParallelEnv

from laconic.envs import GENERATED
from laconic.envs.errors import SettingError, SplitError
from laconic.envs.task import Task
from laconic.experiments.command_line.targets import names_taken

REMEDIES = (
    "env.holdout=0.2 draws a fifth of the source for evaluation (by env.holdout_seed), and"
    " evaluation.source=<file, folder or hub:<id>> evaluates a training on another one"
)
"""What helps where a source has no two splits."""


def leave_out_shared(
    train: list[ParallelEnv[str, Any, Any]], evaluation: list[ParallelEnv[str, Any, Any]]
) -> list[str]:
    """Take tasks from the training environments, in place, that are evaluation tasks too.

    Returns:
        What there is to tell: how many these are, where there are any.

    Raises:
        SettingError: no task would be left to train on.
    """
    asked = {task.text for task in tasks_of(evaluation[0]).values()}
    tasks = tasks_of(train[0])
    shared = {key for key, task in tasks.items() if task.text in asked}
    if not shared:
        return []
    if len(shared) == len(tasks):
        raise SettingError(
            f"all {len(tasks)} training tasks are evaluation tasks too, as those of a single file"
            f" are; {REMEDIES}"
        )
    for one in train:
        left: Mapping[str, Any] = one.tasks  # type: ignore[attr-defined]
        one.tasks = {key: task for key, task in left.items() if key not in shared}  # type: ignore[attr-defined]
    return [
        f"{len(shared)} of {len(tasks)} training tasks are evaluation tasks too, and are left out"
        " of training"
    ]


def tasks_of(environment: ParallelEnv[str, Any, Any]) -> dict[str, Task]:
    """The tasks of an environment by their keys; empty where it has none of this kind."""
    tasks = getattr(environment, "tasks", None)
    found = tasks.items() if isinstance(tasks, Mapping) else ()
    return {key: task for key, task in found if isinstance(task, Task)}


def own_source(cfg: DictConfig) -> dict[str, Any]:
    """Return the settings of evaluation environments whose source is not that of training.

    Generated tasks are not read: `env.reader` is then meant for training alone.

    Raises:
        SettingError: their class has no source, or `env.holdout` is to part that of training, too.
    """
    source = cfg.evaluation.get("source")
    if source is None:
        return {}
    taken = names_taken(str(cfg.env._target_))
    if taken is not None and "source" not in taken:
        raise SettingError(
            f"evaluation.source={source}, but {cfg.env._target_} takes no `source`; leave it out"
        )
    if cfg.env.get("holdout") is not None:
        raise SettingError(
            f"env.holdout={cfg.env.holdout} and evaluation.source={source} both say what evaluation"
            " plays; give one of them"
        )
    return {"source": source} | ({"reader": None} if source == GENERATED else {})


def of_source(error: BaseException) -> str:
    """Words for a source that cannot be read, with what helps where it lacks one split."""
    return f"env.source: {error}" + (f". {REMEDIES}" if isinstance(error, SplitError) else "")
