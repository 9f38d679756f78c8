"""Settings of programs that no class takes: type, bounds, and what a run folder may set.

Their sentences and values are in `conf/<program>.yaml`; a value stands here only if no yaml shows
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from laconic.envs.checks import Count, Positive, Whole, Word

Split = Literal["evaluation", "train"]
"""Parts of a task source."""


@dataclass(frozen=True)
class Program:
    """Settings of every program that plays tasks."""

    seed: Whole
    threads: Count | None
    resume: bool


@dataclass(frozen=True)
class Evaluated:
    """Settings of the evaluation of every program."""

    tasks: Count | None
    batch: Count
    transcripts: Whole


@dataclass(frozen=True)
class Played(Evaluated):
    """Settings of the evaluation of programs that do not train."""

    split: Split
    greedy: bool


@dataclass(frozen=True)
class TrainEvaluation(Evaluated):
    """Settings `evaluation` of `laconic train`."""

    source: str | None
    after: Mapping[str, Any]


@dataclass(frozen=True)
class Train:
    """Settings `train`."""

    steps: Whole
    minutes: Positive | None
    tasks_per_step: Count
    group_size: Count
    checkpoint_every: Count
    evaluate_every: Count | None
    layouts: Sequence[Word] | None = None
    """Layouts of a comparison that a warm start plays in turn; null plays the team as it is."""


@dataclass(frozen=True)
class TrainProgram(Program):
    """Settings of `laconic train`."""

    train: Train
    evaluation: TrainEvaluation
    sweep_metric: Word | Sequence[Word]
    report: bool = True
    """Whether a finished run writes its report."""
    callbacks: Mapping[str, Any] = field(default_factory=dict)
    """Callbacks of your own, by name: nodes whose `_target_` is a class (docs/packages.md)."""


@dataclass(frozen=True)
class EvaluateEvaluation(Played):
    """Settings `evaluation` of `laconic evaluate`."""

    samples: Count
    pass_at: Sequence[int]
    after: Mapping[str, Any]
    tokens: bool


@dataclass(frozen=True)
class EvaluateProgram(Program):
    """Settings of `laconic evaluate`."""

    run: str | None
    step: int | None
    trust: Sequence[str]
    evaluation: EvaluateEvaluation
