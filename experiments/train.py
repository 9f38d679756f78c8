"""Trains a team on groups of episodes.

    laconic train env=gsm8k agent=tiny learner=gspo optimizer=adamw seed=1

The whole loop is in view: starts -> groups -> update -> metrics. Everything that is drawn is a
function of the seed and the step, so a resumed run goes on bit for bit without any generator being
saved. Several processes (`accelerate launch`, docs/scaling.md) all run this loop: each plays its
share of the starts and is handed the groups of all, and the main one writes. Left out: any
knowledge of a particular benchmark.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from hydra.core.hydra_config import HydraConfig
from hydra.utils import instantiate
from omegaconf import DictConfig
from rich.console import Console

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.cli import Interrupt, program
from laconic.experiments.running.evaluation import evaluate, evaluation_starts
from laconic.experiments.running.progress import Progress
from laconic.experiments.running.run_folder import RunFolder, read_rows
from laconic.experiments.running.run_state import Run, finish, restore, save, write_status
from laconic.experiments.running.setup import (
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
from laconic.experiments.running.sweep_result import Objective, names_of, objective
from laconic.experiments.running.sweep_result import check as check_objective
from laconic.experiments.tracking.loggers import Several, open_loggers
from laconic.learners.algorithms.base import Resumable
from laconic.learners.distributed.launched import launched
from laconic.learners.distributed.processes import ALONE, Processes
from laconic.learners.metrics import prefixed, summarise
from laconic.learners.prices.guard import silence_to_watch
from laconic.learners.prices.schedule import Fixed, Price
from laconic.learners.rollout.play import collect

SKIPPED = "learner/skipped_steps"
"""Optimiser steps that were not taken, because they were not finite."""


@program("train", several=True)
def main(cfg: DictConfig) -> Objective:
    """Train as the configuration says.

    Returns:
        The figures of the last evaluation that `objective` names, for a sweeper.
    """
    processes = launched()
    processes.main(lambda: check(cfg, processes.count))
    set_up_process(cfg.threads)
    team = make_team(cfg)
    refuse_scripts(team)
    folder = RunFolder(common_folder(HydraConfig.get().runtime.output_dir, processes))
    # Before its first row a run has nothing to go on with, and nothing that new settings could mix.
    resumed = processes.main(lambda: folder.start(cfg, cfg.resume and folder.metrics.exists()))
    run = prepare(cfg, folder, team, processes)
    processes.main(lambda: tell_conditions(run.environments[0]))
    if resumed:
        restore(run)
    processes.main(lambda: folder.rewind(run.step))
    first = run.step + 1 if resumed else None
    loggers = open_loggers(cfg.logger if processes.is_main else None, folder.path, first)
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
    processes.close()
    if not done:
        raise KeyboardInterrupt
    return objective(cfg.objective, read_rows(folder.metrics))


def check(cfg: DictConfig, processes: int = 1) -> None:
    """Refuse counts that are out of range before anything is built.

    Args:
        cfg: the composed configuration.
        processes: that train together.

    Raises:
        SettingError: names the key and its value.
    """
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
    if cfg.train.tasks_per_step < processes:
        raise SettingError(
            f"train.tasks_per_step must be at least the {processes} processes, because each plays"
            f" whole groups; got {cfg.train.tasks_per_step}: raise it, or start fewer processes"
        )


def common_folder(own: str, processes: Processes) -> str:
    """The run folder of the main process; time stamps in its name differ between processes."""
    folder = processes.first(own)
    if own != folder:
        with suppress(OSError):
            # Hydra has made it; nothing is in it.
            Path(own).rmdir()
    return folder


def prepare(cfg: DictConfig, folder: RunFolder, team: Any, processes: Processes = ALONE) -> Run:
    """Build environments, policies and learner."""
    tasks = -(-cfg.train.tasks_per_step // processes.count)
    environments = make_environments(cfg, tasks * cfg.train.group_size, "train", team)
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
        learner=make_learner(cfg, policies, processes),
        guard=instantiate(cfg.guard),
        folder=folder,
        processes=processes,
        price=price_of(environments[0]),
    )
    check_price(run)
    if hasattr(run.learner, "check"):
        run.learner.check(cfg.train.group_size)
    if not isinstance(run.learner, Resumable):
        run.warnings.append(
            f"{type(run.learner).__name__} has no state_dict and load_state_dict: the run writes no"
            " checkpoints and cannot be resumed"
        )
    return run


def check_price(run: Run) -> None:
    """Refuse a schedule of prices that would change nothing.

    Raises:
        SettingError: the learner has one, and the environment no price.
    """
    schedule = getattr(run.learner, "price", None)
    if run.price is None and not isinstance(schedule, Fixed | None):
        kind = type(run.environments[0]).__name__
        raise SettingError(
            f"learner.price ({type(schedule).__name__}) sets the price of an environment's reward,"
            f" and {kind} has none: give it `reward`, a frozen dataclass with `price`"
            " (docs/bring_your_own.md), or choose learner/price=fixed"
        )


def train(run: Run, loggers: Several) -> None:
    """Step until the end or until somebody interrupts, then write a checkpoint."""
    every = run.cfg.train.checkpoint_every
    first, processes = run.step, run.processes
    write_status(run, "running")
    quiet = None if processes.is_main else Console(quiet=True, force_terminal=False)
    progress = Progress(run.total, "train", first_step=max(first, 0), console=quiet)
    with Interrupt() as interrupt, progress as shown:
        for warning in run.warnings:
            shown.note(warning)
        # All stop after the same step, whichever of them was asked to.
        while run.step < run.total and not processes.any(interrupt.is_set()):
            row = play_step(run, run.step + 1)
            warnings = processes.main(partial(report_step, run, row, loggers))
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
            run.evaluation,
            run.policies,
            run.starts,
            run.folder,
            step=step,
            transcripts=kept,
            processes=run.processes,
        )
        row["time/evaluation"] = time.perf_counter() - begun
    row["time/step"] = time.perf_counter() - started
    return row


def update(run: Run, step: int) -> dict[str, float]:
    """Collect groups and learn from them, those of all processes."""
    train, seed, rank = run.cfg.train, run.cfg.seed, run.processes.rank
    schedule: Price = getattr(run.learner, "price", Fixed())
    prices = {} if run.price is None else {"train/price": schedule.at(step - 1, run.price)}
    for price in prices.values():
        set_price(run.environments, price)
    starts = draw_starts(task_keys(run.environments[0]), train.tasks_per_step, seed, step)
    begun = time.perf_counter()
    # A learner may need more than independent episodes, and then brings a collector of its own.
    gather = getattr(run.learner, "collect", collect)
    drawn = sampling_seed(seed, step, rank)
    groups = run.processes.map_sharded(
        starts,
        lambda own: gather(run.environments, run.policies, own, train.group_size, seed=drawn),
    )
    collected = time.perf_counter()
    learned = run.learner.update(groups)
    played = summarise([one for group in groups if group.own for one in group.episodes])
    schedule.observe(played)
    return {
        **prefixed(played, "train/"),
        **prefixed(learned, "learner/"),
        **prices,
        "time/rollout": collected - begun,
        "time/update": time.perf_counter() - collected,
    }


def sampling_seed(seed: int, step: int, rank: int = 0) -> int:
    """The seed of all that one process samples in one step."""
    drawn = seed * 1_000_003 + step
    return int(np.random.default_rng((drawn, rank)).integers(2**62)) if rank else drawn


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
