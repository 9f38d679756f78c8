"""Row of a comparison: figures with their intervals, or the reason for none; saved as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from laconic.experiments.reporting.runs import read_interval
from laconic.experiments.run_folder.folder import write_atomically
from laconic.experiments.statistics.intervals import student
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
    row["figures"] = {name: read_interval(figure) for name, figure in row["figures"].items()}
    return Row(**{**row, "notes": tuple(row["notes"])})


def as_json(row: Row) -> dict[str, Any]:
    """Convert a row to JSON types; an unknown number is null."""
    values = asdict(row)
    for figure in values["figures"].values():
        figure |= {end: None for end, value in figure.items() if not math.isfinite(value)}
    return values


def further(rows: Sequence[Row]) -> list[str]:
    """Return the names of the figures that `compare.columns` added."""
    return [*dict.fromkeys(name for row in rows for name in row.figures if name not in FIGURES)]


def figures_of(episodes: Sequence[Episode], seconds: Sequence[float]) -> dict[str, Interval]:
    """Return the figures of a row; the interval of the seconds per episode is over batches."""
    figures = intervals(episodes) | {SECONDS: student(seconds, (0.0, math.inf))}
    return {name: figures[name] for name in FIGURES if name in figures}
