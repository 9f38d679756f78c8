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
from contextlib import suppress
from functools import partial
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from rich.console import Console

from laconic.experiments.command_line.cli import program
from laconic.experiments.command_line.say import say
from laconic.experiments.running import run_state, setup
from laconic.experiments.running.checks import check_train
from laconic.experiments.running.costs import peak_gigabytes, tokens_per_second
from laconic.experiments.running.demand import follow
from laconic.experiments.running.evaluation import evaluate
from laconic.experiments.running.group_log import log_group
from laconic.experiments.running.header import header, unseen
from laconic.experiments.running.interrupt import Interrupt
from laconic.experiments.running.limits import tell_start
from laconic.experiments.running.own_accuracy import OwnAccuracy, of_policy
from laconic.experiments.running.preparation import common_folder, context_of, prepare
from laconic.experiments.running.progress import Progress
from laconic.experiments.running.rules import price_sentence
from laconic.experiments.running.run_folder import RunFolder, read_rows
from laconic.experiments.running.sweep_result import check as check_objective
from laconic.experiments.running.sweep_result import objective
from laconic.experiments.tracking.loggers import Several, open_loggers
from laconic.learners.advantages.credit import pass_rate
from laconic.learners.distributed.launched import launched
from laconic.learners.engines.async_rollouts import AsyncRollouts, drop_stale_groups
from laconic.learners.episode import Group
from laconic.learners.metrics import describe_replies, prefixed, summarize


@program("train", several=True)
def main(cfg: DictConfig) -> float | list[float]:
    """Train as the configuration says.

    Returns:
        The figures of the last evaluation that `objective` names, for a sweeper.
    """
    processes = launched()
    processes.main(lambda: check_train(cfg, processes.count))
    setup.set_up_process(cfg.threads)
    team = setup.make_team(cfg)
    setup.refuse_scripts(team)
    folder = RunFolder(common_folder(HydraConfig.get().runtime.output_dir, processes))
    # Before its first row a run has nothing to go on with, and nothing that new settings could mix.
    resumed = processes.main(lambda: folder.start(cfg, cfg.resume and folder.metrics.exists()))
    processes.main(lambda: tell(cfg, folder.path))
    run = prepare(cfg, folder, team, processes)
    processes.main(lambda: tell_start(team, run.environments[0]))
    if resumed:
        run_state.restore(run)
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
            run_state.tell_how_to_go_on(run)
        raise
    done = run.step == run.total
    run.warnings += loggers.close("finished" if done else "interrupted")
    run_state.finish(run)
    processes.close()
    if not done:
        raise KeyboardInterrupt
    return objective(cfg.objective, read_rows(folder.metrics))


def tell(cfg: DictConfig, folder: Path) -> None:
    """Print what is trained on what, and whether its weights know that world."""
    lines = header(cfg, HydraConfig.get().runtime.choices, folder)
    for line in lines if cfg.resume else filter(None, [*lines, unseen(cfg)]):
        say(line)


def train(run: run_state.TrainingRun, loggers: Several) -> None:
    """Step until the end or until somebody interrupts, then write a checkpoint.

    Raises:
        KeyboardInterrupt: a step did not end soon enough after a signal, and was cut off.
    """
    every = run.cfg.train.checkpoint_every
    first, processes = run.step, run.processes
    run_state.write_status(run, "running")
    quiet = None if processes.is_main else Console(quiet=True, force_terminal=False)
    progress = Progress(
        run.total, "train", first_step=max(first, 0), console=quiet, doing=lambda: run.doing
    )
    if run.engine.max_staleness:
        run.ahead = AsyncRollouts(partial(play_own, run), run.engine.max_staleness, run.total)
    imitates, own = run.learner.collector.speaker != "train", OwnAccuracy()
    with run.engine, Interrupt() as interrupt, progress as shown:
        run.engine.open(run.policies, run.folder.path, processes)
        run.interrupt = interrupt
        for warning in run.warnings:
            shown.note(warning)
        # All stop after the same step, whichever of them was asked to.
        while run.step < run.total and not processes.any(interrupt.is_set()):
            row = play_step(run, run.step + 1)
            own.observe(row, len(run.starts))
            if imitates and processes.main(partial(own.is_due, run.step + 1)):
                row |= own.measure(run)
            warnings = processes.main(partial(run_state.report_step, run, row, loggers))
            if run.step < 0:
                check_objective(run.cfg.objective, row)
            run.step += 1
            for warning in [*warnings, *run_state.watch(run, row)]:
                run.warnings.append(warning)
                shown.note(warning)
            if run.step == 0 and (sentence := price_sentence_of(run, row)):
                shown.note(sentence)
            shown.update(run.step, of_policy(row) if imitates else row)
            run_state.refuse_divergence(run, row)
            if run.step and run.step % every == 0:
                run_state.save(run)
        if run.step > first and (run.step % every or run.step == 0):
            run_state.save(run)


def price_sentence_of(run: run_state.TrainingRun, row: dict[str, float]) -> str:
    """Say what an episode costs and earns before training; empty where tokens are free."""
    prefix = "eval/"
    figures = {
        name.removeprefix(prefix): value for name, value in row.items() if name.startswith(prefix)
    }
    most = float((run.evaluation[0].metadata or {}).get("max_reward", 1.0))
    return price_sentence(figures, context_of(run.cfg), most)


def play_step(run: run_state.TrainingRun, step: int) -> dict[str, float]:
    """One step: the evaluation before training as step 0, a learner update as any other.

    An evaluation is at the price of the step.
    """
    started = time.perf_counter()
    row: dict[str, float] = {} if step == 0 else update(run, step)
    every = run.cfg.train.evaluate_every
    if step in (0, run.total) or (every and step % every == 0):
        run.doing = "evaluation", time.monotonic()
        begun = time.perf_counter()
        kept = run.cfg.evaluation.transcripts
        # Before training a token costs what it does in the first step.
        if run.price is not None:
            first = run.learner.price.at(0, run.price) if step == 0 else 0.0
            setup.set_price(run.evaluation, row.get("train/price", first))
        sync(run)
        with run.cuttable():
            row |= evaluate(
                run.evaluation,
                run.policies,
                run.starts,
                run.folder,
                step=step,
                transcripts=kept,
                processes=run.processes,
                unshard=not run.engine.keeps_copies,
            )
        if run.cfg.evaluation.demand:
            row |= follow(run, step)
        row["time/evaluation"] = time.perf_counter() - begun
    row["time/step"] = time.perf_counter() - started
    return row


def update(run: run_state.TrainingRun, step: int) -> dict[str, float]:
    """Starts -> groups -> update -> metrics, of all processes together."""
    learner = run.learner
    run.doing = "rollout", time.monotonic()
    begun = time.perf_counter()
    price, played_groups = collect(run, step)
    groups, aged = drop_stale_groups(played_groups, run.engine.version, run.engine.max_staleness)
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
        **prefixed({**run.engine.metrics(), **aged}, "engine/"),
        **({} if price is None else {"train/price": price}),
        "time/rollout": collected - begun,
        "time/update": done - collected,
        **tokens_per_second(groups, collected - begun, done - collected),
        "memory/peak_gigabytes": peak_gigabytes(),
    }


def collect(run: run_state.TrainingRun, step: int) -> tuple[float | None, list[Group]]:
    """Starts -> groups, of all processes together, and the price at which they were played.

    A signal that comes meanwhile may cut this off. The run is then where the step before has left
    it, and that is saved.
    """
    collector = run.learner.collector
    before = collector.state_dict()
    try:
        sync(run)
        with run.cuttable():
            if run.ahead is None:
                return play_own(run, step)
            run.ahead.begin(step)
            price, own = run.ahead.take(step)
        return price, run.processes.gather(own)
    except KeyboardInterrupt:
        # Several processes could only save together, and the others may be anywhere.
        if run.processes.count == 1:
            collector.load_state_dict(before)
            run_state.save(run)
        raise


def sync(run: run_state.TrainingRun) -> None:
    """Let the present weights play; a whole model waits for those who play with the one before."""
    if run.engine.sync_overwrites and run.ahead is not None:
        run.ahead.settle()
    run.engine.sync()


def play_own(run: run_state.TrainingRun, step: int) -> tuple[float | None, list[Group]]:
    """Play the groups of a step; those of all processes, unless they are played ahead."""
    train, seed, environments = run.cfg.train, run.cfg.seed, run.environments
    if run.ahead is not None:
        plays = run.engine.max_staleness + 1
        size = len(environments) // plays
        environments = environments[size * (step % plays) :][:size]
    price = None if run.price is None else run.learner.price.at(step - 1, run.price)
    if price is not None:
        setup.set_price(environments, price)
    starts = setup.draw_starts(setup.task_keys(environments[0]), train.tasks_per_step, seed, step)
    drawn = setup.sampling_seed(seed, step, run.processes.rank)
    play = partial(run.learner.collector, environments, run.policies)
    if run.ahead is not None:
        return price, play(run.processes.local_shard(starts), train.group_size, seed=drawn)
    return price, run.processes.map_sharded(
        starts,
        lambda own: play(own, train.group_size, seed=drawn),
        unshard=not run.engine.keeps_copies,
    )


if __name__ == "__main__":
    main()
