"""One row of a comparison: figures with their intervals, or why there are none; kept as json."""

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
"""Time per episode."""
FIGURES = (
    "accuracy",
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
"""Figures of a row, in the order of files; those of `compare.columns` follow. Returns are left out:
the price is not the point."""


@dataclass(frozen=True, slots=True)
class Row:
    """What a comparison says of one entry."""

    name: str
    """Of the entry."""
    state: Literal["finished", "failed", "left out"]
    """Whether it was played."""
    notes: tuple[str, ...] = ()
    """What a reader has to know; of an entry without figures, why there are none."""
    episodes: int = 0
    """Tasks played; a vote over several samples of one task is one episode."""
    votes: int | None = None
    """Samples behind each answer. None: no vote over samples."""
    caps: str = ""
    """Caps on what may be said, in words."""
    script: bool = False
    """Whether it is a script that is there for reference and knows the answers."""
    figures: Mapping[str, Interval] = field(default_factory=dict)
    """Metric name of `FIGURES` -> mean and 95 % interval."""

    @property
    def spent(self) -> Interval:
        """Tokens said and thought in an episode.

        Raises:
            KeyError: the environment does not tell.
        """
        return self.figures.get("tokens_spent") or self.figures["tokens_said"]

    def save(self, folder: Path) -> None:
        """Write the row into the folder of its entry."""
        write_atomically(folder / FILE, json.dumps(as_json(self), indent=2) + "\n")


def read_row(folder: Path) -> Row | None:
    """The row of an entry that was played before; None where there is none."""
    path = folder / FILE
    if not path.is_file():
        return None
    found: dict[str, Any] = read_json(path)
    found["figures"] = {name: read_interval(one) for name, one in found["figures"].items()}
    return Row(**{**found, "notes": tuple(found["notes"])})


def as_json(row: Row) -> dict[str, Any]:
    """A row in types of json; what is not known is null."""
    found = asdict(row)
    for figure in found["figures"].values():
        figure |= {end: None for end, value in figure.items() if not math.isfinite(value)}
    return found


def further(rows: Sequence[Row]) -> list[str]:
    """Return the names of figures that `compare.columns` has added."""
    return [*dict.fromkeys(name for row in rows for name in row.figures if name not in FIGURES)]


def figures_of(episodes: Sequence[Episode], seconds: Sequence[float]) -> dict[str, Interval]:
    """Return the figures of a row; the interval of the seconds per episode is over batches."""
    found = intervals(episodes) | {SECONDS: student(seconds, (0.0, math.inf))}
    return {name: found[name] for name in FIGURES if name in found}
