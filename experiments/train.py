"""Train a team on groups of episodes.

    laconic train env=gsm8k agent=tiny learner=gspo optimizer=adamw seed=1

The whole loop is on this page: starts -> groups -> update -> metrics. All random numbers depend on
the seed and the step alone, so a resumed run continues bit for bit without saved generators.
Several processes (`accelerate launch`, docs/scaling.md) all run this loop: each plays its share of
the starts and receives the groups of all; the main one writes. The loop knows no benchmark.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from rich.console import Console

from laconic.envs.errors import SettingError
from laconic.experiments.command_line import clock
from laconic.experiments.command_line.cli import program
from laconic.experiments.command_line.interrupt import Interrupt
from laconic.experiments.command_line.say import say
from laconic.experiments.command_line.targets import part_names
from laconic.experiments.run_folder.folder import RunFolder, read_rows
from laconic.experiments.run_folder.group_log import log_group
from laconic.experiments.session import run_state, setup, sweep_result
from laconic.experiments.session.checks import check_train
from laconic.experiments.session.costs import forecast, peak_gigabytes, tokens_per_second
from laconic.experiments.session.evaluation import EvaluationRun, evaluate, play_within, under
from laconic.experiments.session.header import header, print_start, unseen
from laconic.experiments.session.own_accuracy import OwnAccuracy, of_policy
from laconic.experiments.session.preparation import common_folder, prepare
from laconic.experiments.session.progress import Progress
from laconic.experiments.session.stakes import charging_of, price_sentence
from laconic.experiments.tracking.loggers import Several, open_loggers
from laconic.learners.advantages.credit import pass_rate
from laconic.learners.distributed.launched import launched
from laconic.learners.engines.async_rollouts import AsyncRollouts, drop_stale_groups
from laconic.learners.engines.base import Engine
from laconic.learners.episode import Group
from laconic.learners.metrics import describe_replies, prefixed, summarize
from laconic.learners.prices.schedule import PassRate


@program("train", several=True)
def main(cfg: DictConfig) -> float | list[float]:
    """Train the configured team with the configured learner.

    Returns:
        The metrics of the last evaluation that `sweep_metric` names, for a sweeper.
    """
    processes = launched()
    processes.main(lambda: check_train(cfg, processes.count))
    setup.set_up_process(cfg.threads)
    team = setup.make_team(cfg)
    setup.refuse_scripts(team)
    hydra = HydraConfig.get()
    folder = RunFolder(common_folder(hydra.runtime.output_dir, processes))
    names = part_names(cfg, hydra.runtime.choices, hydra.overrides.task)
    # A run without a row has nothing to resume.
    resumed = processes.main(
        lambda: folder.start(cfg, cfg.resume and folder.metrics.exists(), names=names)
    )
    processes.main(lambda: print_header(cfg, folder.path))
    run = prepare(cfg, folder, team, processes)
    processes.main(lambda: print_start(team, run.environments[0]))
    # Building the run is not part of its time.
    clock.restart()
    if resumed:
        run_state.restore(run)
    if cfg.resume:
        processes.main(lambda: say(run_state.describe_resumption(run)))
    processes.main(lambda: folder.rewind(run.step))
    first = run.step + 1 if resumed else None
    loggers = open_loggers(cfg.logger if processes.is_main else None, folder.path, first)
    try:
        train(run, loggers)
    except BaseException as error:
        state = "failed" if isinstance(error, Exception) else "interrupted"
        with suppress(OSError):
            run_state.write_status(run, state)
        loggers.close(state)
        if isinstance(error, KeyboardInterrupt):
            run_state.print_resume_command(run)
        raise
    done = run.step == run.total
    run.warnings += loggers.close("finished" if done else "interrupted")
    run_state.finish(run)
    processes.close()
    if not done:
        raise KeyboardInterrupt
    return sweep_result.select(cfg.sweep_metric, read_rows(folder.metrics))


def print_header(cfg: DictConfig, folder: Path) -> None:
    """Print the team, environment and folder of the run, and a warning for unsuited weights."""
    hydra = HydraConfig.get()
    lines = header(cfg, hydra.runtime.choices, folder, hydra.overrides.task)
    for line in lines if cfg.resume else filter(None, [*lines, unseen(cfg)]):
        say(line)


def train(run: run_state.TrainingRun, loggers: Several) -> None:
    """Take all steps, or stop after a signal, and write a checkpoint.

    Raises:
        KeyboardInterrupt: a step did not end soon enough after a signal, and was cut off.
    """
    first, processes = run.step, run.processes
    run_state.write_status(run, "running")
    quiet = None if processes.is_main else Console(quiet=True, force_terminal=False)
    progress = Progress(
        run.total,
        "train",
        first_step=max(first, 0),
        console=quiet,
        doing=lambda: run.doing,
        left=run.limit.left,
        hidden=setup.hidden_metrics(run.environments[0], run.policies),
    )
    if run.engine.max_staleness:
        run.ahead = AsyncRollouts(partial(play_groups, run), run.engine.max_staleness, run.total)
    imitates, own = run.learner.collector.speaker != "train", OwnAccuracy()
    with run.engine, Interrupt() as interrupt, progress as display:
        run.engine.open(run.policies, run.folder.path, processes)
        if processes.count == 1:
            run.cuttable = interrupt.cuttable
        clock.restart()
        for warning in run.warnings:
            display.note(warning)
        if first < 0 and (words := forecast(run)):
            display.note(words)
        # All processes stop after the same step, whichever of them got the signal.
        while run.step < run.total and not processes.any(interrupt.is_set()):
            row = take_step(run, run.step + 1)
            own.observe(row, len(run.starts))
            if imitates and processes.main(partial(own.is_due, run.step + 1)):
                row |= own.measure(run)
            warnings = processes.main(partial(run_state.report_step, run, row, loggers))
            if run.step < 0:
                sweep_result.check(run.cfg.sweep_metric, row)
            run.step += 1
            for warning in [*warnings, *run_state.watch(run, row)]:
                run.warnings.append(warning)
                display.note(warning)
            if run.step == 0 and not imitates and (sentence := price_sentence_of(run, row)):
                display.note(sentence)
            if run.step == run.total < run.cfg.train.steps:
                display.total_steps = run.total
                display.note(run_state.reason_of_end(run))
            display.update(run.step, of_policy(row) if imitates else row)
            run_state.refuse_divergence(run, row)
            if run_state.is_checkpoint_due(run):
                run_state.save(run)
        if run.step > first and not run_state.is_checkpoint_due(run):
            run_state.save(run)


def price_sentence_of(run: run_state.TrainingRun, row: dict[str, float]) -> str:
    """Describe the cost and reward of an episode before training; empty if tokens are free."""
    prefix = "eval/"
    figures = {
        name.removeprefix(prefix): value for name, value in row.items() if name.startswith(prefix)
    }
    charging, schedule = charging_of(run.cfg), run.learner.price
    if isinstance(schedule, PassRate):
        # A learner of a user may have it without a setting.
        charging = replace(charging, power=schedule.power)
    return price_sentence(figures, charging, price_share(run, 1))


def take_step(run: run_state.TrainingRun, step: int) -> dict[str, float]:
    """Update the learner and evaluate if due; step 0 is the evaluation before training.

    An evaluation uses the environment's own price, whatever the learner charges at its step, so
    that rewards of all evaluations compare.
    """
    started = time.perf_counter()
    row: dict[str, float] = {} if step == 0 else update(run, step)
    run.limit.observe(row)
    if step > 0:
        run_state.obey_limit(run, step)
    every = run.cfg.train.evaluate_every
    if step in (0, run.total) or (every and step % every == 0):
        run.doing = "evaluation", time.monotonic()
        evaluation_started = time.perf_counter()
        sync(run)
        with run.cuttable():
            evaluation = EvaluationRun(
                run.cfg,
                run.evaluation,
                run.policies,
                under(run.learner.collector.graph, run.starts),
                run.folder,
                step=step,
                processes=run.processes,
                unshard=not run.engine.keeps_copies,
            )
            if step == 0 and run.limit.evaluation_seconds is not None:
                evaluation = play_within(evaluation, run.limit.evaluation_seconds)
                run.starts = evaluation.starts
            row |= evaluate(evaluation, run.cfg.evaluation.transcripts, run.after_evaluation)
        seconds = {"time/evaluation": time.perf_counter() - evaluation_started}
        run.limit.observe(seconds)
        row |= seconds
        if step == 0:
            run_state.obey_limit(run, step)
    row["time/step"] = time.perf_counter() - started
    return row


def update(run: run_state.TrainingRun, step: int) -> dict[str, float]:
    """Play groups, update the learner with them, and return the metrics of the step."""
    learner, engine = run.learner, run.engine
    run.doing = "rollout", time.monotonic()
    started = time.perf_counter()
    price, groups = collect(run, step)
    staleness: dict[str, float] = {}
    if engine.version is not None:
        groups, staleness = drop_stale_groups(groups, engine.version, engine.max_staleness)
    collected = time.perf_counter()
    run.doing = "update", time.monotonic()
    learned = learner.update(groups)
    run.processes.main(partial(log_group, run.folder, learner, groups, step))
    own = [group for group in groups if group.own]
    episodes = [episode for group in own for episode in group.episodes]
    played = summarize(episodes)
    learner.price.observe({**played, "pass_rate": pass_rate(episodes)})
    done = time.perf_counter()
    return {
        **prefixed({**played, **describe_replies(own)}, f"{learner.collector.speaker}/"),
        **prefixed(learned, "learner/"),
        **prefixed({**engine.metrics(), **staleness}, "engine/"),
        **({} if price is None else {"train/price": price}),
        "time/rollout": collected - started,
        "time/update": done - collected,
        **tokens_per_second(groups, collected - started, done - collected),
        "memory/peak_gigabytes": peak_gigabytes(),
    }


def collect(run: run_state.TrainingRun, step: int) -> tuple[float | None, list[Group]]:
    """Return the price of a step and its groups from all processes.

    A signal may cut this off. The run then saves a checkpoint of the step before.
    """
    collector = run.learner.collector
    before = collector.state_dict() if run.collector_has_state else {}
    try:
        sync(run)
        with run.cuttable():
            if run.ahead is None:
                return play_groups(run, step)
            run.ahead.begin(step)
            price, own = run.ahead.take(step)
        return price, run.processes.gather(own)
    except KeyboardInterrupt:
        # Several processes can only save together, and the others may be anywhere.
        if run.processes.count == 1:
            collector.load_state_dict(before)
            run_state.save(run)
        raise


def sync(run: run_state.TrainingRun) -> None:
    """Give the engine the present weights; first wait for rollouts that would mix two versions."""
    if run.ahead is not None and run.engine.sync_overwrites:
        run.ahead.settle()
    # The engine of this class samples with the trained weights themselves.
    if type(run.engine) is not Engine:
        run.engine.sync()


def price_share(run: run_state.TrainingRun, step: int) -> float:
    """Return the part of the environment's price that a step charges, from 1.

    Raises:
        SettingError: the schedule returns something other than a finite number of at least 0.
    """
    share: Any = run.learner.price.share(step - 1)
    if isinstance(share, Real) and 0 <= float(share) < math.inf:
        return float(share)
    raise SettingError(
        f"learner.price ({type(run.learner.price).__name__}) must return a finite number of at"
        f" least 0 as the share that step {step} charges; got {share!r}"
    )


def play_groups(run: run_state.TrainingRun, step: int) -> tuple[float | None, list[Group]]:
    """Play the groups of a step, charged at its price; ahead of time only those of this process.

    Returns:
        The price, None if tokens have none, and the groups.
    """
    settings, seed, environments = run.cfg.train, run.cfg.seed, run.environments
    if run.ahead is not None:
        # Each rollout under way has environments of its own.
        rollouts = run.engine.max_staleness + 1
        size = len(environments) // rollouts
        environments = environments[size * (step % rollouts) :][:size]
    share = price_share(run, step)
    price = None if run.price is None else share * run.price
    keys = setup.task_keys(environments[0])
    starts = setup.draw_starts(keys, settings.tasks_per_step, seed, step, share)
    play = partial(run.collect, environments, run.policies)
    members, step_seed = settings.group_size, setup.sampling_seed(seed, step, run.processes.rank)
    if run.processes.count == 1:
        return price, play(starts, members, seed=step_seed)
    if run.ahead is not None:
        return price, play(run.processes.local_shard(starts), members, seed=step_seed)
    return price, run.processes.map_sharded(
        starts, lambda own: play(own, members, seed=step_seed), unshard=not run.engine.keeps_copies
    )


if __name__ == "__main__":
    main()
