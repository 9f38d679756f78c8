"""State of a training run: save it, restore it, and write the results of a finished run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.resuming import command
from laconic.experiments.command_line.say import say
from laconic.experiments.report import print_run, write_report
from laconic.experiments.reporting.card import places, write_card
from laconic.experiments.reporting.look import LEFT_OUT, can_draw
from laconic.experiments.reporting.losses import new_losses
from laconic.experiments.reporting.runs import read_run
from laconic.experiments.run_folder.folder import TOPOLOGY, RunFolder, read_rows, write_atomically
from laconic.experiments.run_folder.foreign import without_controls
from laconic.experiments.session.evaluation import AfterEvaluation
from laconic.experiments.session.rules import Rules
from laconic.experiments.session.setup import Environments
from laconic.experiments.session.time_limit import TimeLimit, seconds_of
from laconic.experiments.tracking.loggers import Several
from laconic.learners import checkpoint
from laconic.learners.agents.policy import HFPolicy
from laconic.learners.algorithms.base import Learner
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes
from laconic.learners.engines.async_rollouts import AsyncRollouts
from laconic.learners.engines.base import Engine
from laconic.learners.episode import Graph, Group
from laconic.learners.errors import CheckpointError
from laconic.learners.interfaces import Policy
from laconic.learners.rollout.collectors.base import Independent, PlaysGroups
from laconic.learners.rollout.play import Start

SKIPPED = "learner/skipped_steps"
"""Metric that counts optimizer steps skipped because they were not finite."""
GUARD = "learner.collective.guard"
"""Config key of the guard that may end a run: `stop` or `warn`."""
LOST = 3
"""Number of updates in a row without a finite optimizer step that stops a run."""


@dataclass
class TrainingRun:
    """State of a training run, used by every step."""

    cfg: DictConfig
    """Composed configuration."""
    environments: Environments
    """Training environments, one per episode of a step."""
    evaluation: Environments
    """Evaluation environments."""
    starts: Sequence[Start]
    """Starts of an evaluation's episodes."""
    policies: Mapping[str, Policy]
    """Policy of each agent."""
    learner: Learner
    """Learner that is updated with the groups of each step."""
    rules: Rules
    """Rules that judge the metrics of every step."""
    folder: RunFolder
    """Run folder; only the main process writes to it."""
    processes: Processes = SINGLE_PROCESS
    """Processes that train together."""
    engine: Engine = field(default_factory=Engine)
    """Engine that samples the replies."""
    cuttable: Callable[[], AbstractContextManager[None]] = nullcontext
    """Context that a signal may cut off. Several processes end together after a step instead."""
    ahead: AsyncRollouts[tuple[float | None, list[Group]]] | None = None
    """Rollouts of coming steps, played during updates. None: no step is played ahead."""
    after_evaluation: Sequence[AfterEvaluation] = ()
    """Callables that run after every evaluation."""
    price: float | None = None
    """Price that the environment was made with; None if it has no price."""
    limit: TimeLimit = field(default_factory=TimeLimit)
    """Time limit of the run."""
    warnings: list[str] = field(default_factory=list)
    """Warnings so far, oldest first."""
    step: int = -1
    """Number of learner updates done; -1 before the first evaluation."""
    ended_by: str = ""
    """Config key of the guard that ends the run before its last step; empty for none."""
    lost: int = 0
    """Number of updates in a row without a finite optimizer step."""
    doing: tuple[str, float] = ("", 0.0)
    """Present part of a step, and the time when it began (`time.monotonic`, seconds)."""

    total: int = field(init=False)
    """Number of learner updates of the whole run; the time limit or a guard lowers it."""

    def __post_init__(self) -> None:
        """Look up once how the groups of a step are played."""
        self.total = int(self.cfg.train.steps)
        collector = self.learner.collector
        self.collect: PlaysGroups = (
            collector.play if isinstance(collector, Independent) else collector
        )
        self.collector_has_state = hasattr(self.collect, "state_dict")


def save(run: TrainingRun) -> None:
    """Write a checkpoint for `restore`; a learner without a state has none."""
    run.processes.main(run.folder.sync)
    if run.learner.resumable:
        checkpoint.save(run.folder.checkpoints, run.step, _state(run), processes=run.processes)
    run.processes.main(partial(write_status, run, "running"))


def _state(run: TrainingRun) -> dict[str, Any]:
    return {
        "step": run.step,
        "learner": run.learner.state_dict(),
        "rules": run.rules.state_dict(),
        "warnings": list(run.warnings),
        "ended_by": run.ended_by,
    }


def _want_of_space(run: TrainingRun) -> str | None:
    """Return a warning if coming checkpoints do not fit on the disk, after the first update.

    Only then does the optimizer have a state, so that the size of a checkpoint is known.
    """
    # Each process writes its own shards, so the size of one says nothing about all.
    if run.step != 1 or not run.learner.resumable or run.processes.sharded:
        return None
    coming = -(-run.total // run.cfg.train.checkpoint_every)
    return checkpoint.want_of_space(run.folder.checkpoints, _state(run), coming)


def restore(run: TrainingRun) -> None:
    """Restore the newest complete checkpoint.

    Raises:
        SettingError: the learner has no state, or the run is past its last step.
        CheckpointError: the checkpoint has another format, or no checkpoint is complete.
    """
    if not run.learner.resumable:
        raise SettingError(
            f"the run in {str(run.folder.path)!r} cannot be resumed: its learner"
            f" {run.learner.name} has no state_dict and load_state_dict; start a new one"
            " with hydra.run.dir=<folder>"
        )
    newest = run.processes.main(partial(_newest, run.folder.checkpoints))
    if newest is None:
        return
    state: dict[str, Any] = checkpoint.load(newest, run.processes)
    with checkpoint.restoring(newest):
        step = state["step"]
        if type(step) is not int or newest.name.partition(".")[0] != f"step_{step:08d}":
            raise ValueError(f"it says that it is of step {step!r}")
        if step > run.total:
            raise SettingError(
                f"train.steps must be at least the {step} steps that the run in"
                f" {str(run.folder.path)!r} has done; got {run.total}"
            )
        run.learner.load_state_dict(state["learner"])
        run.rules.load_state_dict(state["rules"])
        run.warnings = [str(without_controls(warning)) for warning in state["warnings"]]
        run.step = step
        # A checkpoint written before there was a guard has no such entry.
        run.ended_by = GUARD if state.get("ended_by") and _guard_stops(run) else ""
    _restore_limits(run)


def is_checkpoint_due(run: TrainingRun) -> bool:
    """Return whether the present step ends with a checkpoint.

    The first update has one as well. Without it, a run that is killed before `checkpoint_every`
    begins again, and a disk that takes no checkpoint is noticed only then. A rule by the minute
    would save small runs this file, but processes would have to agree on a clock, and where
    checkpoints are large, an update takes longer than a minute anyway.
    """
    return run.step == 1 or (run.step > 0 and run.step % run.cfg.train.checkpoint_every == 0)


def describe_resumption(run: TrainingRun) -> str:
    """Return in words where a resumed run goes on, before the rows after it are dropped."""
    if run.step < 0:
        return "resume=true: there is no checkpoint yet, so the run begins at its start"
    last = max((row["step"] for row in read_rows(run.folder.metrics)), default=run.step)
    again = f"; {last - run.step} later updates are made again" if last > run.step else ""
    return f"continues after update {run.step} of {run.total}{again}"


def _restore_limits(run: TrainingRun) -> None:
    """Restore the durations that the time limit counts, the tasks of evaluations, and the end."""
    folder = run.folder
    rows = run.processes.main(partial(read_rows, folder.metrics))
    evaluations = run.processes.main(partial(read_rows, folder.evaluations))
    rows = [row for row in rows if row["step"] <= run.step]
    # The first evaluation may have played fewer tasks than configured, for lack of time.
    run.starts = run.starts[: min((row["episodes"] for row in evaluations), default=None)]
    run.limit.spent = seconds_of(rows)
    for row in rows:
        run.limit.observe(row)
    # Without an evaluation of the last step, one more update precedes the last evaluation.
    if rows and "time/evaluation" in rows[-1]:
        obey_limit(run, run.step)
    if run.ended_by and rows:
        _end_early(run, rows[-1])


def obey_limit(run: TrainingRun, step: int) -> None:
    """Make a step the last one if the time limit leaves no time for another update."""
    every = run.cfg.train.evaluate_every
    evaluations = 2 if step and every and step % every == 0 else 1
    if run.limit.minutes is not None and run.processes.any(run.limit.is_up(evaluations)):
        run.total = min(run.total, step)


def _newest(folder: Path) -> Path | None:
    """Return the newest complete checkpoint; None if none was written yet.

    Raises:
        CheckpointError: there are checkpoints, but none is complete. Starting again would drop all
            rows.
    """
    newest = checkpoint.latest(folder)
    if newest is None and any(folder.glob("step_*")):
        raise CheckpointError(
            f"no checkpoint in {str(folder)!r} is whole, so the run cannot continue, and nothing"
            " was changed; restore one, or start a new run with hydra.run.dir=<folder>"
        )
    return newest


def watch(run: TrainingRun, row: Mapping[str, float]) -> list[str]:
    """Return the warnings after a step: of the rules, of an evaluation, and about a full disk."""
    space = _want_of_space(run)
    warnings = run.rules.observe(run.step, row)
    if run.step > 0 and "time/evaluation" in row:
        warnings += run.processes.main(lambda: new_losses(read_run(run.folder.path)))
    if "consensus" in run.rules.holding() and _guard_stops(run):
        run.ended_by = GUARD
        _end_early(run, row)
    return [*([space] if space else []), *warnings]


def _guard_stops(run: TrainingRun) -> bool:
    return bool(OmegaConf.select(run.cfg, GUARD) == "stop")


def _end_early(run: TrainingRun, row: Mapping[str, float]) -> None:
    """Make the present step the last one; if its row has no evaluation, the one after it."""
    run.total = min(run.total, run.step + ("time/evaluation" not in row))


def reason_of_end(run: TrainingRun) -> str:
    """Return in words why the run ended before its last step."""
    if not run.ended_by:
        return f"train.minutes={run.limit.minutes:g} is up after {run.step} updates"
    return (
        f"{GUARD}=stop ended the run after {run.step} updates, because the policies agree without"
        f" content; {GUARD}=warn with resume={run.folder.path} continues it"
    )


def refuse_divergence(run: TrainingRun, row: Mapping[str, float]) -> None:
    """Stop a run whose weights no longer change, because no loss or gradient is finite.

    A learner that does not report `learner/steps` may have changed its weights and continues.

    Raises:
        SettingError: each of the last `LOST` updates, or the last update of the run, skipped all
            its optimizer steps.
    """
    no_step = row.get("learner/steps") == 0
    run.lost = run.lost + 1 if row.get(SKIPPED, 0.0) and no_step else 0
    if run.lost >= LOST or (run.lost and run.step == run.total):
        rate = OmegaConf.select(run.cfg, "optimizer.lr")
        raise SettingError(
            f"training diverged: at step {run.step} no optimizer step of the last"
            f" {run.lost} updates had a finite loss and gradient, so the weights no longer change;"
            f" start again with a lower optimizer.lr (it is {rate})"
        )


def report_step(run: TrainingRun, row: Mapping[str, float], loggers: Several) -> list[str]:
    """Write one step to the run folder and the loggers; return the loggers' warnings."""
    step = run.step + 1
    run.folder.append_metrics({"step": step, **row})
    return loggers.log(step, row)


def write_status(run: TrainingRun, state: str) -> None:
    """Replace `status.json`, from the main process only."""
    if run.processes.is_main:
        early = state == "finished" and run.step < run.cfg.train.steps
        ended_by = (run.ended_by or "train.minutes") if early else ""
        # Before the first evaluation, as after it, no update is done.
        step = max(run.step, 0)
        run.folder.write_status(state, step, run.warnings, run.processes.count, ended_by)


def finish(run: TrainingRun) -> None:
    """Save the policies, the status, the report and the model card."""
    done = run.step == run.total
    save_policies(run.policies, run.folder.path / "policy", run.processes)

    def write() -> None:
        write_status(run, "finished" if done else "interrupted")
        if graph := run.learner.collector.graph:
            override = topology_override(graph)
            write_atomically(run.folder.path / TOPOLOGY, f"{override}\n")
            say(f"learned topology: {override}")
        record = read_run(run.folder.path)
        print_run(record, Console())
        if run.cfg.get("report", True):
            say(f"report: {write_report(run.folder.path)}")
            if not can_draw():
                say(f"pictures: {LEFT_OUT}")
        try:
            write_card(record, run.policies)
        except Exception as error:  # The weights are saved, so unusual settings must not fail here.
            say(f"there is no model card: {type(error).__name__}: {error}")
        if not done:
            print_resume_command(run)

    run.processes.main(write)


def topology_override(graph: Graph) -> str:
    """Return the override that sets a graph as the topology of an environment."""
    rounds = (
        ",".join(f"{listener}:[{','.join(speakers)}]" for listener, speakers in hears.items())
        for hears in graph
    )
    return f"env.topology=[{','.join(f'{{{links}}}' for links in rounds)}]"


def print_resume_command(run: TrainingRun) -> None:
    """Print the command that resumes a run, if it can be resumed."""
    if run.learner.resumable and run.processes.is_main:
        say(f"resume with: {command('train', run.folder.path, HydraConfig.get().overrides.task)}")


def save_policies(
    policies: Mapping[str, Policy], folder: Path, processes: Processes = SINGLE_PROCESS
) -> None:
    """Write the trained weights so that `agent.model=<folder>` and stock libraries load them.

    A single policy is saved in the folder itself. Each of several policies has a folder named after
    the first of its agents (`learners.agents.folders.folder_name`). Frozen policies are not saved.
    """
    owners = {place: policies[agent] for agent, place in places(policies).items()}
    for name, policy in owners.items():
        place = folder / name
        if not hasattr(policy, "save") or getattr(policy, "frozen", False):
            continue
        if processes.sharded and isinstance(policy, HFPolicy):
            weights = processes.full_state(policy.model.state_dict(keep_vars=True))
            processes.main(partial(policy.save, place, weights))
        else:
            processes.main(partial(policy.save, place))
