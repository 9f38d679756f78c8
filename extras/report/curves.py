"""Pictures of training: accuracy, tokens and silence by step, of one run or of a sweep."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.experiments.run_folder.records import Run, goal, thoughtful
from laconic.experiments.statistics.words import label
from laconic.extras.report import look
from laconic.extras.report.sweep import Sweep
from laconic.learners.metrics import is_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST_LABEL = 60
_SIZE = (6.0, 3.7)
_LEARNER = {
    "train/reward": "reward",
    "train/price": "price",
    "learner/clip_fraction": "share of ratios clipped",
    "learner/grad_norm": "gradient norm",
    "learner/loss": "loss",
}


_OVER_TRAINING = {
    "score": (
        ("score",),
        "Score of an episode. Line: training episodes (sampled replies). Dots: evaluations on the"
        " evaluation tasks, with 95 % intervals.",
    ),
    "accuracy": (
        ("accuracy",),
        "Share of tasks solved. Line: training episodes (sampled replies). Dots: evaluations on the"
        " evaluation tasks, with 95 % intervals.",
    ),
    "tokens_said": (
        ("tokens_said",),
        "Tokens that the team said in an episode. Lines and dots as above.",
    ),
    "silence": (
        ("silent_if_uninformed", "spoke_if_informed", "silence_rate"),
        "A team that knows when to speak has both informed-silence curves high: it is silent with"
        " nothing useful to say, and speaks otherwise.",
    ),
    "tokens_read": (
        ("tokens_read",),
        "Tokens that the team read in an episode, including the task.",
    ),
    "tokens_spent": (
        ("tokens_spent",),
        "Tokens that the team said and thought in an episode.",
    ),
}
"""Name of a picture -> its metrics and its caption."""


def curves(run: Run) -> list[look.Picture]:
    """Draw the pictures whose metrics a run has; for an empty run, all of them."""
    first = goal([run])
    recorded = {name for name in _OVER_TRAINING if _recorded(run, name)}
    pictures = [
        _over_training(run, name, *_OVER_TRAINING[name])
        for name in _OVER_TRAINING
        if (name in recorded or not recorded) and (name != "score" or first == "score")
    ]
    learner = _learner(run)
    return [*pictures, learner] if learner else pictures


def _recorded(run: Run, picture: str) -> bool:
    """Check whether the run has a metric of a picture."""
    metrics, _ = _OVER_TRAINING[picture]
    if picture == "tokens_spent" and not thoughtful(run):
        return False
    return any(
        run.series(f"train/{name}")[0] or any(name in entry.intervals for entry in run.evaluations)
        for name in metrics
    )


def smooth(values: Sequence[float]) -> list[float]:
    """Return a centered moving average over about a fifteenth of the values."""
    half = max(len(values) // 30, 1)
    sums = np.concatenate(([0.0], np.cumsum(values)))
    places = np.arange(len(values))
    low, high = np.maximum(places - half, 0), np.minimum(places + half + 1, len(values))
    return [float(mean) for mean in (sums[high] - sums[low]) / (high - low)]


def _over_training(run: Run, name: str, metrics: Sequence[str], caption: str) -> look.Picture:
    colors = (look.BLUE, look.GREEN, look.GREY) if len(metrics) > 1 else (look.BLUE,)
    title = {"silence": "Silence, and informed silence"}.get(name, label(name).capitalize())

    def paint(axes: Axes) -> None:
        has_data = [
            _curve(axes, run, metric, color, marker, alone=len(metrics) == 1)
            for metric, color, marker in zip(metrics, colors, "osD", strict=False)
        ]
        axes.set_title(title, pad=28)
        if not any(has_data):
            look.placeholder(axes, "nothing recorded yet")
            return
        _frame(axes, run, metrics)
        legend = axes.legend(
            loc="lower left", bbox_to_anchor=(-0.02, 0.99), ncols=3, columnspacing=1.2
        )
        # The padding of the title leaves room for the legend, which must not shrink the axes.
        legend.set_in_layout(False)

    png, points = look.draw_with_points(*_SIZE, 1, paint)
    return look.Picture(name, caption, png, points=_labels(points))


def _curve(axes: Axes, run: Run, metric: str, color: str, marker: str, alone: bool) -> bool:
    """Draw a metric in training and evaluation; return False if there are no values.

    The legend of a metric that is `alone` names training and evaluation, else the metrics.
    """
    steps, values = run.series(f"train/{metric}")
    if steps:
        axes.plot(steps, values, color=color, alpha=0.22, linewidth=1, gid=metric)
        axes.plot(steps, smooth(values), color=color, alpha=0.75)
    points = [
        (entry.step, entry.intervals[metric])
        for entry in run.evaluations
        if metric in entry.intervals
    ]
    dots: Any = {"marker": marker, "markeredgecolor": "white", "markeredgewidth": 0.8}
    for step, interval in points:
        if not math.isnan(interval.low) and not math.isnan(interval.high):
            axes.vlines(step, interval.low, interval.high, color=color, linewidth=2.2, zorder=4)
        style: Any = {"color": color, "markersize": 6, "zorder": 5, "clip_on": False, **dots}
        axes.plot(step, interval.mean, gid=f"{metric}, evaluation", **style)
    if alone:
        axes.plot([], [], color=color, alpha=0.75, label="training episodes")
        words = "evaluation, 95 % interval"
        axes.plot([], [], color=color, linestyle="none", markersize=6.5, label=words, **dots)
    else:
        axes.plot([], [], color=color, markersize=6.5, label=label(metric), **dots)
    return bool(steps or points)


def _frame(axes: Axes, run: Run, metrics: Sequence[str]) -> None:
    last = max(run.last_step, 1)
    axes.set_xlim(-0.03 * last, 1.03 * last)
    axes.set_xlabel("training step")
    look.ticks(axes.xaxis, 6, integer=True)
    look.ticks(axes.yaxis, 6)
    if is_share(metrics[0]):
        # One percentage alone starts at the quarter below it, so that small changes are visible.
        lowest = axes.dataLim.y0 - 0.02 if len(metrics) == 1 else 0.0
        axes.set_ylim(max(math.floor(4 * lowest) / 4, 0.0), 1.02)
        look.in_percent(axes.yaxis)
    else:
        axes.margins(y=0.1)
        axes.set_ylim(bottom=min(axes.dataLim.y0, 0.0))


def _learner(run: Run) -> look.Picture | None:
    """Draw small panels of the learner's metrics; None if none was recorded."""
    series = {name: run.series(name)[1] for name in _LEARNER}
    # A constant price is already among the settings.
    names = [
        name
        for name, values in series.items()
        if values and (name != "train/price" or len(set(values)) > 1)
    ][:4]
    if not names:
        return None

    def paint(*panels: Axes) -> None:
        for axes, name, color in zip(
            panels, names, (look.INK, look.ORANGE, look.BLUE, look.GREEN), strict=False
        ):
            steps, values = run.series(name)
            is_set = name == "train/price"
            axes.plot(steps, values, color=color, alpha=0.25, linewidth=1, gid=name)
            axes.plot(steps, values if is_set else smooth(values), color=color)
            axes.set_title(_LEARNER[name], fontsize=10, fontweight="normal", pad=8)
            axes.set_xlabel("training step")
            look.ticks(axes.xaxis, 4, integer=True)
            look.ticks(axes.yaxis, 5)
            if min(values) >= 0:
                axes.set_ylim(bottom=0)

    caption = "Metrics of the learner by step: faint as recorded, strong smoothed."
    png, points = look.draw_with_points(12.4, 2.6, len(names), paint)
    return look.Picture("learner", caption, png, wide=True, points=_labels(points))


def of_settings(sweep: Sweep, environment: str = "") -> look.Picture | None:
    """Draw the main metric and the tokens of one environment by step.

    A line is the mean over the seeds of a setting; None if no run recorded its training.
    """
    names = (sweep.goal, "tokens_said")
    lines = [
        [_mean_series(setting.runs, f"train/{name}") for setting in sweep.settings]
        for name in names
    ]
    if not any(steps for panel in lines for steps, _ in panel):
        return None

    def paint(*panels: Axes) -> None:
        styles = look.marks(len(sweep.settings))
        for axes, name, series in zip(panels, names, lines, strict=True):
            for (steps, values), setting, (color, _) in zip(
                series, sweep.settings, styles, strict=True
            ):
                gid = f"{name}, {setting.label}"
                axes.plot(steps, values, color=color, alpha=0.2, linewidth=1, gid=gid)
                axes.plot(steps, smooth(values), color=color, label=short(setting.label))
            axes.set_title(label(name).capitalize())
            axes.set_xlabel("training step")
            axes.set_ylim(bottom=0)
            if is_share(name):
                look.in_percent(axes.yaxis)
        panels[-1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))

    caption = "Training episodes (sampled replies), means over the seeds of a setting; strong lines"
    where = f"{environment}: " if environment else ""
    png, points = look.draw_with_points(12.4, 3.6, 2, paint)
    name = "_".join(re.findall(r"[\w-]+", environment) + ["training"])
    return look.Picture(name, f"{where}{caption} are smoothed.", png, True, _labels(points))


def short(text: str) -> str:
    """Shorten a label to fit a legend: one override per line, long ones cut."""
    parts = text.split(", ")
    return "\n".join(
        p if len(p) <= _LONGEST_LABEL else p[: _LONGEST_LABEL - 1] + "…" for p in parts
    )


def _mean_series(runs: Sequence[Run], name: str) -> tuple[list[int], list[float]]:
    """Average a metric by step over the runs that have it."""
    values_at: dict[int, list[float]] = {}
    for run in runs:
        for step, value in zip(*run.series(name), strict=True):
            values_at.setdefault(step, []).append(value)
    steps = sorted(values_at)
    return steps, [float(np.mean(values_at[step])) for step in steps]


def _labels(points: Sequence[look.Point]) -> tuple[tuple[float, float, str], ...]:
    """Label points of training with step, metric and value (`Picture.points`)."""
    labels = []
    for point in points:
        metric, _, rest = point.name.partition(", ")
        (step, value), bare = point.at, metric.rpartition("/")[2]
        number = f"{100 * value:.1f} %" if is_share(bare) else f"{value:.4g}"
        words = f"step {step:.0f}: {label(bare)} {number}{f' ({rest})' if rest else ''}"
        labels.append((round(point.place[0], 2), round(point.place[1], 2), words))
    return tuple(labels)
