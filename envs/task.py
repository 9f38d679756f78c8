"""A task, the score of an answer to it, and the benchmark that both belong to.

A benchmark is three pure functions (`load`, `generate`, `score`) and the words that explain it to
an agent. It knows nothing of rounds, budgets or rewards.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Literal

from laconic.envs.declarations import Metric, Recipe
from laconic.envs.errors import SettingError

__all__ = [
    "PRICE",
    "Benchmark",
    "Falsehood",
    "PromptedTask",
    "Score",
    "Split",
    "Style",
    "Task",
    "knows_enough",
    "relevant_statements",
]

PRICE = 0.12
"""Default of `env.reward.price` where tokens have a price: the part of the reward that a perfect,
brief team pays. A team of three times as many tokens still earns more than silence."""
Split = Literal["train", "evaluation"]
"""Part of a source of tasks."""
Style = Literal["full", "short", "brief"]
"""Length of the instructions to an agent."""


@dataclass(frozen=True, slots=True)
class Task:
    """One problem, cut into statements that can be dealt among agents and a question for all."""

    key: str
    """Name of the task, unique in its source; `reset(options={"task": key})` starts it."""
    question: str
    """Question of the problem. Every agent reads it in both information modes."""
    statements: tuple[str, ...]
    """Facts in reading order; split information deals them, full information shows all."""
    answer: str
    """Reference answer in the benchmark's plain form."""
    relevant: tuple[bool, ...] | None = None
    """One flag per statement: True where the answer depends on it. None: unknown."""
    solution: str = ""
    """Working behind the answer, in the source's words; empty where there is none."""
    answer_text: str = ""
    """Words that commit to the answer in the benchmark's form; `#### answer` if left empty."""
    source_text: str = ""
    """Problem in the source's own layout, for agents that may read all of it; if left empty, the
    statements and the question in one paragraph."""
    drafts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Texts that an agent of each role may write where all agents write one piece of work, the
    best first; empty where the source has none."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Data that only the benchmark reads: tests, entry point, position, level."""
    weight: float = 1.0
    """Weight of the task in the means of an evaluation, and chance to be drawn, where tasks are not
    equally likely: the probability of a state that a world lists. 1 elsewhere."""

    def __post_init__(self) -> None:
        """Fill in the text of the answer and check that every statement has its flag."""
        if not self.answer_text:
            object.__setattr__(self, "answer_text", f"#### {self.answer}")
        if self.relevant is not None and len(self.relevant) != len(self.statements):
            raise SettingError(
                f"task {self.key!r}: expected one relevant flag per statement"
                f" ({len(self.statements)}), got {len(self.relevant)}"
            )

    @property
    def text(self) -> str:
        """Return the whole problem, in the source's layout or as one paragraph."""
        return self.source_text or " ".join((*self.statements, self.question))


@dataclass(frozen=True, slots=True)
class Falsehood:
    """A statement of a task with another value, and the answer that would follow."""

    index: int
    """Index of the statement."""
    statement: str
    """Statement with the false value."""
    value: str
    """False value, a word or number that stands nowhere in the true task, its answer or working."""
    answer: str
    """Answer to the task if the statement were true, in plain form; never the reference answer."""


@dataclass(frozen=True, slots=True)
class Score:
    """Grade of a set of answers."""

    value: float
    """Task reward, from 0 (nothing right) to the benchmark's maximum (1 for a right answer)."""
    solved: bool | None
    """True if the task counts as solved. None: it has no verdict, as a game of own gains."""
    answer: str
    """Answer that was graded, in plain form; empty if there was none."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """Reasons for the score, e.g. the sandbox's verdict; reported in the last infos."""
    measures: Mapping[str, float] = field(default_factory=dict)
    """Further measures of the answers, which do not count; metrics have their means."""


def relevant_statements(task: Task, share: Sequence[int]) -> list[str]:
    """Return the statements of a share that the answer depends on; all of them without flags."""
    flags = task.relevant or (True,) * len(task.statements)
    return [task.statements[index] for index in share if flags[index]]


def knows_enough(task: Task, share: Sequence[int], read: str) -> bool:
    """Return whether a share of the statements and a text contain all relevant statements."""
    lacking = [index for index, text in enumerate(task.statements) if text not in read]
    return not relevant_statements(task, sorted({*lacking} - {*share}))


class PromptedTask(ABC):
    """A source of tasks, and the words that explain them to an agent."""

    name: ClassVar[str]
    """Name in `laconic.envs.make(name)` and in the configuration."""
    defaults: ClassVar[Mapping[str, Any]] = {}
    """Settings that `laconic.envs.make` takes where the caller names none. `conf/env/<name>.yaml`
    says the same, so that one name is one game. A benchmark that declares no team has one agent of
    each role, and the first role answers."""
    metrics: ClassVar[Mapping[str, Metric]] = {}
    """Measures of its scores (`Score.measures`), by name. Those of a benchmark are in every score;
    one may be `env.reward.multiply_by` or `env.reward.measure`."""
    recipe: ClassVar[Recipe | None] = None
    """Policy that is shipped with the environment, and how it is made. None: there is none."""
    version: ClassVar[int] = 0
    """Version of the environment. A change of tasks, grading or reward raises it: results of two
    versions are not comparable. `metadata["name"]` is `<name>_v<version>`."""
    roles: tuple[str, ...]
    """Roles of a team, the answering one first where there is one."""
    goal: str
    """Aim of the team, for every agent to read."""
    duties: Mapping[str, str]
    """Instructions of each role."""
    hints: Mapping[str, str] = {}
    """Instructions of a role, in words that a small language model follows."""
    answer_form: str
    """Form of an answer, for roles that have no duty of their own."""
    max_reward: ClassVar[float] = 1.0
    """Highest score that an answer can get. In a world: reward of the task for each agent of a team
    that solves it by fair shares, over the whole episode; a greedy agent may gain more."""

    chance: float = 0.0
    """Share of the tasks that luck solves at the default settings, from 0 to below 1: 1 / n where n
    answers are equally likely. A learner charges by what is solved above it."""
    graded: ClassVar[bool] = False
    """True if an answer or a play may earn a part of the maximum, as the work of two authors does.
    A learner then charges a group by its mean reward, and else by the share that is solved."""

    @abstractmethod
    def generate(
        self, seed: int, count: int, *, split: Split = "train", **settings: Any
    ) -> tuple[Task, ...]:
        """Make tasks from a seed; fewer of the same seed are the first of these.

        Args:
            seed: any whole number.
            count: number of tasks; no two are equal.
            split: `train` or `evaluation`; they share no task, whatever the seeds.
            **settings: settings of the generator; most are a whole number, or a pair from lowest to
                highest to draw from.

        Raises:
            SettingError: a setting is out of its range, or there are fewer problems than `count`.
            UnknownNameError: there is no such setting or split.
        """

    def instructions(self, role: str, style: Style = "full") -> str:
        """Return the text that an agent of this role reads before the task.

        The style `full` explains goal and duty. `short` is the role's hint, or goal and duty where
        it has none. `brief` is empty, because a policy that was trained on the game knows its role
        from its name. A role without a duty is told to help.
        """
        if style == "brief":
            return ""
        if style == "short" and role in self.hints:
            return self.hints[role]
        return (
            f"{self.goal} {self.duties.get(role, f'Say what helps the team. {self.answer_form}')}"
        )


class Benchmark(PromptedTask):
    """A family of tasks: their sources, the grading of answers, and the words that explain them."""

    separator: ClassVar[str] = " "
    """Text between two statements that one agent reads; a line break where they are code."""
    slow: ClassVar[bool] = False
    """True if grading waits for other processes; rollouts then grade many episodes at a time."""

    def conditions(self) -> Mapping[str, str]:
        """Return the conditions of grading on this machine, e.g. how programs are isolated.

        Every info carries them, and programs print them once at start. Empty: nothing to report.
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
            split: file of a folder, or split of a hub data set, to read.
            **settings: the benchmark's settings for reading rows; most have none.

        Raises:
            SourceError: the source is missing, empty, or has a row that cannot be read.
            SettingError: a setting is out of its range.
            UnknownNameError: there is no such setting.
        """

    @abstractmethod
    def score(self, task: Task, answers: Mapping[str, str]) -> Score:
        """Grade the answers of a team.

        Several answers are put to a vote, or are parts of one work (`env.answer=joint`). In a vote
        text without an answer does not count, and the earliest of equally common answers wins. No
        text raises an error: one without an answer scores 0.

        Args:
            task: the task of the episode.
            answers: the graded message of each answering agent that spoke, in their order.

        Raises:
            SandboxError: this machine cannot run a program at the moment.
        """

    def committed(self, message: str) -> str | None:
        """Return the part of a message that commits to an answer, letter for letter (`#### 12`).

        The last one counts; None for none. By default nothing commits: the last message is graded,
        and no word of it is free of charge.
        """
        return None

    def exempt(self, message: str, task: Task) -> str:
        """Return the words of a message that only state its answer; empty without an answer.

        With `env.reward.exempt_answer` at most the tokens of these words are free of charge, so
        that a commitment cannot carry free speech. By default they are the part that commits. Where
        a wrong answer may have any length, they are no longer than `task.answer_text`.
        """
        return self.committed(message) or ""

    def falsified(self, task: Task, index: int, random: Random) -> Falsehood | None:
        """Return a relevant statement of a generated task with another value (`env.fault`).

        By default None: the benchmark does not know what would follow. A benchmark that knows it
        also returns None for a statement that cannot be changed without doubt.

        Args:
            task: the task.
            index: index of the statement.
            random: source of the draws.
        """
        return None

    def null_draft(self, task: Task, draft: str) -> str:
        """Return a draft of the same form and length that says nothing about the task.

        By default its layout and the marks of answers and headings (`#`) stay, and everything else
        is crossed out. Benchmarks whose form reveals more of the answer override this.
        """
        return re.sub(r"[^\s#]", "x", draft)

    def paraphrases(self, task: Task) -> tuple[Task, ...]:
        """Return a task in other words: equal key, facts and answer, in the same order every time.

        By default those under `task.details["paraphrases"]`; empty for none.
        """
        return tuple(task.details.get("paraphrases", ()))

    def findings(self, task: Task, score: Score, agents: Sequence[str]) -> Mapping[str, str]:
        """Return feedback for each agent on the grading of its work, level by level.

        Only benchmarks whose reward has levels give any (`env.feedback=level`). `score` is the
        result of the method `score`.
        """
        return {}


def named_tasks(environment: Any) -> Mapping[str, Task]:
    """Return the tasks of an environment by their keys, for learners that read tasks as data.

    Raises:
        SettingError: the environment has no `tasks` of this class.
    """
    found = getattr(environment, "tasks", None)
    tasks: Mapping[str, Task] = found if isinstance(found, Mapping) else {}
    others = {type(task).__name__ for task in tasks.values() if not isinstance(task, Task)}
    if others or not tasks:
        has = f"tasks of {', '.join(sorted(others))}" if others else "no such mapping"
        raise SettingError(
            "learner.collect works on tasks as data and needs an environment with `tasks`, a"
            f" mapping of key to envs.Task (any of envs.make); {type(environment).__name__} has"
            f" {has}. Begin with a pretrained model instead, agent=smollm2 or agent=hf, or play a"
            " script of your own with learner/collect=recorded (docs/own_environment.md)"
        )
    return tasks
