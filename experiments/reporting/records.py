"""What a run folder holds: records that evaluations write, `read_run` reads and pages show.

The fields of `Transcript` and `Said` are, in this order, the keys of `transcripts.jsonl`; those of
thoughts are there in episodes in which somebody thinks, and acts where somebody acts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from laconic.envs.dialogue.messages import printable
from laconic.envs.worlds import join_act
from laconic.learners.metrics import Interval


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What one evaluation found."""

    step: int
    """Training steps before it; 0 is before training."""
    episodes: int
    """Episodes played; 0 where it is not known."""
    intervals: Mapping[str, Interval]
    """Metric name without prefix -> mean and interval; NaN ends where there is none."""
    floors: Mapping[str, Sequence[Sequence[float]]] = field(default_factory=dict)
    """Name of a frontier -> (tokens, accuracy) of its corners; empty where there is none."""

    def figure(self, name: str) -> Interval | None:
        """A metric, None where it is not known; where nobody thinks, said is all that is spent."""
        found = self.intervals.get(name)
        return self.intervals.get("tokens_said") if not found and name == "tokens_spent" else found


@dataclass(frozen=True, slots=True)
class Said:
    """One turn of a transcript."""

    agent: str
    """Who spoke."""
    round: int
    """Round, from 0."""
    text: str
    """What was published; empty for silence."""
    tokens: int
    """Tokens charged."""
    cut: bool
    """True when the message was over budget."""
    informed: bool | None
    """Whether the agent held something useful; None: not known."""
    truncated: bool
    """True when the reply was stopped by its limit before it had ended."""
    read: str
    """What the agent read before it spoke; empty where it was not recorded."""
    thought: str
    """What it thought between the two, which nobody else read."""
    tokens_thought: int
    """Tokens of that."""
    act: str = ""
    """What the agent did, in a world that is played by acts."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """One evaluation episode in full."""

    step: int
    """Training steps of the policies that played it."""
    task: str
    """Key of the task."""
    question: str
    """What was asked."""
    statements: tuple[str, ...]
    """The facts of the task."""
    reference: str
    """The right answer."""
    messages: tuple[Said, ...]
    """All turns."""
    solved: bool | None
    """Whether the task was solved; None: not known."""
    score: float | None
    """Reward for the task, before any price is taken off; None: not known."""
    answer: str
    """The answer that was graded."""
    tokens_said: int | None
    """Tokens of the whole team; None: not known."""
    tokens_thought: int | None
    """Tokens that the whole team thought before speaking; None: not known, or none."""
    rewards: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Reward of each agent in each round; empty: not known."""
    task_rewards: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """What the task paid each agent in each round; the rest of the reward is the charge. Empty:
    not known."""
    bills: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """What each agent's own tokens cost in each round; empty: not known."""
    ended_by: str = ""
    """How the episode ended (`learners.episode.Episode.ended_by`); empty: not known."""

    def row(self) -> dict[str, Any]:
        """Return the row of `transcripts.jsonl`, without keys that would be empty in all of it."""
        found = asdict(self)
        for name in ("rewards", "task_rewards", "bills", "ended_by"):
            if not found[name]:
                del found[name]
        if not any(one.thought for one in self.messages):
            del found["tokens_thought"]
            for said in found["messages"]:
                del said["thought"], said["tokens_thought"]
        if not any(one.act for one in self.messages):
            for said in found["messages"]:
                del said["act"]
        return found

    def __str__(self) -> str:
        """The episode as plain text, for a terminal or a notebook."""
        verdict = {True: "solved", False: "not solved", None: "verdict not known"}[self.solved]
        tokens = "" if self.tokens_said is None else f", {self.tokens_said} tokens"
        said = [
            f"{one.agent}, round {one.round + 1}: {join_act(one.text, one.act) or '(silent)'}"
            for one in self.messages
        ]
        lines = [
            f"step {self.step}, task {self.task}: {verdict}{tokens}",
            " ".join((*self.statements, self.question)),
            *said,
            f"graded answer: {self.answer or '-'}; right: {self.reference or '-'}",
            *([f"ended by: {self.ended_by}"] if self.ended_by else ()),
        ]
        return printable("\n".join(lines))


@dataclass(frozen=True, slots=True)
class Run:
    """Everything a run folder holds that a report shows."""

    folder: Path
    """Where it is."""
    config: str
    """The composed configuration as yaml; empty where missing."""
    overrides: tuple[str, ...] | None
    """What was set on the command line; None where it was not recorded."""
    settings: Mapping[str, Any]
    """The configuration as plain values, references as they are written; empty where broken."""
    choices: Mapping[str, str]
    """Group of the configuration -> what was chosen of it; empty where it was not recorded."""
    seed: str
    """The seed as text; empty where it is not known."""
    metrics: Mapping[int, Mapping[str, float]]
    """Step -> metrics of that step, steps rising."""
    evaluations: tuple[Evaluation, ...]
    """Evaluations, steps rising."""
    transcripts: tuple[Transcript, ...]
    """Transcripts, steps rising."""
    state: str
    """`finished`, or words for how far it came."""
    error: str
    """Why its job failed, in one line; empty where it did not or is done all the same."""
    written: float | None
    """When the last row was written, in seconds of the epoch; None without rows."""
    version: str
    """Version of Laconic that wrote it; empty where it is not known."""
    warnings: tuple[str, ...]
    """What the run warned of."""
    problems: tuple[str, ...]
    """What is missing or broken in the folder."""
    written_by: Mapping[str, Any] = field(default_factory=dict)
    """Last process that worked on it (`experiments.run_folder.provenance`); empty if unknown."""

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return self.state == "finished"

    def group(self, name: str) -> Mapping[str, Any]:
        """The settings of one group; empty where there are none."""
        found = self.settings.get(name)
        return found if isinstance(found, Mapping) else {}

    @property
    def environment(self) -> str:
        """Name of the environment, or what makes it; empty where it is not known."""
        env = self.group("env")
        return str(env.get("name") or env.get("_target_", ""))

    @property
    def seconds(self) -> float:
        """Time of all steps, and of evaluations that belong to none; 0 where none was taken."""
        rows = self.metrics.values()
        return sum(row.get("time/step", row.get("time/evaluation", 0.0)) for row in rows)

    @property
    def last_step(self) -> int:
        """The last step with anything recorded; 0 without."""
        return max((*self.metrics, *(one.step for one in self.evaluations)), default=0)

    @property
    def before(self) -> Evaluation | None:
        """The evaluation before training, or None."""
        return next((one for one in self.evaluations if one.step == 0), None)

    @property
    def after(self) -> Evaluation | None:
        """The last evaluation after some training, or None."""
        trained = [one for one in self.evaluations if one.step > 0]
        return trained[-1] if trained else None

    def series(self, name: str) -> tuple[list[int], list[float]]:
        """The steps that have a metric, and its values there."""
        points = [(step, row[name]) for step, row in self.metrics.items() if name in row]
        return [step for step, _ in points], [value for _, value in points]


def goal(runs: Iterable[Run]) -> str:
    """What runs are after: `score` where it tells more than the share solved, else `accuracy`."""
    found = (one.intervals for run in runs for one in run.evaluations)
    return "score" if graded(found) else "accuracy"


def graded(measured: Iterable[Mapping[str, Interval]]) -> bool:
    """Whether some score is by degrees, or stands where nobody tells what is solved.

    Work that is written together is worth more or less; an answer is right or wrong.
    """
    return any(
        "accuracy" not in one
        or not math.isclose(one["score"].mean, one["accuracy"].mean, abs_tol=1e-9)
        for one in measured
        if "score" in one
    )
