"""Row of a comparison: figures with their intervals, or the reason for none; saved as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from laconic.experiments.run_folder.folder import read_rows, write_atomically
from laconic.experiments.run_folder.records import Evaluation
from laconic.experiments.run_folder.runs import read_evaluation, read_interval
from laconic.experiments.statistics.intervals import student
from laconic.experiments.statistics.pooled import changed
from laconic.learners.episode import Episode
from laconic.learners.metrics import Interval, intervals
from laconic.learners.untrusted_files import read_json

FILE = "row.json"
SECONDS = "seconds"
"""Name of the figure for the time per episode, seconds."""
FIGURES = (
    "accuracy",
    "strict",
    "score",
    "tokens_said",
    "tokens_read",
    "tokens_thought",
    "tokens_spent",
    "silence_rate",
    "silent_if_uninformed",
    "spoke_if_informed",
    "facts_told",
    SECONDS,
    "cut_rate",
    "truncated_replies",
    "truncated_rate",
    "rounds",
)
"""Figures of a row in the order of the files; those of `compare.columns` follow. Returns are left
out, because entries may differ in price."""

CHANGES = ("accuracy", "score", "tokens_said")
"""Metrics whose change from the reference is in the files."""


@dataclass(frozen=True, slots=True)
class Row:
    """Result of one entry."""

    name: str
    """Name of the entry."""
    state: Literal["finished", "failed", "left out"]
    """State of the entry; `left out` if it does not fit the environment."""
    notes: tuple[str, ...] = ()
    """Notes for the reader; without figures, the reason why there are none."""
    episodes: int = 0
    """Number of episodes; a vote over several samples of one task is one episode."""
    votes: int | None = None
    """Number of samples per answer. None: no vote over samples."""
    script: bool = False
    """True for a script, which is a reference and may know the answers."""
    figures: Mapping[str, Interval] = field(default_factory=dict)
    """Metric name of `FIGURES` -> mean and 95 % interval."""
    changes: Mapping[str, Interval] = field(default_factory=dict)
    """Metric name of `CHANGES` -> mean change from the entry of `compare.reference`, paired by
    task, and 95 % interval; empty for that entry, and where the two played other tasks."""

    @property
    def spent(self) -> Interval:
        """Tokens said and thought in an episode.

        Raises:
            KeyError: the environment does not report tokens.
        """
        return self.figures.get("tokens_spent") or self.figures["tokens_said"]

    def save(self, folder: Path) -> None:
        """Write the row into the folder of its entry."""
        write_atomically(folder / FILE, json.dumps(as_json(self), indent=2) + "\n")


def read_row(folder: Path) -> Row | None:
    """Read the row of a finished entry; None if there is none."""
    path = folder / FILE
    if not path.is_file():
        return None
    row: dict[str, Any] = read_json(path)
    for kind in ("figures", "changes"):
        row[kind] = {name: read_interval(figure) for name, figure in row.get(kind, {}).items()}
    return Row(**{**row, "notes": tuple(row["notes"])})


def as_json(row: Row) -> dict[str, Any]:
    """Convert a row to JSON types; an unknown number is null."""
    values = asdict(row)
    for figure in (*values["figures"].values(), *values["changes"].values()):
        figure |= {end: None for end, value in figure.items() if not math.isfinite(value)}
    return values


def compared(rows: Sequence[Row], reference: str, folder: Path) -> list[Row]:
    """Return rows with their changes from the reference, by the evaluations in their folders.

    Args:
        rows: rows of the comparison.
        reference: name of the entry to compare with; without its row, nothing is compared.
        folder: folder of the comparison.
    """
    evaluations = {row.name: _evaluation(folder / row.name) for row in rows}
    first = evaluations.get(reference)
    return [
        replace(row, changes=_changes(first, second))
        if first and (second := evaluations[row.name]) and row.name != reference
        else row
        for row in rows
    ]


def _evaluation(folder: Path) -> Evaluation | None:
    rows = read_rows(folder / "evaluations.jsonl")
    return read_evaluation(rows[-1]) if rows else None


def _changes(first: Evaluation, second: Evaluation) -> dict[str, Interval]:
    # Unpaired, the difference would have the noise of both.
    if not first.tasks or first.tasks != second.tasks:
        return {}
    found = {name: changed([(first, second)], name) for name in CHANGES}
    return {name: change for name, change in found.items() if change}


def further(rows: Sequence[Row]) -> list[str]:
    """Return the names of the figures that `compare.columns` added."""
    return [*dict.fromkeys(name for row in rows for name in row.figures if name not in FIGURES)]


def figures_of(episodes: Sequence[Episode], seconds: Sequence[float]) -> dict[str, Interval]:
    """Return the figures of a row; the interval of the seconds per episode is over batches."""
    figures = intervals(episodes) | {SECONDS: student(seconds, (0.0, math.inf))}
    return {name: figures[name] for name in FIGURES if name in figures}
