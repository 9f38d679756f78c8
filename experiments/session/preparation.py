"""Build a training run from a composed configuration, and refuse settings that cannot train."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.echo import echo
from laconic.experiments.command_line.targets import part_names
from laconic.experiments.run_folder.folder import RunFolder
from laconic.experiments.session import setup
from laconic.experiments.session.evaluation import evaluation_starts, make_hooks
from laconic.experiments.session.header import header, print_start, untrained_warning
from laconic.experiments.session.splits import leave_out_shared
from laconic.experiments.session.stakes import measure
from laconic.experiments.session.training_layouts import make_training
from laconic.experiments.session.training_run import TrainingRun
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes
from laconic.learners.prices.schedule import Fixed, PassRate
from laconic.learners.rollout.collectors.base import Independent
from laconic.learners.rollout.play import collect


def common_folder(own: str, processes: Processes) -> str:
    """Return the run folder of the main process; folder names with time stamps may differ."""
    folder = processes.first(own)
    if own != folder:
        with suppress(OSError):
            # The empty folder that Hydra made for this process.
            Path(own).rmdir()
    return folder


def prepare(cfg: DictConfig, processes: Processes = SINGLE_PROCESS) -> TrainingRun:
    """Begin or continue the run folder, say what is trained, and build the run."""
    setup.set_up_process(cfg.threads)
    team = setup.make_team(cfg)
    setup.refuse_scripts(team)
    folder = RunFolder(common_folder(HydraConfig.get().runtime.output_dir, processes))
    resumed = processes.main(lambda: _begin(cfg, folder))
    run = build(cfg, folder, team, processes)
    run.resumed = resumed
    processes.main(lambda: print_start(team, run.environments[0]))
    return run


def _begin(cfg: DictConfig, folder: RunFolder) -> bool:
    """Write the configuration and print the header; return whether the folder holds rows."""
    hydra = HydraConfig.get()
    choices, overrides = hydra.runtime.choices, hydra.overrides.task
    # A run without a row has nothing to resume.
    resume = cfg.resume and folder.metrics.exists()
    resumed = folder.start(cfg, resume, names=part_names(cfg, choices, overrides))
    lines = header(cfg, choices, folder.path, overrides)
    for line in lines if cfg.resume else filter(None, [*lines, untrained_warning(cfg)]):
        echo(line)
    return resumed


def build(
    cfg: DictConfig, folder: RunFolder, team: Any, processes: Processes = SINGLE_PROCESS
) -> TrainingRun:
    """Build environments, policies and learner."""
    engine = setup.make_engine(cfg)
    tasks = -(-cfg.train.tasks_per_step // processes.count)
    environments = make_training(cfg, tasks * cfg.train.group_size, team)
    evaluation = setup.make_evaluation(cfg, "evaluation", team)
    warnings = leave_out_shared(environments, evaluation)
    # Draw once to refuse a source with too few tasks before the first evaluation.
    setup.draw_starts(setup.task_keys(environments[0]), cfg.train.tasks_per_step, cfg.seed, 1)
    policies = team.policies(environments[0])
    learner = setup.make_learner(cfg, policies, processes)
    # A collector may draw more episodes of a group; all of a step are played in one pass.
    members = learner.collector.members(cfg.train.group_size)
    if tasks * members > len(environments):
        more = tasks * members - len(environments)
        environments += make_training(cfg, more, team)
    if engine.max_staleness:
        # Each rollout under way has environments of its own.
        more = engine.max_staleness * len(environments)
        environments += make_training(cfg, more, team)
    setup.show_scripts(policies, evaluation[0])
    run = TrainingRun(
        cfg=cfg,
        environments=environments,
        evaluation=evaluation,
        starts=evaluation_starts(evaluation, cfg.evaluation.tasks),
        policies=policies,
        learner=learner,
        folder=folder,
        processes=processes,
        engine=engine,
        after_evaluation=[measure, *make_hooks(cfg.evaluation.get("after"))],
        price=setup.price_of(environments[0]),
    )
    run.warnings += warnings
    check_price(run)
    run.learner.check(cfg.train.group_size)
    check_ahead(run)
    if not run.learner.resumable:
        run.warnings.append(
            f"{run.learner.name} has no state_dict and load_state_dict: the run writes no"
            " checkpoints and cannot be resumed"
        )
    return run


def check_ahead(run: TrainingRun) -> None:
    """Refuse to play ahead with a collector that depends on the previous step.

    Raises:
        SettingError: the collector is not the independent one.
    """
    collector = run.learner.collector
    plain = isinstance(collector, Independent) and collector.play is collect
    if run.engine.max_staleness and not plain:
        raise SettingError(
            f"engine.max_staleness={run.engine.max_staleness} plays groups while an update runs,"
            f" but learner.collect ({collector.kind}) plays episodes again, plays further ones or"
            " remembers them; set"
            " engine.max_staleness=0, or choose a learner that plays independent episodes"
        )


def check_price(run: TrainingRun) -> None:
    """Refuse a price that aims at something in an environment whose words are free.

    A part of no price is none, so the default suits every environment.

    Raises:
        SettingError: the learner has such a price, and the environment has none or 0.
    """
    schedule = run.learner.price
    if run.price or isinstance(schedule, Fixed | PassRate):
        return
    if run.price == 0:
        raise SettingError(
            f"learner.price ({type(schedule).__name__}) moves in parts of the environment's price,"
            " so env.reward.price must be above 0; got 0"
        )
    kind = type(run.environments[0]).__name__
    raise SettingError(
        f"learner.price ({type(schedule).__name__}) sets the price of an environment's reward,"
        f" but {kind} has none: give it `reward`, a frozen dataclass with `price`"
        " (docs/own_environment.md), or choose learner/price=fixed"
    )
