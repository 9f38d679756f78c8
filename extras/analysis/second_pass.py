"""What a second pass over a draft gains, beside answering anew: `second_pass.csv`.

The four entries are paired task by task (`extras.analysis.second_pass`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from laconic.envs.errors import SettingError
from laconic.experiments.reporting.words import level, text_table
from laconic.experiments.running.evaluation import EvaluationRun
from laconic.experiments.running.run_folder import write_atomically
from laconic.extras.analysis.coordination import read
from laconic.learners.metrics import RESAMPLES, Interval, resample

HEADS = ("part", "gain", "gain_low", "gain_high", "tasks")


@dataclass(frozen=True, slots=True)
class SecondPass:
    """Cuts what a second pass gains into its parts, after a comparison."""

    entries: Sequence[str] = ("draft", "revise", "resolve", "scaffold")
    """The entries of a draft, of who revises it, of who answers without it, and of who reads it
    emptied of its content."""

    def __post_init__(self) -> None:
        """Refuse anything but four names.

        Raises:
            SettingError: there are more or fewer.
        """
        if len(self.entries) != 4:
            raise SettingError(
                "compare.second_pass must name four entries: draft, revision, answer without a"
                f" draft, and answer over an empty one; got {list(self.entries)!r}"
            )

    def __call__(self, played: EvaluationRun) -> None:
        """Measure nothing of a single entry."""

    def finish(self, folder: Path, names: Sequence[str]) -> None:
        """Write and show the parts."""
        write(folder, self.entries)


def write(folder: Path, names: Sequence[str]) -> None:
    """Write and show the parts of the gain where all four entries were played, nothing else."""
    found = [read(folder / name) for name in names]
    solved = [one["solved"] for one in found if one is not None]
    parts = split(*solved) if len(solved) == len(names) else {}
    if not parts:
        return
    buffer = io.StringIO()
    lines = csv.writer(buffer, lineterminator="\n")
    lines.writerow(HEADS)
    lines.writerows([name, one.mean, one.low, one.high, one.count] for name, one in parts.items())
    write_atomically(folder / "second_pass.csv", buffer.getvalue())
    rows = [(name.replace("_", "-"), level("accuracy", one)) for name, one in parts.items()]
    Console().print(text_table("a second pass", ("part", "gain"), rows, whole="first"))


PARTS = ("re_solving", "scaffold", "content", "total")
Solved = Mapping[str, bool]
"""Who solved what, by task."""


def draws(gains: NDArray[np.int64]) -> NDArray[np.float64]:
    """Gains of each part in tasks (tasks, parts), summed over tasks drawn with return.

    Returns (resamples, parts), whole numbers, so that parts add up exactly.
    """
    return resample(RESAMPLES, len(gains), np.random.default_rng(0)) @ gains


def split(draft: Solved, revise: Solved, resolve: Solved, scaffold: Solved) -> dict[str, Interval]:
    """Each of `PARTS` as a share of the tasks that all four played; nothing without such a task."""
    tasks = sorted(draft.keys() & revise.keys() & resolve.keys() & scaffold.keys())
    if not tasks:
        return {}
    a, b, c, d = (
        np.array([one[key] for key in tasks], dtype=np.int64)
        for one in (draft, revise, resolve, scaffold)
    )
    gains = np.stack([c - a, d - c, b - d, b - a], axis=1)
    ends = np.percentile(draws(gains), (2.5, 97.5), axis=0) / len(tasks)
    means = gains.sum(axis=0) / len(tasks)
    return {
        name: Interval(float(means[i]), float(ends[0, i]), float(ends[1, i]), len(tasks))
        for i, name in enumerate(PARTS)
    }
