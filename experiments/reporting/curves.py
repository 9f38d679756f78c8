"""Pictures of one run: how accuracy, tokens and silence moved over training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from laconic.experiments.reporting import look
from laconic.experiments.reporting.records import Run, goal
from laconic.experiments.reporting.words import SHARES, label

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
        "What an episode's work is worth. Line: training episodes (sampled replies). Dots:"
        " evaluations on the evaluation tasks, with 95 % intervals.",
    ),
    "accuracy": (
        ("accuracy",),
        "Share of tasks solved. Line: training episodes (sampled replies). Dots: evaluations on the"
        " evaluation tasks, with 95 % intervals.",
    ),
    "tokens_said": (
        ("tokens_said",),
        "Tokens the whole team said in an episode. Lines and dots as before.",
    ),
    "silence": (
        ("silent_if_uninformed", "spoke_if_informed", "silence_rate"),
        "A team that has learned when to speak has both informed-silence curves high: quiet with"
        " nothing useful to tell, and not quiet otherwise.",
    ),
    "tokens_read": (
        ("tokens_read",),
        "Tokens the whole team read in an episode, the task among them.",
    ),
    "tokens_spent": (
        ("tokens_spent",),
        "Tokens the whole team said and thought in an episode, together.",
    ),
}
"""Pictures: name, metrics that are drawn, caption."""


def curves(run: Run) -> list[look.Picture]:
    """All pictures of a run that have something to show; of an empty run, all there may be."""
    first = goal([run])
    told = {name for name in _OVER_TRAINING if _recorded(run, name)}
    shown = [
        _over_training(run, name, *_OVER_TRAINING[name])
        for name in _OVER_TRAINING
        if (name in told or not told) and (name != "score" or first == "score")
    ]
    learner = _learner(run)
    return [*shown, learner] if learner else shown


def _recorded(run: Run, picture: str) -> bool:
    """Whether there is anything of a picture's metrics."""
    metrics, _ = _OVER_TRAINING[picture]
    return any(
        run.series(f"train/{name}")[0] or any(name in one.intervals for one in run.evaluations)
        for name in metrics
    )


def smooth(values: Sequence[float]) -> list[float]:
    """A centred running mean over about a fifteenth of the values, cut short at both ends."""
    half = max(len(values) // 30, 1)
    sums = np.concatenate(([0.0], np.cumsum(values)))
    places = np.arange(len(values))
    low, high = np.maximum(places - half, 0), np.minimum(places + half + 1, len(values))
    return [float(mean) for mean in (sums[high] - sums[low]) / (high - low)]


def _over_training(run: Run, name: str, metrics: Sequence[str], caption: str) -> look.Picture:
    colours = (look.BLUE, look.GREEN, look.GREY) if len(metrics) > 1 else (look.BLUE,)
    title = {"silence": "Silence, and informed silence"}.get(name, label(name).capitalize())

    def paint(axes: Axes) -> None:
        drawn = [
            _curve(axes, run, metric, colour, marker, alone=len(metrics) == 1)
            for metric, colour, marker in zip(metrics, colours, "osD", strict=False)
        ]
        axes.set_title(title, pad=28)
        if not any(drawn):
            look.say(axes, "nothing recorded yet")
            return
        _frame(axes, run, metrics)
        legend = axes.legend(
            loc="lower left", bbox_to_anchor=(-0.02, 0.99), ncols=3, columnspacing=1.2
        )
        # The title's distance leaves room for it; a wide one must not squeeze the axes.
        legend.set_in_layout(False)

    return look.Picture(name, caption, look.draw(*_SIZE, 1, paint))


def _curve(axes: Axes, run: Run, metric: str, colour: str, marker: str, alone: bool) -> bool:
    """Draw one metric, training and evaluation; False when there was nothing of it.

    Alone in its picture, the legend tells training from evaluation; else one metric from another.
    """
    steps, values = run.series(f"train/{metric}")
    if steps:
        axes.plot(steps, values, color=colour, alpha=0.22, linewidth=1)
        axes.plot(steps, smooth(values), color=colour, alpha=0.75)
    points = [
        (one.step, one.intervals[metric]) for one in run.evaluations if metric in one.intervals
    ]
    dots: Any = {"marker": marker, "markeredgecolor": "white", "markeredgewidth": 0.8}
    for step, interval in points:
        if not math.isnan(interval.low) and not math.isnan(interval.high):
            axes.vlines(step, interval.low, interval.high, color=colour, linewidth=2.2, zorder=4)
        axes.plot(step, interval.mean, color=colour, markersize=6, zorder=5, clip_on=False, **dots)
    if alone:
        axes.plot([], [], color=colour, alpha=0.75, label="training episodes")
        words = "evaluation, 95 % interval"
        axes.plot([], [], color=colour, linestyle="none", markersize=6.5, label=words, **dots)
    else:
        axes.plot([], [], color=colour, markersize=6.5, label=label(metric), **dots)
    return bool(steps or points)


def _frame(axes: Axes, run: Run, metrics: Sequence[str]) -> None:
    last = max(run.last_step, 1)
    axes.set_xlim(-0.03 * last, 1.03 * last)
    axes.set_xlabel("training step")
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10], integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    if metrics[0] in SHARES:
        # One share alone starts at a quarter below it, where a few points can still be seen.
        lowest = axes.dataLim.y0 - 0.02 if len(metrics) == 1 else 0.0
        axes.set_ylim(max(math.floor(4 * lowest) / 4, 0.0), 1.02)
        look.in_percent(axes)
    else:
        axes.margins(y=0.1)
        axes.set_ylim(bottom=min(axes.dataLim.y0, 0.0))


def _learner(run: Run) -> look.Picture | None:
    """Small panels of what the learner did; None where nothing of it was recorded."""
    series = {name: run.series(name)[1] for name in _LEARNER}
    # A price that stands still is in the settings.
    shown = [
        name
        for name, values in series.items()
        if values and (name != "train/price" or len(set(values)) > 1)
    ][:4]
    if not shown:
        return None

    def paint(*panels: Axes) -> None:
        for axes, name, colour in zip(
            panels, shown, (look.INK, look.ORANGE, look.BLUE, look.GREEN), strict=False
        ):
            steps, values = run.series(name)
            is_set = name == "train/price"
            axes.plot(steps, values, color=colour, alpha=0.25, linewidth=1)
            axes.plot(steps, values if is_set else smooth(values), color=colour)
            axes.set_title(_LEARNER[name], fontsize=10, fontweight="normal", pad=8)
            axes.set_xlabel("training step")
            axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10], integer=True))
            axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
            if min(values) >= 0:
                axes.set_ylim(bottom=0)

    caption = "The learner at work, step by step: faint as recorded, strong smoothed."
    return look.Picture("learner", caption, look.draw(12.4, 2.6, len(shown), paint), wide=True)
