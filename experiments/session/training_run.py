"""A training as its loop and its callbacks see it.

`experiments/train.py` draws, plays, updates, evaluates and saves. Everything else that happens in a
training is a `Callback`: it is told of each part of a step, and sees the objects that the loop has.
`callbacks.<name>._target_` names classes of users. This module imports no torch, so that they are
checked before anything heavy is loaded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.echo import echo

if TYPE_CHECKING:
    from laconic.experiments.run_folder.folder import RunFolder
    from laconic.experiments.session.setup import Environments
    from laconic.learners.algorithms.base import Learner
    from laconic.learners.distributed.processes import Processes
    from laconic.learners.engines.async_rollouts import AsyncRollouts
    from laconic.learners.engines.base import Engine
    from laconic.learners.episode import Group
    from laconic.learners.interfaces import Policy
    from laconic.learners.rollout.collectors.base import PlaysGroups
    from laconic.learners.rollout.play import Start

Row = dict[str, float]
"""Metrics of a step by their names, as in `metrics.jsonl`."""
USERS = "callbacks."
"""Beginning of the names of callbacks that the configuration adds: their keys."""


class Callback:
    """Listens to a training; a subclass defines the methods that it needs.

    Each method gets the run itself. The callbacks of this package come first, then those of
    `callbacks`, in the order of the configuration. Every process has its own and calls each method
    at the same moment; `run.processes.is_main` is true in the one that prints and writes. What a
    method or the constructor raises ends the run as failed: rows and checkpoints stay, and the run
    can be resumed.
    """

    def on_resume(self, run: TrainingRun, state: Mapping[str, Any], rows: Sequence[Row]) -> None:
        """Continue an earlier part of the run, before `on_start`.

        Args:
            run: the run, with the weights of its checkpoint.
            state: what `state_dict` returned at the checkpoint; empty for a new callback.
            rows: rows of `metrics.jsonl` up to the checkpoint.
        """

    def on_start(self, run: TrainingRun) -> None:
        """Begin, before the first step of this process; policies can play."""

    def on_step(self, run: TrainingRun, row: Row) -> None:
        """Look at an update and its `run.groups`, before an evaluation; may add to the row."""

    def on_evaluation(self, run: TrainingRun, row: Row) -> None:
        """Look at an evaluation, that before training included; may add to the row."""

    def on_log(self, run: TrainingRun, row: Row) -> None:
        """Read the row of a step, which `metrics.jsonl` has now."""

    def on_end(self, run: TrainingRun) -> None:
        """End, in the state `run.state`, once policies and report are written.

        It is also called if the run failed or was cut off (`run.error`). Nothing is written then,
        and other processes may be anywhere, so wait for none.
        """

    def state_dict(self) -> dict[str, Any]:
        """Return what `on_resume` needs: plain values and tensors, those of the main process."""
        return {}


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
    folder: RunFolder
    """Run folder; only the main process writes to it."""
    processes: Processes
    """Processes that train together."""
    engine: Engine
    """Engine that samples the replies."""
    callbacks: dict[str, Callback] = field(default_factory=dict)
    """Callbacks by name, in the order in which they are called."""
    after_evaluation: Sequence[Callable[..., Any]] = ()
    """Measures after every evaluation (`evaluation.AfterEvaluation`)."""
    price: float | None = None
    """Price that the environment was made with; None if it has no price."""
    warnings: list[str] = field(default_factory=list)
    """Warnings so far, oldest first."""

    step: int = -1
    """Number of learner updates done; -1 before the first evaluation."""
    written: int = -1
    """Last step with a row; behind `step` between an update and the end of its evaluation."""
    resumed: bool = False
    """True if the folder held rows that this run continues."""
    groups: Sequence[Group] = ()
    """Groups of the present step, once they are learned from."""
    phase: tuple[str, float] = ("", 0.0)
    """Present part of a step, and the time when it began (`time.monotonic`, seconds)."""
    can_evaluate: bool = True
    """True if the present step has an evaluation, or may still get one."""
    ended_by: str = ""
    """Config key of what ends the run before its last step; empty for none."""
    end: str = ""
    """Sentence on why the run ends before its last step."""
    state: str = "running"
    """State in `status.json`: "running", "finished", "interrupted" or "failed"."""
    error: BaseException | None = None
    """Exception that cut the run off."""

    note: Callable[[str], None] = echo
    """Function that shows a line beside the progress."""
    during: ExitStack = field(default_factory=ExitStack)
    """Contexts that close with the last step, entered in `on_start`."""
    cuttable: Callable[[], AbstractContextManager[None]] = nullcontext
    """Context that a signal may cut off. Several processes end together after a step instead."""
    ahead: AsyncRollouts[tuple[float | None, list[Group]]] | None = None
    """Rollouts of coming steps, played during updates. None: no step is played ahead."""
    seconds_left: Callable[[], float] = lambda: math.inf
    """Function that returns the seconds until a time limit ends the run."""
    first_evaluation_seconds: float | None = None
    """Time for the evaluation before training, seconds. None: no limit."""

    total: int = field(init=False)
    """Number of learner updates of the whole run; `stop` lowers it."""
    _called: str = field(default="", init=False)
    _started: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        """Look up once how many updates there are, and how the groups of a step are played."""
        from laconic.learners.rollout.collectors.base import Independent

        self.total = int(self.cfg.train.steps)
        collector = self.learner.collector
        self.collect: PlaysGroups = (
            collector.play if isinstance(collector, Independent) else collector
        )
        self.collector_has_state = hasattr(self.collect, "state_dict")

    @property
    def imitates(self) -> bool:
        """True if a teacher plays the episodes, and the policies imitate it."""
        return self.learner.collector.speaker != "train"

    @property
    def earliest_end(self) -> int:
        """Step that is the last one if the run stops now; it has an evaluation."""
        return max(self.step, 0) + (not self.can_evaluate)

    def warn(self, text: str) -> None:
        """Show a warning, and keep it in `status.json`; the report has those before `on_end`."""
        self.warnings.append(text)
        self.note(text)

    def stop(self, reason: str, by: str = "") -> None:
        """End the run in order after the present step, or the next if this one has no evaluation.

        All processes follow if one stops. The first call counts.

        Args:
            reason: why, in words. With `by`, a whole sentence.
            by: config key of what ends the run; empty for the callback that calls.
        """
        last = self.earliest_end
        sentence = f"{self._called} ended the run after {last} updates: {reason}"
        self._end(by or self._called, reason if by else sentence)

    def _end(self, by: str, sentence: str) -> None:
        if not self.ended_by:
            self.total = min(self.total, self.earliest_end)
            self.ended_by, self.end = by, sentence

    def call(self, method: str, *arguments: Any) -> None:
        """Call a method of all callbacks in their order, with the run and these arguments."""
        row = arguments[0] if arguments else {}
        for name, callback in self.callbacks.items():
            before = dict(row)
            with self.calling(name, method):
                getattr(callback, method)(self, *arguments)
            for key, value in row.items():
                if key not in before or value is not before[key]:
                    _check_metric(key, value, f"{name}.{method}")
            if method == "on_start":
                self._started.append(name)
        self.agree()

    @contextmanager
    def calling(self, name: str, method: str) -> Iterator[None]:
        """Know which callback is called, and name it in the traceback if it is a user's."""
        # A warning of the disk asks all callbacks for their states.
        before, self._called = self._called, name
        try:
            yield
        # The other processes leave by SystemExit where the main one fails.
        except (Exception, SystemExit) as error:
            if name.startswith(USERS):
                error.add_note(
                    f"{name}.{method} raised this at step {self.step}; the rows and checkpoints in"
                    f" {str(self.folder.path)!r} stay, and resume=true continues from the last one"
                )
            raise
        finally:
            self._called = before

    def agree(self) -> None:
        """End the run in all processes if it ends in one."""
        if self.processes.count > 1:
            for by, sentence in self.processes.gather([(self.ended_by, self.end)]):
                if by:
                    self._end(by, sentence)

    def close(self) -> None:
        """Call `on_end` of the callbacks that have started, also if one fails.

        Raises:
            Exception: the first that a callback raised, unless the run has failed before.
        """
        failures: list[BaseException] = []
        for name in self._started:
            try:
                with self.calling(name, "on_end"):
                    self.callbacks[name].on_end(self)
            except (Exception, SystemExit) as error:
                failures.append(error)
        self._started.clear()
        if self.error is not None:
            for failure in failures:
                self.error.add_note(f"{type(failure).__name__} at the end: {failure}")
        elif failures:
            raise failures[0]


def _check_metric(name: Any, value: Any, method: str) -> None:
    """Refuse what a method has put into a row, unless a name has a number.

    Raises:
        SettingError: the name is no text or that of the step, or the value is no number.
    """
    if not isinstance(name, str) or name == "step" or not isinstance(value, Real):
        raise SettingError(
            f"{method} must leave row['step'] and add numbers, as in row['mine/name'] = 1.0; got"
            f" row[{name!r}] = {value!r} (a tensor becomes a number by .item())"
        )
