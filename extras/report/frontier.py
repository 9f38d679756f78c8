"""Page of many runs: accuracy or score against tokens said, and a table of settings."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from laconic.experiments.run_folder.records import Run, thinking
from laconic.experiments.statistics.words import label
from laconic.extras.report import look
from laconic.extras.report.curves import of_settings, short
from laconic.extras.report.facts import facts_of_all, title
from laconic.extras.report.page import fill
from laconic.extras.report.standing import counts, progress_of
from laconic.extras.report.sweep import (
    Setting,
    Sweep,
    before,
    columns,
    compared,
    compared_columns,
    rows,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def frontier(sweep: Sweep, environment: str = "") -> look.Picture:
    """Draw the main metric against tokens spent: faint marks for runs, strong ones for means."""
    goal = sweep.goal
    settings = [
        setting
        for setting in sweep.settings
        if setting.after(goal) and setting.after("tokens_spent")
    ]
    evaluations = [entry for run in sweep.runs for entry in (run.before, run.after) if entry]
    thoughts = thinking(entry.intervals for entry in evaluations)
    several = any(len(setting.runs) > 1 for setting in settings)

    def paint(axes: Axes) -> None:
        where = f"{environment}: {label(goal)}" if environment else label(goal).capitalize()
        tokens = "tokens said and thought" if thoughts else "tokens said"
        axes.set_title(f"{where} against {tokens}")
        if not settings:
            look.placeholder(axes, "no finished run yet")
            return
        for setting, style in zip(settings, look.marks(len(settings)), strict=True):
            _mark(axes, setting, goal, style)
        runs = [run for setting in settings for run in setting.runs]
        _start(axes, runs, goal)
        # Runs on the same tasks have the same frontiers.
        frontiers = [run.after.floors for run in runs if run.after and run.after.floors]
        if goal == "accuracy" and frontiers:
            look.floors(axes, frontiers[-1])
        look.against_tokens(axes, goal, thoughts)
        _limits(axes, share=goal == "accuracy")
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), labelspacing=0.9)

    over = (
        "Strong marks are means over seeds with 95 % intervals over seeds and tasks; faint marks"
        " are single runs."
        if several
        else "One run per setting; bars are 95 % intervals over its evaluation tasks."
    )
    caption = f"Last evaluation of each finished run. Up and to the left is better. {over}"
    name = "_".join(re.findall(r"[\w-]+", environment) + [f"{goal}_tokens"])
    return look.Picture(
        name,
        f"{environment}: {caption}" if environment else caption,
        look.draw(10.4, 5.2, 1, paint),
        wide=True,
    )


def document(folder: Path, runs: Sequence[Run], sweep: Sweep) -> tuple[str, list[look.Picture]]:
    """Make the page of a folder of runs and its pictures."""
    by_environment = sweep.environments
    # A single environment is already among the facts.
    pictures = [
        picture
        for name, part in by_environment.items()
        for make in (frontier, of_settings)
        if (picture := make(part, name if len(by_environment) > 1 else ""))
    ]
    tables = [
        (name, columns(part), rows(part), compared_columns(part), compared(part))
        for name, part in by_environment.items()
    ]
    about = facts_of_all(runs)
    facts = [folder.name, f"{len(runs)} runs", *counts(folder, runs)]
    facts += [f"{len(sweep.runs)} in the means", f"{len(sweep.settings)} settings"]
    page = fill(
        "sweep.html",
        kind="sweep",
        name=title(about, folder.name),
        facts=facts,
        about=about,
        warned=[f"{_name(folder, run)}: {words}" for run in runs for words in run.warnings],
        left_out=[f"{_name(folder, run)}: {reason}" for run, reason in sweep.left_out],
        drawn=pictures,
        shared=sweep.shared,
        tables=tables,
        runs=[_list_entry(folder, run) for run in runs],
    )
    return page, pictures


def _mark(axes: Axes, setting: Setting, goal: str, style: tuple[str, str]) -> None:
    tokens, reached = setting.after("tokens_spent"), setting.after(goal)
    if tokens is None or reached is None:
        return
    if len(setting.runs) > 1:
        # Only runs with both metrics are drawn.
        points = [
            (spent.mean, run.after.intervals[goal].mean)
            for run in setting.runs
            if run.after and (spent := run.after.figure("tokens_spent"))
            if goal in run.after.intervals
        ]
        x, y = zip(*points, strict=True)
        axes.scatter(x, y, s=26, marker=style[1], color=style[0], alpha=0.35, lw=0)
    look.mark(axes, (tokens, reached), style, short(setting.label))


def _start(axes: Axes, runs: Sequence[Run], goal: str) -> None:
    """Draw the figures before training, for reference."""
    tokens, reached = before(runs, "tokens_spent"), before(runs, goal)
    if tokens is None or reached is None:
        return
    hollow: Any = {"markerfacecolor": "white", "markeredgecolor": look.GREY, "markeredgewidth": 1.8}
    where = tokens.mean, reached.mean
    axes.plot(*where, "D", markersize=9, label="before training", **hollow)
    line: Any = {"color": look.MUTED, "alpha": 0.45, "linewidth": 0.9, "linestyle": (0, (4, 4))}
    axes.axvline(tokens.mean, zorder=1, **line)
    axes.axhline(reached.mean, zorder=1, **line)


def _limits(axes: Axes, share: bool) -> None:
    """Set the limits of the axes around the marks, within the possible range."""
    axes.margins(0.08)
    low, high = axes.get_ylim()
    # A narrow range would make one point of accuracy look like a large difference.
    middle, half = (low + high) / 2, max((high - low) / 2, 0.08)
    axes.set_ylim(max(middle - half, -0.02), min(middle + half, 1.02 if share else math.inf))
    axes.set_xlim(left=0)


def _list_entry(folder: Path, run: Run) -> dict[str, str]:
    """Return an entry of the list of runs; `link` is empty if the run has no report."""
    name = _name(folder, run)
    return {
        "name": name,
        "link": f"{quote(name)}/report.html" if (run.folder / "report.html").exists() else "",
        "state": run.state if run.finished else progress_of(run),
        "overrides": " ".join(run.overrides or ()),
    }


def _name(folder: Path, run: Run) -> str:
    return run.folder.relative_to(folder).as_posix()
