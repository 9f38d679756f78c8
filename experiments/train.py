"""Trains a team on groups of episodes.

    python -m experiments.train env=gsm8k agent=tiny learner=gspo optimizer=adamw seed=1

The whole loop is in view: starts -> groups -> update -> metrics. Everything that is drawn is a
function of the seed and the step, so a resumed run goes on bit for bit without any generator being
saved. Left out: other processes (one is enough for what ships) and any knowledge of a particular
benchmark.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.utils import instantiate
from omegaconf import DictConfig

from envs.errors import SettingError
from experiments.cli import Interrupt, program
from experiments.evaluation import evaluate, evaluation_starts
from experiments.loggers import Several, open_loggers
from experiments.objective import Objective, names_of, objective
from experiments.objective import check as check_objective
from experiments.progress import Progress
from experiments.run_folder import RunFolder, read_rows
from experiments.run_state import Run, finish, restore, save, write_status
from experiments.setup import (
    check_counts,
    draw_starts,
    make_environments,
    make_evaluation,
    make_learner,
    make_team,
    price_of,
    refuse_scripts,
    refuse_shared_tasks,
    set_price,
    set_up_process,
    show_scripts,
    task_keys,
    tell_conditions,
)
from learners.guard import silence_to_watch
from learners.learner import Resumable
from learners.metrics import prefixed, summarise
from learners.price import Fixed, Price
from learners.rollout import collect

SKIPPED = "learner/skipped_steps"
"""Optimiser steps that were not taken, because they were not finite."""


@program("train")
def main(cfg: DictConfig) -> Objective:
    """Train as the configuration says.

    Returns:
        The figures of the last evaluation that `objective` names, for a sweeper.
    """
    check(cfg)
    set_up_process(cfg.threads)
    team = make_team(cfg)
    refuse_scripts(team)
    folder = RunFolder(HydraConfig.get().runtime.output_dir)
    # Before its first row a run has nothing to go on with, and nothing that new settings could mix.
    resumed = folder.start(cfg, cfg.resume and folder.metrics.exists())
    run = prepare(cfg, folder, team)
    tell_conditions(run.environments[0])
    if resumed:
        restore(run)
    folder.rewind(run.step)
    loggers = open_loggers(cfg.logger, folder.path, run.step + 1 if resumed else None)
    try:
        train(run, loggers)
    except BaseException as error:
        state = "failed" if isinstance(error, Exception) else "interrupted"
        with suppress(OSError):
            write_status(run, state)
        loggers.close(state)
        raise
    done = run.step == run.total
    run.warnings += loggers.close("finished" if done else "interrupted")
    finish(run)
    if not done:
        raise KeyboardInterrupt
    return objective(cfg.objective, read_rows(folder.metrics))


def check(cfg: DictConfig) -> None:
    """Refuse counts that are out of range before anything is built."""
    least = {
        "seed": 0,
        "threads": 1,
        "train.steps": 0,
        "train.tasks_per_step": 1,
        "train.group_size": 1,
        "train.checkpoint_every": 1,
        "train.evaluate_every": 1,
        "evaluation.tasks": 1,
        "evaluation.batch": 1,
        "evaluation.transcripts": 0,
    }
    check_counts(cfg, least, ("threads", "train.evaluate_every", "evaluation.tasks"))
    names_of(cfg.objective)
    if cfg.train.group_size < 2:
        raise SettingError(
            "train.group_size must be at least 2, because an advantage compares episodes of one"
            f" task; got {cfg.train.group_size}"
        )


def prepare(cfg: DictConfig, folder: RunFolder, team: Any) -> Run:
    """Build environments, policies and learner."""
    count = cfg.train.tasks_per_step * cfg.train.group_size
    environments = make_environments(cfg, count, "train", team)
    evaluation = make_evaluation(cfg, "evaluation", team)
    refuse_shared_tasks(environments, evaluation)
    # Drawn in vain, so that a source with too few tasks is refused before the first evaluation.
    draw_starts(task_keys(environments[0]), cfg.train.tasks_per_step, cfg.seed, 1)
    policies = team.policies(environments[0])
    show_scripts(policies, evaluation[0])
    run = Run(
        cfg=cfg,
        environments=environments,
        evaluation=evaluation,
        starts=evaluation_starts(evaluation, cfg.evaluation.tasks),
        policies=policies,
        learner=make_learner(cfg, policies),
        guard=instantiate(cfg.guard),
        folder=folder,
        price=price_of(environments[0]) or 0.0,
    )
    if hasattr(run.learner, "check"):
        run.learner.check(cfg.train.group_size)
    if not isinstance(run.learner, Resumable):
        run.warnings.append(
            f"{type(run.learner).__name__} has no state_dict and load_state_dict: the run writes no"
            " checkpoints and cannot be resumed"
        )
    return run


def train(run: Run, loggers: Several) -> None:
    """Step until the end or until somebody interrupts, then write a checkpoint."""
    every = run.cfg.train.checkpoint_every
    first = run.step
    write_status(run, "running")
    with Interrupt() as interrupt, Progress(run.total, "train", first_step=max(first, 0)) as shown:
        for warning in run.warnings:
            shown.note(warning)
        while run.step < run.total and not interrupt.is_set():
            row = play_step(run, run.step + 1)
            warnings = report_step(run, row, loggers)
            if run.step < 0:
                check_objective(run.cfg.objective, row)
            run.step += 1
            for warning in [*warnings, *watch(run, row)]:
                run.warnings.append(warning)
                shown.note(warning)
            shown.update(run.step, row)
            if run.step and run.step % every == 0:
                save(run)
        if run.step > first and (run.step % every or run.step == 0):
            save(run)


def play_step(run: Run, step: int) -> dict[str, float]:
    """One step: the evaluation before training as step 0, a learner update as any other."""
    started = time.perf_counter()
    row: dict[str, float] = {} if step == 0 else update(run, step)
    every = run.cfg.train.evaluate_every
    if step in (0, run.total) or (every and step % every == 0):
        begun = time.perf_counter()
        kept = run.cfg.evaluation.transcripts
        row |= evaluate(
            run.evaluation, run.policies, run.starts, run.folder, step=step, transcripts=kept
        )
        row["time/evaluation"] = time.perf_counter() - begun
    row["time/step"] = time.perf_counter() - started
    return row


def update(run: Run, step: int) -> dict[str, float]:
    """Collect groups and learn from them."""
    train, seed = run.cfg.train, run.cfg.seed
    schedule: Price = getattr(run.learner, "price", Fixed())
    price = schedule.at(step - 1, run.price)
    set_price(run.environments, price)
    starts = draw_starts(task_keys(run.environments[0]), train.tasks_per_step, seed, step)
    begun = time.perf_counter()
    # A learner may need more than independent episodes, and then brings a collector of its own.
    gather = getattr(run.learner, "collect", collect)
    groups = gather(
        run.environments, run.policies, starts, train.group_size, seed=sampling_seed(seed, step)
    )
    collected = time.perf_counter()
    learned = run.learner.update(groups)
    played = summarise([one for group in groups if group.own for one in group.episodes])
    schedule.observe(played)
    return {
        **prefixed(played, "train/"),
        **prefixed(learned, "learner/"),
        "train/price": price,
        "time/rollout": collected - begun,
        "time/update": time.perf_counter() - collected,
    }


def sampling_seed(seed: int, step: int) -> int:
    """The seed of all sampling in one step."""
    return seed * 1_000_003 + step


def watch(run: Run, row: Mapping[str, float]) -> list[str]:
    """What there is to warn of: silence at the cost of accuracy, and the first skipped steps."""
    found = []
    metrics = {name.removeprefix("train/"): value for name, value in row.items()}
    if "accuracy" in metrics:
        found.append(run.guard.observe(run.step, silence_to_watch(metrics), metrics["accuracy"]))
    if row.get(SKIPPED) and not any(SKIPPED in warning for warning in run.warnings):
        found.append(
            f"step {run.step}: {row[SKIPPED]:.0f} optimiser steps were skipped, because their loss"
            f" or gradient was not finite; {SKIPPED} counts them from here on. Try a lower"
            " optimizer.lr"
        )
    return [warning for warning in found if warning]


def report_step(run: Run, row: Mapping[str, float], loggers: Several) -> list[str]:
    """Write one step to the run folder and to the loggers; returns what these warn of."""
    step = run.step + 1
    run.folder.append_metrics({"step": step, **row})
    return loggers.log(step, row)


if __name__ == "__main__":
    main()
