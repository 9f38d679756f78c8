"""State of a training run: save it, restore it, and end it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf

from laconic.envs.errors import SettingError
from laconic.experiments.command_line import clock
from laconic.experiments.command_line.echo import echo
from laconic.experiments.command_line.resuming import command
from laconic.experiments.run_folder.folder import read_rows
from laconic.experiments.run_folder.foreign import without_controls
from laconic.experiments.session import sweep_result
from laconic.experiments.session.training_run import USERS, Row, TrainingRun
from laconic.learners import checkpoint
from laconic.learners.agents.folders import places
from laconic.learners.agents.policy import HFPolicy
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes
from laconic.learners.errors import CheckpointError
from laconic.learners.interfaces import Policy

FORMER = {"warnings": "rules"}
"""Names of callbacks -> the entries of checkpoints from before there were callbacks."""

Restored = tuple[dict[str, dict[str, Any]], list[Row]] | None
"""States of callbacks, by name, and the rows up to a checkpoint; None for a run that begins."""


def save(run: TrainingRun) -> None:
    """Write a checkpoint for `restore`; a learner without a state has none."""
    run.processes.main(run.folder.sync)
    if run.learner.resumable:
        checkpoint.save(run.folder.checkpoints, run.step, state_of(run), processes=run.processes)
    run.processes.main(partial(write_status, run))


def state_of(run: TrainingRun) -> dict[str, Any]:
    """Return the state that a checkpoint keeps."""
    states = dict[str, dict[str, Any]]()
    for name, callback in run.callbacks.items():
        with run.calling(name, "state_dict"):
            states[name] = dict(callback.state_dict())
    return {
        "step": run.step,
        "learner": run.learner.state_dict(),
        "callbacks": {name: state for name, state in states.items() if state},
        "warnings": list(run.warnings),
        "ended_by": run.ended_by,
        "end": run.end,
    }


def resume(run: TrainingRun, restored: Restored) -> None:
    """Let callbacks of users continue, and drop the rows after the checkpoint; a new run begins."""
    if restored is not None:
        states, rows = restored
        for name, callback in run.callbacks.items():
            if name.startswith(USERS):
                with run.calling(name, "on_resume"):
                    callback.on_resume(run, states.get(name, {}), rows)
        run.agree()
    if run.cfg.resume:
        run.processes.main(lambda: echo(describe_resumption(run)))
    run.processes.main(lambda: run.folder.rewind(run.step))


def restore(run: TrainingRun) -> Restored:
    """Restore the newest complete checkpoint; what users add goes on in `resume`.

    It comes before their code, and refuses without a trace: the run folder keeps its status.

    Returns:
        The states of callbacks and the rows up to it; None if there is nothing to restore.

    Raises:
        SettingError: the learner has no state, or the run is past its last step.
        CheckpointError: the checkpoint has another format, or no checkpoint is complete.
    """
    # Building the run is not part of its time.
    clock.restart()
    if not run.resumed:
        return None
    if not run.learner.resumable:
        raise SettingError(
            f"the run in {str(run.folder.path)!r} cannot be resumed: its learner"
            f" {run.learner.name} has no state_dict and load_state_dict; start a new one"
            " with hydra.run.dir=<folder>"
        )
    newest = run.processes.main(partial(_newest, run.folder.checkpoints))
    if newest is None:
        return None
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
        run.warnings = [str(without_controls(warning)) for warning in state["warnings"]]
        run.step = run.written = step
    return _restore_callbacks(run, state, newest)


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


def _restore_callbacks(run: TrainingRun, state: Mapping[str, Any], newest: Path) -> Restored:
    """Restore the tasks of evaluations, an end that still holds, and the callbacks made so far."""
    folder = run.folder
    rows = run.processes.main(partial(read_rows, folder.metrics))
    evaluations = run.processes.main(partial(read_rows, folder.evaluations))
    rows = [row for row in rows if row["step"] <= run.step]
    # The first evaluation may have played fewer tasks than configured, for lack of time.
    run.starts = run.starts[: min((row["episodes"] for row in evaluations), default=None)]
    # Without an evaluation of the last step, one more update precedes the last evaluation.
    run.can_evaluate = not rows or "time/evaluation" in rows[-1]
    # A time limit measures again. A guard and a callback of the user have decided for good:
    # `warn`, or a command without the callback, continues the run.
    by = str(state.get("ended_by") or "")
    of_users = {f"{USERS}{name}" for name in run.cfg.get("callbacks") or {}}
    if by in of_users or guard_stops(run, by):
        run.stop(str(without_controls(state.get("end") or f"{by} ended the run")), by)
    with checkpoint.restoring(newest):
        former = {name: state[old] for name, old in FORMER.items() if old in state}
        kept = {**former, **state.get("callbacks", {})}
        states = {name: dict(each) for name, each in kept.items()}
        for name, callback in run.callbacks.items():
            callback.on_resume(run, states.get(name, {}), rows)
    return states, rows


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


def guard_stops(run: TrainingRun, setting: str) -> bool:
    """Return whether the guard of a setting ends the run, and does not only warn."""
    return bool(OmegaConf.select(run.cfg, setting) == "stop")


def write_row(run: TrainingRun, row: Row) -> None:
    """Write the row of a step; the first one has the metrics that a sweep asks for.

    Raises:
        UnknownNameError: it lacks one.
    """
    run.processes.main(partial(run.folder.append_metrics, {"step": run.step, **row}))
    run.written = run.step
    if run.step == 0:
        sweep_result.check(run.cfg.sweep_metric, row)


def write_status(run: TrainingRun) -> None:
    """Replace `status.json`, from the main process only."""
    if run.processes.is_main:
        early = run.state == "finished" and run.step < run.cfg.train.steps
        # Before the first evaluation, as after it, no update is done. An update whose evaluation
        # was cut off is made again.
        step = max(run.written, 0)
        ended_by = run.ended_by if early else ""
        run.folder.write_status(run.state, step, run.warnings, run.processes.count, ended_by)


def finish(run: TrainingRun) -> None:
    """Save the policies of a run whose loop has ended in order, and end its callbacks."""
    run.state = "finished" if run.step == run.total else "interrupted"
    save_policies(run.policies, run.folder.path / "policy", run.processes)
    _close(run)
    if run.state == "interrupted":
        print_resume_command(run)


def fail(run: TrainingRun, error: BaseException) -> None:
    """Record what cut a run off, and end its callbacks."""
    run.error = error
    run.state = "failed" if isinstance(error, Exception) else "interrupted"
    with suppress(OSError):
        write_status(run)
    _close(run)
    if isinstance(error, KeyboardInterrupt):
        print_resume_command(run)


def _close(run: TrainingRun) -> None:
    """End the callbacks, and add to the status what they warn of: they find it written."""
    before = len(run.warnings)
    try:
        run.close()
    finally:
        if len(run.warnings) > before:
            with suppress(OSError):
                write_status(run)


def print_resume_command(run: TrainingRun) -> None:
    """Print the command that resumes a run, if it can be resumed."""
    if run.learner.resumable and run.processes.is_main:
        echo(f"resume with: {command('train', run.folder.path, HydraConfig.get().overrides.task)}")


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
