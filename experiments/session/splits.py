"""Keep training and evaluation apart: separate sources, and no shared tasks."""

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
"""Advice for a source that does not have two splits."""


def leave_out_shared(
    train: list[ParallelEnv[str, Any, Any]], evaluation: list[ParallelEnv[str, Any, Any]]
) -> list[str]:
    """Remove evaluation tasks from the training environments, in place.

    Returns:
        A warning with the number of removed tasks; empty if there are none.

    Raises:
        SettingError: no task would be left to train on.
    """
    texts = {task.text for task in tasks_of(evaluation[0]).values()}
    tasks = tasks_of(train[0])
    shared = {key for key, task in tasks.items() if task.text in texts}
    if not shared:
        return []
    if len(shared) == len(tasks):
        raise SettingError(
            f"all {len(tasks)} training tasks are evaluation tasks too, as those of a single file"
            f" are; {REMEDIES}"
        )
    for env in train:
        before: Mapping[str, Any] = env.tasks  # type: ignore[attr-defined]
        env.tasks = {key: task for key, task in before.items() if key not in shared}  # type: ignore[attr-defined]
    return [
        f"{len(shared)} of {len(tasks)} training tasks are evaluation tasks too, and are left out"
        " of training"
    ]


def tasks_of(environment: ParallelEnv[str, Any, Any]) -> dict[str, Task]:
    """Return the tasks of an environment by key; empty if it has no `Task`."""
    tasks = getattr(environment, "tasks", None)
    items = tasks.items() if isinstance(tasks, Mapping) else ()
    return {key: task for key, task in items if isinstance(task, Task)}


def own_source(cfg: DictConfig) -> dict[str, Any]:
    """Return the settings of evaluation environments that `evaluation.source` changes.

    Generated tasks are not read from a file, so `env.reader` then applies to training alone.

    Raises:
        SettingError: the class takes no source, or `env.holdout` is set as well.
    """
    source = cfg.evaluation.get("source")
    if source is None:
        return {}
    parameters = names_taken(str(cfg.env._target_))
    if parameters is not None and "source" not in parameters:
        raise SettingError(
            f"evaluation.source={source}, but {cfg.env._target_} takes no `source`; leave it out"
        )
    if cfg.env.get("holdout") is not None:
        raise SettingError(
            f"env.holdout={cfg.env.holdout} and evaluation.source={source} both choose the"
            " evaluation tasks; set one of them only"
        )
    return {"source": source} | ({"reader": None} if source == GENERATED else {})


def of_source(error: BaseException) -> str:
    """Describe a source that cannot be read, with advice if it lacks one split."""
    return f"env.source: {error}" + (f". {REMEDIES}" if isinstance(error, SplitError) else "")
