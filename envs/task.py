"""What an episode is about: a task, the score of an answer to it, and the benchmark both belong to.

A benchmark is three pure functions (`load`, `generate`, `score`) and the words that explain it to
an agent. It knows nothing of rounds, budgets or rewards.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from laconic.envs.errors import SettingError

Split = Literal["train", "evaluation"]
Style = Literal["full", "short", "brief"]


@dataclass(frozen=True, slots=True)
class Task:
    """One problem, cut into what can be dealt among agents and what everybody reads."""

    key: str
    """Name of the task, unique in its source; `reset(options={"task": key})` starts it."""
    question: str
    """What is asked. Every agent reads it in both information modes."""
    statements: tuple[str, ...]
    """The facts in reading order; split information deals them, full information shows all."""
    answer: str
    """The reference answer in the benchmark's plain form."""
    relevant: tuple[bool, ...] | None = None
    """One flag per statement: True where the answer depends on it. None: not known."""
    solution: str = ""
    """The working behind the answer, in the source's words; empty where there is none."""
    commitment: str = ""
    """Words that commit to the answer in the benchmark's form; left empty it is `#### answer`."""
    whole: str = ""
    """The problem in the source's own layout, for who may read all of it; left empty it is the
    statements and the question in one paragraph."""
    drafts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What an agent of each role may write where all agents write one piece of work, the best
    first; empty where the source has none."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What only the benchmark reads: tests, entry point, position, level."""

    def __post_init__(self) -> None:
        """Fill in the commitment and check that every statement has its flag."""
        if not self.commitment:
            object.__setattr__(self, "commitment", f"#### {self.answer}")
        if self.relevant is not None and len(self.relevant) != len(self.statements):
            raise SettingError(
                f"task {self.key!r}: expected one relevant flag per statement"
                f" ({len(self.statements)}), got {len(self.relevant)}"
            )

    @property
    def text(self) -> str:
        """The whole problem: in the source's layout, or as one paragraph."""
        return self.whole or " ".join((*self.statements, self.question))


@dataclass(frozen=True, slots=True)
class Score:
    """How good a set of answers is."""

    value: float
    """Task reward, from 0 (nothing right) to the benchmark's maximum (1 for a right answer)."""
    solved: bool
    """True when the task counts as solved."""
    answer: str
    """The answer that was graded, in plain form; empty when none was found."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """How the score came about, e.g. the sandbox's verdict; reported in the last infos."""
    measures: Mapping[str, float] = field(default_factory=dict)
    """What else was measured of the answers and does not count; metrics have its means."""


class Explained(ABC):
    """What can be played, and the words that explain it to an agent."""

    name: ClassVar[str]
    """Name in `laconic.envs.make(name)` and in the configuration."""
    version: ClassVar[int] = 0
    """Version of the environment. A change of tasks, grading or reward raises it: results of two
    versions are not comparable. `metadata["name"]` is `<name>_v<version>`."""
    roles: tuple[str, ...]
    """Roles that make sense here, the answering one first where there is one."""
    goal: str
    """What the team does here, for every agent to read."""
    duties: Mapping[str, str]
    """What each role does."""
    hints: Mapping[str, str] = {}
    """What a role does, in words that a small language model heeds."""
    answer_form: str
    """How an answer is stated, for roles that have no duty of their own."""
    max_reward: ClassVar[float] = 1.0
    """The highest score that an answer can get. In a world: what the task pays each agent of a team
    that solves it by fair shares, over the whole episode; a greedy agent may gain more."""

    @abstractmethod
    def generate(
        self, seed: int, count: int, *, split: Split = "train", **settings: Any
    ) -> tuple[Task, ...]:
        """Make tasks from a seed; fewer of the same seed are the first of these.

        Args:
            seed: any whole number.
            count: how many tasks; no two are equal.
            split: `train` or `evaluation`; they share no task, whatever the seeds.
            **settings: of what is played; most are a whole number, or a pair from lowest to highest
                to draw from.

        Raises:
            SettingError: a setting is out of its range, or there are not so many problems.
            UnknownNameError: there is no such setting or split.
        """

    def instructions(self, role: str, style: Style = "full") -> str:
        """What an agent of this role is told before the task; without a duty here it is to help.

        The style `full` explains goal and duty; `short` is the role's hint, or goal and duty where
        it has none; `brief` is empty, for the agent's name says its role to a policy that was
        trained on the game.
        """
        if style == "brief":
            return ""
        if style == "short" and role in self.hints:
            return self.hints[role]
        return (
            f"{self.goal} {self.duties.get(role, f'Say what helps the team. {self.answer_form}')}"
        )


class Benchmark(Explained):
    """A family of tasks: where they come from, how answers are graded, how they are explained."""

    separator: ClassVar[str] = " "
    """What stands between statements that one agent reads; a line break where they are code."""
    measures: ClassVar[tuple[str, ...]] = ()
    """Names of what every score has in `measures`; `env.reward.multiply_by` takes one of them."""
    slow: ClassVar[bool] = False
    """Whether grading waits for other processes, so that rollouts grade many episodes at a time."""

    def conditions(self) -> Mapping[str, str]:
        """Under which conditions answers are graded here, e.g. how programs are shut in.

        Every info carries them, and programs print them once at start. Empty: nothing to say.
        """
        return {}

    @abstractmethod
    def load(
        self, path: str | Path, split: Split = "evaluation", **settings: Any
    ) -> tuple[Task, ...]:
        """Read real data in its original format; a task's key is `<file or split>/<row>`, from 1.

        Args:
            path: a file (`.jsonl` or `.jsonl.gz`, unless a benchmark reads others too), a folder
                that holds the original files, or `hub:<id>` or `hub:<id>#<configuration>`.
            split: which file of a folder (or split of a hub data set) to read.
            **settings: of the benchmark, how rows are read; most have none.

        Raises:
            SourceError: the source is missing, empty, or has a row that cannot be read.
            SettingError: a setting is out of its range.
            UnknownNameError: there is no such setting.
        """

    @abstractmethod
    def score(self, task: Task, answers: Mapping[str, str]) -> Score:
        """Grade what the answering agents said last.

        Several answers are put to a vote, in which text without an answer has no voice and the
        earliest of equally common answers counts, or are parts of one work
        (`env.answer=joint`). No text raises: one without an answer scores 0.

        Args:
            task: what was asked.
            answers: the graded message of each agent that answers and spoke, in their order.

        Raises:
            SandboxError: this machine cannot run a program at the moment.
        """

    def committed(self, message: str) -> str | None:
        """The part of a message that commits to an answer, letter for letter (`#### 12`), or None.

        The last one counts. By default nothing commits: what was written last is graded, and no
        word of it is free of charge.
        """
        return None

    def exempt(self, message: str, task: Task) -> str:
        """The words that state the answer of a message and nothing else; empty without an answer.

        With `env.reward.exempt_answer` no more tokens than these have are free of charge, so that
        a commitment is no place for free speech. By default they are what commits. Where a wrong
        answer may be of any length, they are no longer than `task.commitment`.
        """
        return self.committed(message) or ""

    def null_draft(self, task: Task, draft: str) -> str:
        """A draft of the form and length of another one that says nothing of the task.

        By default its layout and the marks of answers and headings (`#`) stay, and all else is
        crossed out. A benchmark whose form says more of the answer has its own.
        """
        return re.sub(r"[^\s#]", "x", draft)

    def findings(self, task: Task, score: Score, agents: Sequence[str]) -> Mapping[str, str]:
        """What each agent is told of how its work was graded, level by level.

        Only benchmarks whose reward has levels say anything (`env.feedback=level`); `score` is what
        `score` returned.
        """
        return {}
