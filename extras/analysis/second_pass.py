"""Split the gain of a second pass over a draft into three parts: `second_pass.csv`.

After "Revision or re-solving" (arXiv 2604.01029), of which only a digest was read. Four entries
play the same tasks: A a weak draft, B a strong agent that revises it, C the strong agent alone, and
D the strong agent over a draft without content. The total gain B - A has three parts:

| part | difference |
|---|---|
| re-solving | C - A |
| scaffold | D - C |
| content | B - D |

Intervals are 95 %, by a paired bootstrap over tasks (B. Efron, 1979).
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
from laconic.experiments.run_folder.folder import write_atomically
from laconic.experiments.session.evaluation import EvaluationRun
from laconic.extras.analysis.coordination import read
from laconic.learners.metrics import RESAMPLES, Interval, resample

HEADS = ("part", "gain", "gain_low", "gain_high", "tasks")


@dataclass(frozen=True, slots=True)
class SecondPass:
    """Column of a comparison that splits the gain of a second pass at the end."""

    entries: Sequence[str] = ("draft", "revise", "resolve", "scaffold")
    """Names of four entries: draft, revision, answer without a draft, and over an empty one."""

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
        """Measure nothing after a single entry."""

    def finish(self, folder: Path, names: Sequence[str]) -> None:
        """Write and show the parts of the gain."""
        write(folder, self.entries)


def write(folder: Path, names: Sequence[str]) -> None:
    """Write and show the parts of the gain if all four entries were played."""
    measured = [read(folder / name) for name in names]
    solved = [measure["solved"] for measure in measured if measure is not None]
    parts = split(*solved) if len(solved) == len(names) else {}
    if not parts:
        return
    buffer = io.StringIO()
    lines = csv.writer(buffer, lineterminator="\n")
    lines.writerow(HEADS)
    lines.writerows(
        [name, part.mean, part.low, part.high, part.count] for name, part in parts.items()
    )
    write_atomically(folder / "second_pass.csv", buffer.getvalue())
    rows = [(name.replace("_", "-"), level("accuracy", part)) for name, part in parts.items()]
    Console().print(text_table("a second pass", ("part", "gain"), rows, whole="first"))


PARTS = ("re_solving", "scaffold", "content", "total")
Solved = Mapping[str, bool]
"""Whether each task was solved, by its key."""


def draws(gains: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sum the gains of each part (tasks, parts) over tasks drawn with replacement.

    Returns:
        Sums (resamples, parts), whole numbers, so that the parts add up exactly.
    """
    return resample(RESAMPLES, len(gains), np.random.default_rng(0)) @ gains


def split(draft: Solved, revise: Solved, resolve: Solved, scaffold: Solved) -> dict[str, Interval]:
    """Return each of `PARTS` as a share of the tasks that all four played; empty without any."""
    tasks = sorted(draft.keys() & revise.keys() & resolve.keys() & scaffold.keys())
    if not tasks:
        return {}
    a, b, c, d = (
        np.array([solved_by_task[key] for key in tasks], dtype=np.int64)
        for solved_by_task in (draft, revise, resolve, scaffold)
    )
    gains = np.stack([c - a, d - c, b - d, b - a], axis=1)
    ends = np.percentile(draws(gains), (2.5, 97.5), axis=0) / len(tasks)
    means = gains.sum(axis=0) / len(tasks)
    return {
        name: Interval(float(means[i]), float(ends[0, i]), float(ends[1, i]), len(tasks))
        for i, name in enumerate(PARTS)
    }
