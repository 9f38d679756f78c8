"""Train a team on groups of episodes.

    laconic train env=gsm8k agent=tiny learner=gspo optimizer=adamw seed=1

The whole loop is on this page: starts -> groups -> update -> metrics. What listens to it is in
`experiments.callbacks`. All random numbers depend on the seed and the step alone, so a resumed run
continues bit for bit without saved generators. Several processes (`accelerate launch`,
docs/scaling.md) all run this loop: each plays its share of the starts and receives the groups of
all; the main one writes. The loop knows no benchmark.
"""

from __future__ import annotations

import time
from functools import partial

from omegaconf import DictConfig

from laconic.experiments.callbacks.chosen import callbacks_of_users, own_callbacks
from laconic.experiments.command_line import clock
from laconic.experiments.command_line.cli import program
from laconic.experiments.command_line.interrupt import Interrupt
from laconic.experiments.run_folder.folder import read_rows
from laconic.experiments.session import run_state, setup, sweep_result
from laconic.experiments.session.checks import check_train
from laconic.experiments.session.costs import peak_gigabytes, tokens_per_second
from laconic.experiments.session.evaluation import evaluate_training
from laconic.experiments.session.preparation import prepare
from laconic.experiments.session.training_run import Row, TrainingRun
from laconic.learners.advantages.credit import pass_rate
from laconic.learners.distributed.launched import launched
from laconic.learners.engines.async_rollouts import AsyncRollouts, drop_stale_groups
from laconic.learners.engines.base import Engine
from laconic.learners.episode import Group
from laconic.learners.metrics import describe_replies, prefixed, summarize
from laconic.learners.prices.schedule import checked_share


@program("train", several=True)
def main(cfg: DictConfig) -> float | list[float]:
    """Train the configured team with the configured learner.

    Returns:
        The metrics of the last evaluation that `sweep_metric` names, for a sweeper.
    """
    processes = launched()
    processes.main(lambda: check_train(cfg, processes.count))
    run = prepare(cfg, processes)
    run.callbacks = own_callbacks(run)
    restored = run_state.restore(run)
    try:
        run.callbacks |= callbacks_of_users(run)
        run_state.resume(run, restored)
        train(run)
    except BaseException as error:
        run_state.fail(run, error)
        raise
    run_state.finish(run)
    processes.close()
    if run.state == "interrupted":
        raise KeyboardInterrupt
    return sweep_result.select(cfg.sweep_metric, read_rows(run.folder.metrics))


def train(run: TrainingRun) -> None:
    """Take all steps, or stop after a signal, and write checkpoints.

    Raises:
        KeyboardInterrupt: a step did not end soon enough after a signal, and was cut off.
    """
    first, engine, processes = run.step, run.engine, run.processes
    run_state.write_status(run)
    if engine.max_staleness:
        run.ahead = AsyncRollouts(partial(play_groups, run), engine.max_staleness, run.total)
    with engine, Interrupt() as interrupt, run.during:
        engine.open(run.policies, run.folder.path, processes)
        if processes.count == 1:
            run.cuttable = interrupt.cuttable
        clock.restart()
        run.call("on_start")
        # All processes stop after the same step, whichever of them got the signal.
        while run.step < run.total and not processes.any(interrupt.is_set()):
            row = take_step(run)
            run_state.write_row(run, row)
            run.call("on_log", row)
            if run_state.is_checkpoint_due(run):
                run_state.save(run)
        if run.step > first and not run_state.is_checkpoint_due(run):
            run_state.save(run)


def take_step(run: TrainingRun) -> Row:
    """Update the learner and evaluate if due; the first step is the evaluation before training."""
    started = time.perf_counter()
    run.groups = ()
    row: Row = {} if run.step < 0 else update(run, run.step + 1)
    run.step, run.can_evaluate = run.step + 1, True
    if run.step > 0:
        run.call("on_step", row)
    every = run.cfg.train.evaluate_every
    if run.step in (0, run.total) or (every and run.step % every == 0):
        run.phase = "evaluation", time.monotonic()
        began = time.perf_counter()
        sync(run)
        with run.cuttable():
            row |= evaluate_training(run)
        row["time/evaluation"] = time.perf_counter() - began
        run.call("on_evaluation", row)
    run.can_evaluate = "time/evaluation" in row
    row["time/step"] = time.perf_counter() - started
    return row


def update(run: TrainingRun, step: int) -> Row:
    """Play groups, update the learner with them, and return the metrics of the step."""
    learner, engine = run.learner, run.engine
    run.phase = "rollout", time.monotonic()
    started = time.perf_counter()
    price, groups = collect(run, step)
    staleness: dict[str, float] = {}
    if engine.version is not None:
        groups, staleness = drop_stale_groups(groups, engine.version, engine.max_staleness)
    collected = time.perf_counter()
    run.phase = "update", time.monotonic()
    learned, run.groups = learner.update(groups), groups
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


def collect(run: TrainingRun, step: int) -> tuple[float | None, list[Group]]:
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


def sync(run: TrainingRun) -> None:
    """Give the engine the present weights; first wait for rollouts that would mix two versions."""
    if run.ahead is not None and run.engine.sync_overwrites:
        run.ahead.settle()
    # The engine of this class samples with the trained weights themselves.
    if type(run.engine) is not Engine:
        run.engine.sync()


def play_groups(run: TrainingRun, step: int) -> tuple[float | None, list[Group]]:
    """Return the price of a step, if tokens have one, and its groups; ahead, those played here."""
    settings, environments, processes = run.cfg.train, run.environments, run.processes
    if run.ahead is not None:
        # Each rollout under way has environments of its own.
        rollouts = run.engine.max_staleness + 1
        environments = environments[step % rollouts :: rollouts]
    share, keys = checked_share(run.learner.price, step), setup.task_keys(environments[0])
    starts = setup.draw_starts(keys, settings.tasks_per_step, run.cfg.seed, step, share)
    seed = setup.sampling_seed(run.cfg.seed, step, processes.rank)
    play, size = partial(run.collect, environments, run.policies), settings.group_size
    if processes.count == 1:
        groups = play(starts, size, seed=seed)
    elif run.ahead is not None:
        groups = play(processes.local_shard(starts), size, seed=seed)
    else:
        groups = processes.map_sharded(
            starts, lambda own: play(own, size, seed=seed), unshard=not run.engine.keeps_copies
        )
    return None if run.price is None else share * run.price, groups


if __name__ == "__main__":
    main()
