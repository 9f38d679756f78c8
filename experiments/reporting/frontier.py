"""The page of many runs: accuracy or score against tokens said, and a table of settings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import NDArray

from laconic.experiments.reporting.look import GREY, MARKERS, MUTED, PALETTE, Picture, draw, say
from laconic.experiments.reporting.page import (
    glossary,
    heading,
    notice,
    page,
    pictures,
    safe,
    table,
)
from laconic.experiments.reporting.records import Run
from laconic.experiments.reporting.standing import counts, standing
from laconic.experiments.reporting.sweep import Setting, Sweep, before, columns, rows
from laconic.experiments.reporting.words import SHARES, label
from laconic.learners.metrics import Interval

_LONGEST_LABEL = 60
_WORDS = {"accuracy": "tasks solved", "score": "score of an episode"}


def frontier(sweep: Sweep) -> Picture:
    """What runs are after against tokens said: a faint mark for a run, a strong one for a mean."""
    goal = sweep.goal
    settings = [one for one in sweep.settings if one.values(goal) and one.values("tokens_said")]
    several = any(len(setting.runs) > 1 for setting in settings)

    def paint(axes: Axes) -> None:
        axes.set_title(f"{label(goal).capitalize()} against tokens said")
        if not settings:
            say(axes, "no finished run yet")
            return
        # The shape moves on at another pace than the colour, so that 49 settings stay apart.
        for number, setting in enumerate(settings):
            marker = MARKERS[(number + number // len(PALETTE)) % len(MARKERS)]
            _mark(axes, setting, goal, PALETTE[number % len(PALETTE)], marker)
        _start(axes, [run for setting in settings for run in setting.runs], goal)
        axes.set(xlabel="tokens said in an episode (fewer is better)", ylabel=_WORDS[goal])
        axes.yaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10]))
        axes.grid(True, axis="both")
        _limits(axes, share=goal in SHARES)
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), labelspacing=0.9)

    over = (
        "Strong marks are means over seeds, their bars 95 % t-intervals over seeds; faint marks are"
        " single runs."
        if several
        else "One run a setting; bars are 95 % intervals over its evaluation tasks."
    )
    caption = f"Last evaluation of each finished run. Up and to the left is better. {over}"
    return Picture(f"{goal}_tokens", caption, draw(10.4, 5.2, 1, paint), wide=True)


def document(folder: Path, runs: Sequence[Run], sweep: Sweep) -> tuple[str, list[Picture]]:
    """The page of a folder of runs and the pictures in it."""
    drawn = [frontier(sweep)]
    counted = sum(len(setting.runs) for setting in sweep.settings)
    facts = [f"{len(runs)} runs", *counts(folder, runs)]
    facts += [f"{counted} in the means", f"{len(sweep.settings)} settings"]
    warned = [f"{_name(folder, run)}: {words}" for run in runs for words in run.warnings]
    absent = [f"{_name(folder, run)}: {reason}" for run, reason in sweep.left_out]
    shared = f"All have <code>{safe(' '.join(sweep.shared))}</code>." if sweep.shared else ""
    body = [
        heading("Laconic · sweep", folder.name, facts),
        notice("Runs warned", warned),
        notice("Left out of the means", absent, mild=True),
        pictures(drawn),
        "<h2>Settings</h2>",
        f'<p class="note">Runs with equal overrides, seed aside, are one setting. {shared} In'
        " brackets: 95 % t-intervals over seeds; with one seed, the interval over its evaluation"
        " tasks. Rewards hold the price, so they compare only between settings of one price.</p>",
        table(columns(sweep), rows(sweep), dense=True) if counted else "<p>None yet.</p>",
        "<h2>Runs</h2>",
        _list(folder, runs),
        glossary(),
    ]
    return page(f"Laconic: {folder.name}", body), drawn


def _mark(axes: Axes, setting: Setting, goal: str, colour: str, marker: str) -> None:
    tokens, reached = setting.after("tokens_said"), setting.after(goal)
    if tokens is None or reached is None:
        return
    if len(setting.runs) > 1:
        # Only runs that have both metrics have a place in the picture.
        points = [
            (run.after.intervals["tokens_said"].mean, run.after.intervals[goal].mean)
            for run in setting.runs
            if run.after and {"tokens_said", goal} <= run.after.intervals.keys()
        ]
        x, y = zip(*points, strict=True)
        axes.scatter(x, y, s=26, marker=marker, color=colour, alpha=0.35, lw=0)
    axes.errorbar(
        tokens.mean,
        reached.mean,
        xerr=_reach(tokens),
        yerr=_reach(reached),
        fmt="none",
        ecolor=colour,
        elinewidth=1.5,
        capsize=3,
        zorder=4,
    )
    axes.plot(
        tokens.mean,
        reached.mean,
        linestyle="none",
        marker=marker,
        color=colour,
        markersize=9,
        markeredgecolor="white",
        markeredgewidth=1,
        zorder=5,
        label=_short(setting.label),
    )


def _start(axes: Axes, runs: Sequence[Run], goal: str) -> None:
    """Where training began, for reference."""
    tokens, reached = before(runs, "tokens_said"), before(runs, goal)
    if tokens is None or reached is None:
        return
    axes.plot(
        tokens.mean,
        reached.mean,
        linestyle="none",
        marker="D",
        markersize=9,
        markerfacecolor="white",
        markeredgecolor=GREY,
        markeredgewidth=1.8,
        label="before training",
    )
    for line in (axes.axhline, axes.axvline):
        line(
            reached.mean if line == axes.axhline else tokens.mean,
            color=MUTED,
            alpha=0.45,
            linewidth=0.9,
            linestyle=(0, (4, 4)),
            zorder=1,
        )


def _limits(axes: Axes, share: bool) -> None:
    """Room around the marks, without leaving what is possible."""
    axes.margins(0.08)
    low, high = axes.get_ylim()
    if share:
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    # A narrow picture would make a point of accuracy look like a gulf.
    middle, half = (low + high) / 2, max((high - low) / 2, 0.08)
    axes.set_ylim(max(middle - half, -0.02), min(middle + half, 1.02 if share else math.inf))
    axes.set_xlim(left=0)


def _reach(interval: Interval) -> NDArray[np.float64] | None:
    if math.isnan(interval.low) or math.isnan(interval.high):
        return None
    low, high = interval.mean - interval.low, interval.high - interval.mean
    return np.array([[max(low, 0.0)], [max(high, 0.0)]])


def _short(label: str) -> str:
    """A label that fits a legend: one override a line, long ones cut."""
    parts = label.split(", ")
    return "\n".join(
        p if len(p) <= _LONGEST_LABEL else p[: _LONGEST_LABEL - 1] + "…" for p in parts
    )


def _list(folder: Path, runs: Sequence[Run]) -> str:
    items = []
    for run in runs:
        name, overrides = _name(folder, run), " ".join(run.overrides or ())
        state = run.state if run.finished else standing(run)
        has_report = (run.folder / "report.html").exists()
        shown = (
            f'<a href="{quote(name)}/report.html">{safe(name)}</a>' if has_report else safe(name)
        )
        items.append(
            f'<li class="wrap">{shown} <span class="muted">{safe(state)}</span>'
            f" <code>{safe(overrides)}</code></li>"
        )
    return f"<ul>{''.join(items)}</ul>"


def _name(folder: Path, run: Run) -> str:
    return run.folder.relative_to(folder).as_posix()
