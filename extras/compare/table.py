"""Table of a comparison: on the console, as Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from laconic.envs.dialogue.messages import printable
from laconic.experiments.run_folder.folder import write_atomically
from laconic.experiments.run_folder.records import graded
from laconic.experiments.statistics.words import NOTHING, change, level, text_table
from laconic.extras.compare.rows import CHANGES, FIGURES, SECONDS, Row, as_json, further

NAME = "comparison"
"""File name of the table and the picture, without the ending."""
_HEADS = {
    "accuracy": "accuracy",
    "spoke_if_informed": "spoke with something useful",
    "score": "score",
    "tokens_said": "tokens said",
    "tokens_read": "tokens read",
    "tokens_thought": "tokens thought",
    "silence_rate": "silence",
    SECONDS: "s / episode",
}
_WIDTH = 180
_ENDS = ("mean", "low", "high")


def metrics_of(rows: Sequence[Row]) -> list[str]:
    """List the metrics that some row has, time last; without figures, all metrics."""
    present = {name for row in rows for name in row.figures} or set(_HEADS)
    scored = graded(row.figures for row in rows)
    names = [name for name in _HEADS if name in present and (name != "score" or scored)]
    return sorted([*names, *further(rows)], key=SECONDS.__eq__)


def write(folder: Path, title: str, facts: Mapping[str, Any], rows: Sequence[Row]) -> None:
    """Write `comparison.json` (with the facts of all rows), `.csv` and `.md` atomically."""
    document = {**facts, "entries": [as_json(row) for row in rows]}
    texts = {
        "json": json.dumps(document, indent=2, allow_nan=False) + "\n",
        "csv": _csv(rows),
        "md": markdown(title, rows),
    }
    for ending, text in texts.items():
        write_atomically(folder / f"{NAME}.{ending}", text)


def show(title: str, rows: Sequence[Row], console: Console | None = None) -> None:
    """Print the table with intervals in brackets, and the notes below it."""
    console = console or Console()
    if not console.is_terminal:
        # A file has no width at which intervals would have to wrap.
        console.width = max(console.width, _WIDTH)
    heads, cells = _cells(rows, "\n")
    console.print(text_table(title, heads, cells, whole="first"))
    for note in _notes(rows):
        console.print(
            printable(note), highlight=False, markup=False, soft_wrap=not console.is_terminal
        )


def markdown(title: str, rows: Sequence[Row]) -> str:
    """Return the table and its notes as Markdown."""
    heads, cells = _cells(rows, " ")
    lines = [title, "", _line(heads), _line(["---", *["---:"] * (len(heads) - 1)])]
    lines += [_line([cell.replace("|", "\\|") for cell in line]) for line in cells]
    notes = _notes(rows)
    return "\n".join([*lines, *(["", *(f"- {note}" for note in notes)] if notes else [])]) + "\n"


def _cells(rows: Sequence[Row], gap: str) -> tuple[list[str], list[list[str]]]:
    """Return heads and cells; `gap` separates a mean from its interval."""
    metrics = metrics_of(rows)
    goals = ("score", "accuracy") if "score" in metrics else ("accuracy",)
    compared = next((name for name in goals if any(name in row.changes for row in rows)), "")
    cells = []
    for row in rows:
        if row.state == "left out":
            continue
        if row.state == "failed":
            cells.append([row.name, "failed", *[NOTHING] * (len(metrics) - 1 + bool(compared))])
        else:
            texts = [_level(row, name) for name in metrics]
            if compared:
                texts.insert(metrics.index(compared) + 1, _change(row, compared))
            cells.append([row.name, *(text.replace(" [", f"{gap}[") for text in texts)])
    heads = [_HEADS.get(name, name.replace("_", " ")) for name in metrics]
    if compared:
        heads.insert(metrics.index(compared) + 1, "change")
    return ["entry", *heads], cells


def _level(row: Row, name: str) -> str:
    figure = row.figures.get(name)
    if name != SECONDS or figure is None:
        return level(name, figure)
    mean, low, high = (f"{value:.3g}" for value in (figure.mean, figure.low, figure.high))
    return mean if math.isnan(figure.low) else f"{mean} [{low}, {high}]"


def _change(row: Row, name: str) -> str:
    figure = row.figures.get(name)
    return change(name, figure, figure, row.changes.get(name))


def _notes(rows: Sequence[Row]) -> list[str]:
    """Return the notes of all rows, one line each; rows with the same note share a line."""
    rows_of: dict[str, list[str]] = {}
    for row in rows:
        for note in row.notes:
            state = "" if row.state == "finished" else f"{row.state}: "
            rows_of.setdefault(f"{state}{note}", []).append(row.name)
    return [f"{', '.join(names)}: {note}" for note, names in rows_of.items()]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _csv(rows: Sequence[Row]) -> str:
    """Return all figures with their intervals as CSV; an unknown number is empty."""
    buffer = io.StringIO()
    changes = [f"{name}_change" for name in CHANGES]
    ends = [f"{name}_{end}" for name in (*FIGURES, *further(rows), *changes) for end in _ENDS]
    heads = ["entry", "state", "episodes", "votes", *ends, "notes"]
    writer = csv.DictWriter(buffer, heads, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        line: dict[str, Any] = {"entry": row.name, "notes": "; ".join(row.notes)}
        line |= {name: getattr(row, name) for name in ("state", "episodes", "votes")}
        changed = {f"{name}_change": figure for name, figure in row.changes.items()}
        for name, figure in {**row.figures, **changed}.items():
            values = ((end, float(getattr(figure, end))) for end in _ENDS)
            line |= {f"{name}_{end}": value for end, value in values if not math.isnan(value)}
        writer.writerow(line)
    return buffer.getvalue()
