"""The picture of a comparison: accuracy against tokens said, with intervals; and score, too."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import NDArray

from laconic.experiments.comparing.rows import Row
from laconic.experiments.comparing.table import NAME, told
from laconic.experiments.reporting.look import GREY, MARKERS, MUTED, PALETTE, Picture, draw, say
from laconic.learners.metrics import Interval

_HEIGHT, _PANEL, _LEGEND = 4.8, 5.6, 2.2
"""Inches."""
_CAPTION = (
    "Each mark is an entry, its bars 95 % intervals over tasks. Up and to the left is better."
    " Scripts, which know the answers, are hollow."
)


def picture(title: str, rows: Sequence[Row], budget: int | None) -> Picture:
    """Draw the finished rows.

    Args:
        title: what they were compared on.
        rows: in the order of the table, which is that of the legend.
        budget: tokens that could be said in an episode; None for no limit.
    """
    shown = [row for row in rows if row.state == "finished"]
    metrics = [name for name in told(shown) if name in ("accuracy", "score")] or ["score"]

    def paint(*axes: Axes) -> None:
        for place, (one, metric) in enumerate(zip(axes, metrics, strict=True)):
            _panel(one, metric, shown, budget)
            one.set_title(title if place == 0 else " ")
        if axes[-1].get_legend_handles_labels()[0]:
            legend = axes[-1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), labelspacing=0.8)
            for handle in legend.legend_handles:
                if isinstance(handle, Line2D):
                    handle.set_markersize(8.5)

    width = _PANEL * len(metrics) + _LEGEND
    return Picture(NAME, _CAPTION, draw(width, _HEIGHT, len(metrics), paint), wide=True)


def _panel(axes: Axes, metric: str, rows: Sequence[Row], budget: int | None) -> None:
    if not rows:
        say(axes, "no finished entry yet")
        return
    rows = [row for row in rows if {"tokens_said", metric} <= row.figures.keys()]
    if not rows:
        say(axes, "the environment does not tell how many tokens are said")
        return
    for number, (row, (colour, marker)) in enumerate(zip(rows, _marks(rows), strict=True)):
        # Where marks coincide, those drawn first are larger and show around the others.
        over = sum(_coincide(row, other, metric) for other in rows[number + 1 :])
        _mark(axes, row, metric, (colour, marker), 8.5 + 4.5 * min(over, 3))
    axes.set(xlabel="tokens said in an episode (fewer is better)", ylabel=_label(metric))
    axes.yaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10]))
    if metric == "accuracy":
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    axes.grid(True, axis="both")
    _limits(axes, metric, rows, budget)


def _marks(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Colour and shape of each row; scripts are grey and told apart by their shape."""
    made, spoken, scripts = [], 0, 0
    for row in rows:
        if row.script:
            made.append((GREY, MARKERS[scripts % len(MARKERS)]))
            scripts += 1
        else:
            # The shape moves on at another pace than the colour, so that 49 entries stay apart.
            marker = MARKERS[(spoken + spoken // len(PALETTE)) % len(MARKERS)]
            made.append((PALETTE[spoken % len(PALETTE)], marker))
            spoken += 1
    return made


def _coincide(one: Row, other: Row, metric: str) -> bool:
    tokens = [row.figures["tokens_said"].mean for row in (one, other)]
    values = [row.figures[metric].mean for row in (one, other)]
    return math.isclose(*tokens, rel_tol=0.02, abs_tol=0.5) and math.isclose(*values, abs_tol=0.01)


def _mark(axes: Axes, row: Row, metric: str, look: tuple[str, str], size: float) -> None:
    colour, marker = look
    tokens, value = row.figures["tokens_said"], row.figures[metric]
    axes.errorbar(
        tokens.mean,
        value.mean,
        xerr=_reach(tokens),
        yerr=_reach(value),
        fmt="none",
        ecolor=colour,
        elinewidth=1.4,
        capsize=3,
        zorder=4,
        clip_on=False,
    )
    axes.plot(
        tokens.mean,
        value.mean,
        linestyle="none",
        marker=marker,
        color=colour,
        markersize=size,
        markerfacecolor="white" if row.script else colour,
        markeredgecolor=colour if row.script else "white",
        markeredgewidth=1.6 if row.script else 1.0,
        zorder=5,
        clip_on=False,
        label=row.name,
    )


def _limits(axes: Axes, metric: str, rows: Sequence[Row], budget: int | None) -> None:
    """Room around the marks; the budget where it is not far off."""
    most = max(row.figures["tokens_said"].high for row in rows)
    right = max(1.08 * most, 1.0)
    if budget is not None and budget <= 2 * most:
        axes.axvline(budget, color=MUTED, alpha=0.6, linewidth=0.9, linestyle=(0, (4, 4)), zorder=1)
        right = max(right, 1.04 * budget)
        axes.annotate(
            "budget",
            (budget, 0.5),
            xycoords=axes.get_xaxis_transform(),
            xytext=(-4, 0),
            textcoords="offset points",
            color=MUTED,
            rotation=90,
            ha="right",
            va="center",
        )
    axes.set_xlim(-0.02 * right, right)
    if metric == "accuracy":
        axes.set_ylim(-0.03, 1.03)
    else:
        axes.margins(y=0.08)


def _label(metric: str) -> str:
    return "tasks solved" if metric == "accuracy" else "score"


def _reach(interval: Interval) -> NDArray[np.float64] | None:
    if math.isnan(interval.low) or math.isnan(interval.high):
        return None
    low, high = interval.mean - interval.low, interval.high - interval.mean
    return np.array([[max(low, 0.0)], [max(high, 0.0)]])
