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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from hydra.core.hydra_config import HydraConfig
from hydra.utils import instantiate
from omegaconf import DictConfig

from envs.errors import SettingError
from experiments.cli import Interrupt, program
from experiments.evaluation import evaluate
from experiments.loggers import Several, open_loggers
from experiments.progress import Progress
from experiments.report import write_report
from experiments.run_folder import RunFolder, read_rows
from experiments.setup import (
    Environments,
    draw_starts,
    make_environments,
    make_team,
    refuse_shared_tasks,
    set_price,
    task_keys,
)
from learners import checkpoint
from learners.agents.base import Policy
from learners.guard import CollapseGuard, silence_to_watch
from learners.metrics import prefixed, summarise
from learners.price import Fixed
from learners.rollout import collect
from learners.update import Learner

OBJECTIVE = "eval/reward"
"""What a sweeper maximises."""


@dataclass(slots=True)
class Run:
    """Everything that a step of training touches."""

    cfg: DictConfig
    """The composed configuration."""
    environments: Environments
    """Environments of the training part, one per episode of a step."""
    evaluation: Environments
    """Environments of the evaluation part."""
    policies: Mapping[str, Policy]
    """The policy of each agent."""
    learner: Learner
    """What the groups of a step are handed to."""
    guard: CollapseGuard
    """Notices silence collapse."""
    folder: RunFolder
    """Where everything is written."""
    step: int = -1
    """Learner updates done; -1 before the first evaluation."""


@program("train")
def main(cfg: DictConfig) -> float:
    """Train as the configuration says; returns the reward of the last evaluation."""
    if cfg.threads:
        torch.set_num_threads(cfg.threads)
    folder = RunFolder(HydraConfig.get().runtime.output_dir)
    resumed = folder.start(cfg, cfg.resume)
    run = prepare(cfg, folder)
    if resumed:
        restore(run)
    loggers = open_loggers(cfg.logger, folder.path, run.step + 1 if resumed else None)
    total = cfg.train.steps
    with (
        Interrupt() as interrupt,
        Progress(total, "train", first_step=max(run.step, 0)) as progress,
    ):
        while run.step < total and not interrupt.is_set():
            row = play_step(run)
            warning = watch(run, row)
            if warning:
                progress.note(warning)
            report_step(run, row, loggers)
            progress.update(run.step, row)
            if run.step == total or (run.step and run.step % cfg.train.checkpoint_every == 0):
                save(run)
        if run.step < total and run.step >= 0:
            save(run)
    loggers.close()
    finish(run, "finished" if run.step == total else "interrupted")
    if run.step < total:
        raise KeyboardInterrupt
    rows = [row for row in read_rows(folder.metrics) if OBJECTIVE in row]
    return float(rows[-1][OBJECTIVE])


def prepare(cfg: DictConfig, folder: RunFolder) -> Run:
    """Build environments, policies and learner."""
    count = cfg.train.tasks_per_step * cfg.train.group_size
    if cfg.train.group_size < 2:
        raise SettingError(
            "train.group_size must be at least 2, because an advantage compares episodes of one"
            f" task; got {cfg.train.group_size}"
        )
    team = make_team(cfg)
    environments = make_environments(cfg, count, "train", team)
    limit = {} if cfg.evaluation.tasks is None else {"tasks": cfg.evaluation.tasks}
    evaluation = make_environments(cfg, cfg.evaluation.batch, "evaluation", team, **limit)
    refuse_shared_tasks(environments, evaluation)
    policies = team.policies(environments[0])
    optimizer = instantiate(cfg.optimizer, _convert_="all")
    learner = instantiate(cfg.learner, _convert_="all")(policies, optimizer)
    return Run(
        cfg=cfg,
        environments=environments,
        evaluation=evaluation,
        policies=policies,
        learner=learner,
        guard=instantiate(cfg.guard),
        folder=folder,
    )


def play_step(run: Run) -> dict[str, float]:
    """One step: the evaluation before training as step 0, a learner update as any other."""
    run.step += 1
    started = time.perf_counter()
    row: dict[str, float] = {} if run.step == 0 else update(run)
    every = run.cfg.train.evaluate_every
    if run.step in (0, run.cfg.train.steps) or (every and run.step % every == 0):
        begun = time.perf_counter()
        row |= evaluate(
            run.evaluation,
            run.policies,
            run.folder,
            step=run.step,
            transcripts=run.cfg.evaluation.transcripts,
        )
        row["time/evaluation"] = time.perf_counter() - begun
    row["time/step"] = time.perf_counter() - started
    return row


def update(run: Run) -> dict[str, float]:
    """Collect groups and learn from them."""
    cfg = run.cfg
    price = getattr(run.learner, "price", Fixed()).at(run.step - 1, base_price(cfg))
    set_price(run.environments, price)
    starts = draw_starts(
        task_keys(run.environments[0]), cfg.train.tasks_per_step, cfg.seed, run.step
    )
    begun = time.perf_counter()
    groups = collect(
        run.environments, run.policies, starts, cfg.train.group_size, seed=hash_step(cfg, run.step)
    )
    collected = time.perf_counter()
    learned = run.learner.update(groups)
    episodes = [episode for group in groups for episode in group.episodes]
    return {
        **prefixed(summarise(episodes), "train/"),
        **prefixed(learned, "learner/"),
        "train/price": price,
        "time/rollout": collected - begun,
        "time/update": time.perf_counter() - collected,
    }


def base_price(cfg: DictConfig) -> float:
    """The price in the configuration; 0 for an environment that has none."""
    reward = cfg.env.get("reward") or {}
    return float(reward.get("price", 0.0))


def hash_step(cfg: DictConfig, step: int) -> int:
    """The seed of all sampling in one step."""
    return int(cfg.seed) * 1_000_003 + step


def watch(run: Run, row: Mapping[str, float]) -> str | None:
    """Ask the guard whether the team is falling silent at the cost of accuracy."""
    metrics = {name.removeprefix("train/"): value for name, value in row.items()}
    if "accuracy" not in metrics:
        return None
    return run.guard.observe(run.step, silence_to_watch(metrics), metrics["accuracy"])


def report_step(run: Run, row: Mapping[str, float], loggers: Several) -> None:
    """Write one step to the run folder and to the loggers."""
    run.folder.append_metrics({"step": run.step, **row})
    loggers.log(run.step, row)


def save(run: Run) -> None:
    """Write a checkpoint that `restore` goes on from."""
    run.folder.sync()
    state = {"learner": run.learner.state_dict(), "guard": run.guard.state_dict()}
    checkpoint.save(run.folder.checkpoints, run.step, {"step": run.step, **state})


def restore(run: Run) -> None:
    """Go on from the newest whole checkpoint; rows written after it are dropped."""
    found = checkpoint.latest(run.folder.checkpoints)
    if found is not None:
        state: dict[str, Any] = checkpoint.load(found)
        run.learner.load_state_dict(state["learner"])
        run.guard.load_state_dict(state["guard"])
        run.step = state["step"]
    run.folder.rewind(run.step)


def finish(run: Run, outcome: str) -> None:
    """Leave the policies, the status and the report."""
    save_policies(run.policies, run.folder.path / "policy")
    run.folder.write_status(outcome, run.step)
    print(f"report: {write_report(run.folder.path)}")


def save_policies(policies: Mapping[str, Policy], folder: Path) -> None:
    """Write the weights so that `agent.model=<folder>` and stock `transformers` load them."""
    shared = len({id(policy) for policy in policies.values()}) == 1
    for agent, policy in policies.items():
        if hasattr(policy, "save"):
            policy.save(folder if shared else folder / agent)
            if shared:
                return


if __name__ == "__main__":
    main()
