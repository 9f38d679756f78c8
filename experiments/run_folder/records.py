"""Records of a run folder: evaluations write them, `read_run` reads them, and pages show them.

The fields of `Transcript` and `TurnRecord` are the keys of `transcripts.jsonl`, in this order. Keys
of thoughts and acts are left out of episodes without any.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from laconic.envs.dialogue.messages import printable
from laconic.envs.worlds import join_act
from laconic.experiments.command_line.targets import part_name
from laconic.experiments.run_folder.foreign import NAMES
from laconic.learners.metrics import Interval, Outcomes


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Figures of one evaluation."""

    step: int
    """Number of training steps before the evaluation; 0 is before training."""
    episodes: int
    """Number of episodes; 0 if unknown."""
    intervals: Mapping[str, Interval]
    """Metric name without prefix -> mean and interval; the ends are NaN if unknown."""
    floors: Mapping[str, Sequence[Sequence[float]]] = field(default_factory=dict)
    """Name of a frontier -> (tokens, accuracy) of its corners; empty if unknown."""
    tasks: str = ""
    """Name of the tasks that were played; empty if unknown."""
    outcomes: Mapping[str, Outcomes] = field(default_factory=dict)
    """Metric name -> outcomes by task, in the order of the tasks; empty if unknown."""

    def figure(self, name: str) -> Interval | None:
        """Return a metric; None if unknown. Without thoughts, tokens spent are those said."""
        figure = self.intervals.get(name)
        if not figure and name == "tokens_spent":
            return self.intervals.get("tokens_said")
        return figure


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One turn of a transcript."""

    agent: str
    """Name of the agent."""
    round: int
    """Round, from 0."""
    text: str
    """Published message; empty for silence."""
    tokens: int
    """Number of tokens of the message."""
    cut: bool
    """True if the message was over budget."""
    informed: bool | None
    """True if the agent held something useful; None if unknown."""
    truncated: bool
    """True if a limit ended the reply early."""
    read: str
    """Text that the agent read before the message; empty if not recorded."""
    thought: str
    """Private thought before the message."""
    tokens_thought: int
    """Number of tokens of the thought."""
    act: str = ""
    """Act of the agent, in a world that is played by acts."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """One whole evaluation episode."""

    step: int
    """Number of training steps of the policies."""
    task: str
    """Key of the task."""
    question: str
    """Question of the task."""
    statements: tuple[str, ...]
    """Facts of the task."""
    reference: str
    """Correct answer."""
    messages: tuple[TurnRecord, ...]
    """Turns of all agents."""
    solved: bool | None
    """True if the task was solved; None if unknown."""
    score: float | None
    """Task reward before any charge; None if unknown."""
    answer: str
    """Graded answer."""
    tokens_said: int | None
    """Number of tokens that the team said; None if unknown."""
    tokens_thought: int | None
    """Number of tokens that the team thought; None if unknown or without thoughts."""
    rewards: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Reward of each agent in each round; empty if unknown."""
    task_rewards: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Task reward of each agent in each round; the rest of the reward is the charge. Empty if
    unknown."""
    bills: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Cost of each agent's own tokens in each round; empty if unknown."""
    ended_by: str = ""
    """Cause of the end (`learners.episode.Episode.ended_by`); empty if unknown."""

    def row(self) -> dict[str, Any]:
        """Return the row of `transcripts.jsonl`, without keys that are empty everywhere in it."""
        row = asdict(self)
        for name in ("rewards", "task_rewards", "bills", "ended_by"):
            if not row[name]:
                del row[name]
        if not any(turn.thought for turn in self.messages):
            del row["tokens_thought"]
            for turn in row["messages"]:
                del turn["thought"], turn["tokens_thought"]
        if not any(turn.act for turn in self.messages):
            for turn in row["messages"]:
                del turn["act"]
        return row

    def __str__(self) -> str:
        """Return the episode as plain text, for a terminal or a notebook."""
        verdict = {True: "solved", False: "not solved", None: "verdict not known"}[self.solved]
        tokens = "" if self.tokens_said is None else f", {self.tokens_said} tokens"
        turns = [
            f"{turn.agent}, round {turn.round + 1}: {join_act(turn.text, turn.act) or '(silent)'}"
            for turn in self.messages
        ]
        lines = [
            f"step {self.step}, task {self.task}: {verdict}{tokens}",
            " ".join((*self.statements, self.question)),
            *turns,
            f"graded answer: {self.answer or '-'}; right: {self.reference or '-'}",
            *([f"ended by: {self.ended_by}"] if self.ended_by else ()),
        ]
        return printable("\n".join(lines))


@dataclass(frozen=True, slots=True)
class Run:
    """Contents of a run folder that a report shows."""

    folder: Path
    """Path of the run folder."""
    config: str
    """Composed configuration as YAML; empty if missing."""
    overrides: tuple[str, ...] | None
    """Overrides of the command line; None if not recorded."""
    settings: Mapping[str, Any]
    """Configuration as plain values with unresolved references; empty if it cannot be read."""
    choices: Mapping[str, str]
    """Config group -> chosen option; empty if not recorded."""
    seed: str
    """Seed as text; empty if unknown."""
    metrics: Mapping[int, Mapping[str, float]]
    """Step -> metrics of that step, in ascending order."""
    evaluations: tuple[Evaluation, ...]
    """Evaluations in the order of their steps."""
    transcripts: tuple[Transcript, ...]
    """Transcripts in the order of their steps."""
    state: str
    """State of the run: `finished`, or a few words on its progress."""
    error: str
    """Reason of a failure, in one line; empty for a finished run."""
    written: float | None
    """Time of the last row, in seconds of the epoch; None without rows."""
    version: str
    """Version of Laconic that wrote the run; empty if unknown."""
    warnings: tuple[str, ...]
    """Warnings of the run."""
    problems: tuple[str, ...]
    """Missing or broken parts of the folder."""
    written_by: Mapping[str, Any] = field(default_factory=dict)
    """Last process that wrote to the run (`experiments.run_folder.provenance`); empty if
    unknown."""

    @property
    def finished(self) -> bool:
        """True if the run did all its steps."""
        return self.state == "finished"

    def group(self, name: str) -> Mapping[str, Any]:
        """Return the settings of one group; empty if there are none."""
        settings = self.settings.get(name)
        return settings if isinstance(settings, Mapping) else {}

    def name(self, group: str) -> str:
        """Return the name of a part, such as the learner; empty if unknown."""
        recorded = self.group(NAMES).get(group)
        if isinstance(recorded, str):
            return recorded
        return part_name(group, self.group(group), self.choices.get(group), self.overrides or ())

    @property
    def environment(self) -> str:
        """Name of the environment, or its class; empty if unknown."""
        return self.name("env")

    @property
    def seconds(self) -> float:
        """Time of all steps and of evaluations outside a step, seconds; 0 if not recorded."""
        rows = self.metrics.values()
        return sum(row.get("time/step", row.get("time/evaluation", 0.0)) for row in rows)

    @property
    def last_step(self) -> int:
        """Last recorded step; 0 without any."""
        return max((*self.metrics, *(entry.step for entry in self.evaluations)), default=0)

    @property
    def before(self) -> Evaluation | None:
        """Evaluation before training, or None."""
        return next((entry for entry in self.evaluations if entry.step == 0), None)

    @property
    def after(self) -> Evaluation | None:
        """Last evaluation after some training, or None."""
        trained = [entry for entry in self.evaluations if entry.step > 0]
        return trained[-1] if trained else None

    def series(self, name: str) -> tuple[list[int], list[float]]:
        """Return the steps that have a metric, and its values."""
        points = [(step, row[name]) for step, row in self.metrics.items() if name in row]
        return [step for step, _ in points], [value for _, value in points]


def thoughtful(run: Run) -> bool:
    """Check whether some agent of a run thought, in training or in an evaluation."""
    trained = run.series("train/tokens_spent") not in (([], []), run.series("train/tokens_said"))
    return trained or thinking(entry.intervals for entry in run.evaluations)


def goal(runs: Iterable[Run]) -> str:
    """Return the main metric of runs: `score` if scores are graded, else `accuracy`."""
    measured = (evaluation.intervals for run in runs for evaluation in run.evaluations)
    return "score" if graded(measured) else "accuracy"


def graded(measured: Iterable[Mapping[str, Interval]]) -> bool:
    """Check whether some score differs from the accuracy, or has no accuracy beside it.

    Joint work has a score by degrees, while a single answer is right or wrong.
    """
    return any(
        "accuracy" not in figures
        or not math.isclose(figures["score"].mean, figures["accuracy"].mean, abs_tol=1e-9)
        for figures in measured
        if "score" in figures
    )


def thinking(measured: Iterable[Mapping[str, Interval]]) -> bool:
    """Check whether some agent thought; else tokens said and thought are those said."""
    pairs = ((figures.get("tokens_spent"), figures.get("tokens_said")) for figures in measured)
    return any(spent and (not said or spent.mean != said.mean) for spent, said in pairs)
