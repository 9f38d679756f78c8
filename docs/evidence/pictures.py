"""Draw the trainings of docs/results/ from the rows beside this file: make evidence-pictures.

Runs of one color belong together; the second of them is a dashed line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from figures import compared, of_rule, over, over_seeds
from matplotlib.axes import Axes
from needed import reached
from rows import HERE, benchmark, intervals, table, updates

from laconic.extras.benchmark import report
from laconic.extras.report.look import (
    INK,
    MUTED,
    PALETTE,
    against_tokens,
    draw,
    in_percent,
    mark,
)
from laconic.learners.metrics import Interval

Runs = Sequence[Mapping[str, str]]
"""Runs and their labels; runs of one color share a mapping."""


def seeds(*numbers: int, run: str = "seed") -> Runs:
    """Return runs of the same settings, each in its own color."""
    return [{f"{run}_{number}": f"seed {number}"} for number in numbers]


PICTURES = HERE.parent / "pictures"
METRICS = {
    "accuracy": "accuracy",
    "tokens_said": "tokens said",
    "silent_if_uninformed": "silent with nothing useful",
    "spoke_if_informed": "spoke with something useful",
}
TEAMS: Mapping[str, tuple[str, Runs]] = {
    "pretrained": (
        "gsm8k_level1",
        seeds(1, 2, 3, run="default"),
    ),
}
"""Picture -> folder and runs of teams with `split` information."""
AUTHORS: Mapping[str, tuple[str, float, Runs]] = {
    "coop_humaneval": ("generated programs", 4.0, seeds(1, 2, 3)),
    "tldr": ("real posts", 2.98, [*seeds(2, 3, 4), {"seed_1": "seed 1, half the rate"}]),
}
"""Folder -> title, highest score, and the runs."""
READ_ON_A_PHONE = 11
"""Font size of a picture that stands alone, points."""
Place: TypeAlias = tuple[Interval, Interval]
"""Tokens said and accuracy."""
WINDOW = 5
"""Number of updates of a centered mean."""


def series(folder: str, run: str, metric: str) -> list[float]:
    """Return a metric of the rollouts of a run for each update; NaN if unknown."""
    return [row.get(f"train/{metric}", np.nan) for row in updates(f"{folder}/{run}")]


def smooth(values: Sequence[float], width: int) -> list[float]:
    """Return centered means over `width` updates, fewer at both ends."""
    half = width // 2
    return [float(np.nanmean(values[max(i - half, 0) : i + half + 1])) for i in range(len(values))]


def lines(axes: Axes, folder: str, runs: Runs, metric: str, *, width: int = 1) -> None:
    """Draw one line per run."""
    for color, pair in zip(PALETTE, runs, strict=False):
        for (run, name), style in zip(pair.items(), ("-", "--"), strict=False):
            values = smooth(series(folder, run, metric), width)
            steps = range(1, len(values) + 1)
            axes.plot(steps, values, color=color, linestyle=style, label=name)
    axes.set(xlabel="update", xlim=(0, None))


def team(folder: str, runs: Runs, *panels: Axes) -> None:
    """Draw accuracy, tokens and silence of a team."""
    for axes, metric in zip(panels, METRICS, strict=True):
        lines(axes, folder, runs, metric, width=WINDOW)
    name_panels(panels)


def name_panels(panels: Sequence[Axes]) -> None:
    """Set titles, ranges and one legend."""
    for axes, (metric, title) in zip(panels, METRICS.items(), strict=True):
        axes.set_title(title)
        if metric == "tokens_said":
            axes.set_ylim(0, None)
        else:
            axes.set_ylim(0, 1.02)
            in_percent(axes.yaxis)
    # Informed agents nearly always speak, so the last panel has room for the legend.
    panels[-1].legend(loc="best")


def authors(*panels: Axes) -> None:
    """Draw the scores of the joint work of authors."""
    for axes, (folder, (title, most, runs)) in zip(panels, AUTHORS.items(), strict=True):
        lines(axes, folder, runs, "score")
        axes.set(title=f"{folder}: {title}", ylim=(0, 2.5), ylabel=f"score, at most {most:g}")
        axes.legend(loc="lower right")


def programs(*panels: Axes) -> None:
    """Draw scores and pass rates of programs by authors whose start can write programs."""
    for axes, metric in zip(panels, ("score", "accuracy"), strict=True):
        lines(axes, "coop_humaneval", seeds(2, 3, 4, run="best"), metric, width=WINDOW)
        axes.set_title(metric)
    panels[0].set_ylim(0, 4)
    panels[1].set_ylim(0, 1.02)
    in_percent(panels[1].yaxis)
    panels[1].legend(loc="upper right")


def place(figures: Mapping[str, Mapping[str, float]]) -> Place:
    """Return the place of an evaluation or of a mean over seeds."""
    tokens, accuracy = (
        Interval(count=0, **{key: figures[name][key] for key in ("mean", "low", "high")})
        for name in ("tokens_said", "accuracy")
    )
    return tokens, accuracy


def mean_place(evaluations: Sequence[Mapping[str, float]]) -> Place:
    """Return the mean place of seeds with its t-intervals."""
    names = ("tokens_said", "accuracy")
    return place({name: over_seeds([row[name] for row in evaluations]) for name in names})


def spoken(*ends: Sequence[float]) -> str:
    """Return how often informed agents speak before and after training, means over seeds."""
    before, after = (f"{100 * sum(end) / len(end):.0f}" for end in ends)
    return f"informed speak {before} to {after} %"


def spoken_of_runs(*ends: Sequence[str]) -> str:
    """Return the same from the rows of evaluations."""
    name = "spoke_if_informed"
    return spoken(*([intervals(run)[name]["mean"] for run in end] for end in ends))


def small_team(start: str) -> tuple[Place, Place, str]:
    """Return the quickstart's team before and after training under the default price.

    The last text is how often its informed agents speak.
    """
    rows = of_rule(start)
    before = {
        name: {"mean": value, "low": np.nan, "high": np.nan}
        for name, value in rows[0]["before"].items()
    }
    speech = ([row[when]["spoke_if_informed"] for row in rows] for when in ("before", "after"))
    after = [row["evaluations"]["after"] for row in rows]
    means = {name: over(after, name) for name in ("tokens_said", "accuracy")}
    return place(before), place(means), spoken(*speech)


def mean_of_runs(*evaluations: str) -> Place:
    """Return the mean place of several evaluations."""
    means = [{name: part["mean"] for name, part in intervals(run).items()} for run in evaluations]
    return mean_place(means)


def before_and_after(axes: Axes) -> None:
    """Draw accuracy against tokens of the teams of the README, before and after training."""
    level_1 = [f"gsm8k_level1/default_{seed}_evaluation" for seed in (1, 2, 3)]
    starts = [f"gsm8k_harder/default_start_{seed}_evaluation" for seed in range(3)]
    trained = [f"gsm8k_harder/default_{seed}_evaluation" for seed in range(3)]
    start = "gsm8k_level1/default_start_evaluation"
    speech = spoken_of_runs([start], level_1), spoken_of_runs(starts, trained)
    pretrained = place(intervals(start)), mean_of_runs(*level_1), speech[0]
    harder = mean_of_runs(*starts), mean_of_runs(*trained), speech[1]
    arrows = {
        "small policy": (small_team("strong"), (79, 102), "o"),
        "SmolLM2": (pretrained, (80, 89), "s"),
        "SmolLM2, harder tasks": (harder, (94, 35), "D"),
        "small policy, weak start": (small_team("weak"), (92, 51), "^"),
    }
    text: Any = {"fontsize": READ_ON_A_PHONE, "color": INK, "va": "center"}
    for color, (name, (team, at, shape)) in zip(PALETTE, arrows.items(), strict=False):
        before, after, informed = team
        ends = [(tokens.mean, accuracy.mean) for tokens, accuracy in (before, after)]
        arrow = {"arrowstyle": "-|>", "color": color, "shrinkA": 7, "shrinkB": 7, "linewidth": 2}
        axes.annotate("", xy=ends[1], xytext=ends[0], arrowprops=arrow)
        mark(axes, before, (color, shape), "", hollow=True)
        mark(axes, after, (color, shape), "")
        axes.text(at[0], at[1] / 100, f"{name}:\n{informed}", **{**text, "color": color})
    others = {
        "single": ("gsm8k_level1/comparison", "one agent\nreads all", (3, 88)),
        "capped": ("gsm8k_level1/default_comparison", "SmolLM2 under a hard cap", (46, 1)),
    }
    for entry, (rows, name, at) in others.items():
        metrics = ("tokens_said", "accuracy")
        entries = {row["entry"]: row for row in table(rows)}
        figures = {metric: compared(entries[entry], metric) for metric in metrics}
        mark(axes, place(figures), (MUTED, "X"), "")
        axes.text(at[0], at[1] / 100, name, **{**text, "color": MUTED})
    against_tokens(axes, "accuracy")
    axes.set(xlim=(0, 180), ylim=(-0.04, 1.06))
    axes.set_title("before (hollow) and after training (filled)", fontsize=READ_ON_A_PHONE + 1)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_fontsize(READ_ON_A_PHONE)
    axes.tick_params(labelsize=READ_ON_A_PHONE)


def first(dialogue: Axes, game: Axes) -> None:
    """Draw teams before and after training, and a game that needs a team."""
    before_and_after(dialogue)
    reached(game)
    game.set_title("a game that needs a team: jury", fontsize=READ_ON_A_PHONE + 1)
    for label in (game.xaxis.label, game.yaxis.label):
        label.set_fontsize(READ_ON_A_PHONE)
    game.tick_params(labelsize=READ_ON_A_PHONE)
    legend = game.get_legend()
    for text in (*game.texts, *(legend.get_texts() if legend else ())):
        text.set_fontsize(READ_ON_A_PHONE - 2)


def named() -> set[str]:
    """Return the rows that the pictures are drawn from."""
    teams = {f"{folder}/{run}" for folder, runs in TEAMS.values() for one in runs for run in one}
    works = {
        f"{folder}/{run}" for folder, work in AUTHORS.items() for one in work[2] for run in one
    }
    caps = {"gsm8k_level1/default_comparison"}
    return teams | works | caps | {f"coop_humaneval/best_{seed}" for seed in (2, 3, 4)}


def main() -> None:
    """Draw every picture."""
    (PICTURES / "before_after.png").write_bytes(draw(10.6, 4.2, 2, first))
    for name, (folder, runs) in TEAMS.items():
        picture = draw(7.6, 6, len(METRICS), partial(team, folder, runs), rows=2)
        (PICTURES / f"{name}.png").write_bytes(picture)
    picture = draw(10, 3.6, len(AUTHORS), authors)
    (PICTURES / "coop_pretrained.png").write_bytes(picture)
    picture = draw(8, 3.2, 2, programs)
    (PICTURES / "coop_programs.png").write_bytes(picture)
    results = benchmark("core")
    picture = report.draw(results, report.finished(results)).png
    (PICTURES / "benchmark.png").write_bytes(picture)


if __name__ == "__main__":
    main()
