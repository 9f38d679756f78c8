"""Show the worth of a team's words as a table and as a picture.

A row of `demand.jsonl` holds figures and curve at a step of training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.experiments.run_folder.folder import read_rows
from laconic.experiments.run_folder.runs import read_interval
from laconic.experiments.statistics.words import level
from laconic.extras.analysis.demand_statistics import FILE, GLOSSARY, TrainedRun
from laconic.extras.report import look
from laconic.extras.report.single import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = ("figure", "first", "last")
LABELS: Mapping[str, str] = {
    "worth": "worth of a message",
    "worth_informed": "of one with something useful",
    "worth_uninformed": "of one with nothing useful",
    "worthless_tokens": "tokens that add nothing",
    "needed_share": "needed of a useful message",
    "spare_tokens": "tokens that can be left out",
    "tokens": "tokens said",
    "bought": "tokens bought at this price",
    "bought_cut": "tokens bought, messages cut",
    "pays": "useful messages that pay",
    "surplus": "surplus",
    "elasticity": "elasticity",
    "choke_price": "choke price",
    "weakest_link": "weakest link stops paying",
}
"""Label of each figure, in the order of `GLOSSARY`."""
_SHARES = ("worthless_tokens", "needed_share", "spare_tokens", "pays")
_CAPTION = (
    "Left: tokens per episode of messages that are worth more than they cost, whole, or cut where"
    " they pay best. Bands are 95 % intervals over tasks. Right: share of its worth that a useful"
    " message has after a part of its tokens, with all other messages as they were said."
)

_KEYS = {"figures", "curve"}
Line = Mapping[str, Any]
"""Row of `demand.jsonl`."""


def section(folder: Path) -> Section | None:
    """Return the section of a run's page; None if demand was not measured."""
    measured = {row["step"]: row for row in read_rows(folder / FILE) if row.keys() >= _KEYS}
    if not measured:
        return None
    lines = [measured[step] for step in sorted(measured)]
    columns = COLUMNS[: 1 + min(len(lines), 2)]
    return Section("What its words are worth", picture(lines), columns, rows(lines))


def rows(lines: Sequence[Line]) -> list[tuple[str, ...]]:
    """Return each figure at the first measured step and, if there are several, at the last."""
    first_and_last = [lines[0], *lines[-1:]] if len(lines) > 1 else list(lines)
    cells = {
        name: [_level(name, line["figures"].get(name)) for line in first_and_last]
        for name in GLOSSARY
    }
    return [(LABELS[name], *each) for name, each in cells.items()]


def run_rows(compared: Sequence[TrainedRun]) -> list[tuple[str, ...]]:
    """Return a table row for each trained run and its predictions."""
    return [
        (
            f"seed {run.seed}" if run.seed else run.run,
            f"{run.price:g}",
            f"{run.tokens_said:.1f}",
            f"{run.bought:.1f}",
            f"{run.bought_cut:.1f}",
            "yes" if run.near else "no",
            "yes" if run.collapsed else "no",
        )
        for run in compared
    ]


def picture(lines: Sequence[Line], compared: Sequence[TrainedRun] = ()) -> look.Picture:
    """Draw demand against price, with trained runs, and worth against the part of a message."""
    last = lines[-1]

    def paint(demand: Axes, worth: Axes) -> None:
        _curve(demand, last)
        if len(lines) > 1:
            first = lines[0]["curve"]
            before = [interval["mean"] for interval in first["bought"]]
            style: Any = {"color": look.GREY, "linestyle": (0, (4, 3))}
            demand.plot(first["price"], before, label=f"whole, step {lines[0]['step']}", **style)
        _runs(demand, compared)
        demand.legend(loc="upper right")
        _worth(worth, lines)

    return look.Picture("demand", _CAPTION, look.draw(10.4, 4.4, 2, paint), wide=True)


def _curve(axes: Axes, line: Line) -> None:
    curve, prices = line["curve"], line["curve"]["price"]
    names = {"bought": ("messages whole", look.BLUE), "bought_cut": ("messages cut", look.GREEN)}
    for name, (label, color) in names.items():
        mean, low, high = (
            [interval[k] for interval in curve[name]] for k in ("mean", "low", "high")
        )
        axes.plot(prices, mean, color=color, label=label)
        axes.fill_between(prices, low, high, color=color, alpha=0.15, linewidth=0)
    choke = line["figures"].get("choke_price")
    if line["price"] <= prices[-1]:
        _upright(axes, line["price"], "price", 0.03, "bottom")
    if choke and choke["mean"] <= prices[-1]:
        _upright(axes, choke["mean"], "choke price", 0.97, "top")
    axes.set(xlabel="price (reward units)", ylabel="tokens per episode")
    axes.set_title("What the team would buy")
    axes.set_xlim(0, prices[-1])
    axes.set_ylim(bottom=0)


def _upright(axes: Axes, at: float, words: str, height: float, side: str) -> None:
    """Draw a labeled dashed line at a price."""
    axes.axvline(at, color=look.MUTED, alpha=0.6, linewidth=0.9, linestyle=(0, (4, 4)))
    where: Any = {"xycoords": axes.get_xaxis_transform(), "textcoords": "offset points"}
    axes.annotate(words, (at, height), (3, 0), color=look.MUTED, rotation=90, va=side, **where)


def _runs(axes: Axes, compared: Sequence[TrainedRun]) -> None:
    for collapsed, label in ((False, "trained"), (True, "trained, silent")):
        runs = [run for run in compared if run.collapsed == collapsed]
        if runs:
            x, y = [run.price for run in runs], [run.tokens_said for run in runs]
            face = "white" if collapsed else look.RED
            axes.scatter(
                x, y, s=26, color=face, edgecolor=look.RED, zorder=5, label=label, clip_on=False
            )
    if compared:
        axes.set_xlim(right=max(axes.get_xlim()[1], 1.05 * max(run.price for run in compared)))


def _worth(axes: Axes, lines: Sequence[Line]) -> None:
    axes.set_title("Where the worth is")
    measured = [row for row in (lines[0], *lines[1:][-1:]) if row["curve"]["reached"]]
    if not measured:
        look.placeholder(axes, "no message is worth anything")
        return
    for line, color in zip(measured[::-1], (look.BLUE, look.GREY), strict=False):
        reached = line["curve"]["reached"]
        at = np.linspace(0, 1, len(reached))
        axes.plot(at, reached, color=color, label=f"step {line['step']}")
    look.in_percent(axes.xaxis, axes.yaxis)
    axes.set(xlabel="tokens of a useful message, from the first", ylabel="share of its worth")
    if len(measured) > 1:
        axes.legend(loc="upper left")


def _level(name: str, entry: Mapping[str, Any] | None) -> str:
    # Shares are written in percent, as accuracy is.
    interval = None if entry is None else read_interval(entry)
    return level("accuracy" if name in _SHARES else name, interval)
