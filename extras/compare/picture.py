"""Picture of a comparison: accuracy and score against tokens spent, with intervals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from laconic.experiments.run_folder.records import thinking
from laconic.extras.compare.rows import Row
from laconic.extras.compare.table import NAME, metrics_of
from laconic.extras.report import look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT, _PANEL, _LEGEND = 4.8, 5.6, 2.2
"""Sizes in inches: height, width of a panel, width of the legend."""
_CAPTION = (
    "Each mark is an entry with 95 % intervals over tasks. Up and to the left is better."
    " Scripts, which know the answers, are hollow. Dashed lines: the fewest tokens with which a"
    " team reaches an accuracy."
)


def picture(
    title: str,
    rows: Sequence[Row],
    budget: int | None,
    floors: Mapping[str, Sequence[Sequence[float]]] = MappingProxyType({}),
) -> look.Picture:
    """Draw the finished rows in the order of the table, and the frontiers of fewest tokens.

    A `budget` of None has no limit. `floors` holds (tokens, accuracy) of corners, by name.
    """
    finished = [row for row in rows if row.state == "finished"]
    metrics = [name for name in metrics_of(finished) if name in ("accuracy", "score")] or ["score"]

    def paint(*axes: Axes) -> None:
        for place, (panel, metric) in enumerate(zip(axes, metrics, strict=True)):
            _panel(panel, metric, finished, budget)
            panel.set_title(title if place == 0 else " ")
            if metric == "accuracy" and finished:
                look.floors(panel, floors)
        if axes[-1].get_legend_handles_labels()[0]:
            legend = axes[-1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), labelspacing=0.8)
            for line in legend.get_lines():
                line.set_markersize(8.5)

    width = _PANEL * len(metrics) + _LEGEND
    return look.Picture(NAME, _CAPTION, look.draw(width, _HEIGHT, len(metrics), paint), wide=True)


def _panel(axes: Axes, metric: str, rows: Sequence[Row], budget: int | None) -> None:
    if not rows:
        look.placeholder(axes, "no finished entry yet")
        return
    rows = [row for row in rows if {"tokens_said", metric} <= row.figures.keys()]
    if not rows:
        look.placeholder(axes, "the environment does not report the tokens said")
        return
    for number, (row, style) in enumerate(zip(rows, _marks(rows), strict=True)):
        # Of marks at the same place, those drawn first are larger, so that all can be seen.
        over = sum(_coincide(row, other, metric) for other in rows[number + 1 :])
        size = 8.5 + 4.5 * min(over, 3)
        at = row.spent, row.figures[metric]
        look.mark(axes, at, style, row.name, size=size, hollow=row.script, clip_on=False)
    look.against_tokens(axes, metric, thinking(row.figures for row in rows))
    _limits(axes, metric, rows, budget)


def _marks(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Return color and shape of each row; scripts are grey and differ in shape."""
    styles = iter(look.marks(len(rows)))
    shapes = itertools.cycle(look.MARKERS)
    return [(look.GREY, next(shapes)) if row.script else next(styles) for row in rows]


def _coincide(first: Row, second: Row, metric: str) -> bool:
    tokens = [row.spent.mean for row in (first, second)]
    values = [row.figures[metric].mean for row in (first, second)]
    return math.isclose(*tokens, rel_tol=0.02, abs_tol=0.5) and math.isclose(*values, abs_tol=0.01)


def _limits(axes: Axes, metric: str, rows: Sequence[Row], budget: int | None) -> None:
    """Set the limits of the axes, and draw the budget if it is close to the marks."""
    # An exact figure has no interval.
    most = max(max(row.spent.mean, row.spent.high) for row in rows)
    right = max(1.08 * most, 1.0)
    if budget is not None and budget <= 2 * most:
        axes.axvline(
            budget, color=look.MUTED, alpha=0.6, linewidth=0.9, linestyle=(0, (4, 4)), zorder=1
        )
        right = max(right, 1.04 * budget)
        axes.annotate(
            "budget",
            (budget, 0.5),
            xycoords=axes.get_xaxis_transform(),
            xytext=(-4, 0),
            textcoords="offset points",
            color=look.MUTED,
            rotation=90,
            ha="right",
            va="center",
        )
    axes.set_xlim(-0.02 * right, right)
    if metric == "accuracy":
        axes.set_ylim(-0.03, 1.03)
    else:
        axes.margins(y=0.08)
