"""Report a benchmark: a table, a page with a picture, and results that others can read.

    laconic benchmark report <folder or json> [<folder or json of others> ...]

A `benchmark.json` is reported in a folder of its name, without any runs. Results of others join if
set, version, budget, tasks and game agree; else the reason is printed, and the exit code is 1.
"""

from __future__ import annotations

import base64
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from rich.console import Console

from laconic.envs.dialogue.messages import printable
from laconic.envs.errors import SettingError
from laconic.experiments.command_line import lock
from laconic.experiments.command_line.arguments import Argument, read_arguments, refuse
from laconic.experiments.command_line.echo import echo, echo_error
from laconic.experiments.run_folder.folder import write_atomically
from laconic.experiments.statistics.intervals import over_tasks_and_seeds
from laconic.experiments.statistics.words import NOTHING, level, text_table
from laconic.extras.benchmark import results as files
from laconic.extras.benchmark import statistics
from laconic.extras.benchmark.results import Results
from laconic.extras.benchmark.statistics import Method
from laconic.extras.report import look
from laconic.extras.report.facts import duration
from laconic.extras.share.card import plain
from laconic.learners.metrics import Interval, Outcomes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TABLE, PAGE, PICTURE = "table.md", "benchmark.html", "benchmark"
ARGUMENTS = {
    "folder": Argument("folder of the benchmark, then results of others", placed=True, needed=True,
                       many=True),
}  # fmt: skip
_INTERVALS = "95 % intervals over tasks, and over seeds where there are several"
_LEGEND = (
    "IQM: mean of the middle half of all scores, one for each seed and environment; of fewer than"
    " four, the mean of all. A baseline counts as often as the most seeds",
    f"in brackets: {_INTERVALS}; none where nothing varies",
    f"(single): one agent; (start): the team before training; {NOTHING}: not finished, or unfit"
    " for the environment",
)
"""What a reader of the table has to know."""
_BESIDE = ("accuracy", "tokens_spent")
_UNKNOWN = (NOTHING, NOTHING)
_LEVELS = np.linspace(-1, 1.2, 89)


class Table(NamedTuple):
    """Table of methods by environment."""

    title: str
    """What its cells say."""
    heads: Sequence[str]
    """Heads of the columns."""
    rows: Sequence[Sequence[str]]
    """Rows of a method or a baseline each."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the report of the folder on the command line."""
    options = read_arguments("benchmark report", __doc__, arguments, ARGUMENTS)
    first, *others = map(Path, options.folder)
    try:
        refused = write(first, others, Console())
    except (OSError, SettingError) as error:
        refuse(error)
    if refused:
        sys.exit(1)


def write(folder: Path, others: Sequence[Path], console: Console | None) -> list[str]:
    """Write all files of a report, and print the table.

    Returns:
        Why results of others were left out.

    Raises:
        SettingError: the folder holds no benchmark, or the file is damaged.
    """
    if folder.is_file():
        own, target = files.load(folder), folder.with_suffix("")
        # Its report must not take the place of a benchmark's own.
        if target == folder or (target / files.PLAN).exists():
            raise SettingError(
                f"the report of {str(folder)!r} goes to {str(target)!r}, which is another file or"
                " benchmark; give the file another name, ending in .json"
            )
        target.mkdir(exist_ok=True)
        folder = target
        lock.refuse_links(folder)
    else:
        lock.refuse_links(folder)
        own = files.collect(folder)
    results = own
    refused = []
    for path in others:
        try:
            results = files.join(results, path)
        except SettingError as error:
            refused.append(f"{path} does not join the table: {error}")
            echo_error(f"left out: {refused[-1]}")
    # What is shared is one's own alone.
    files.write(own, folder)
    whole = finished(results)
    parts = tables(results, whole)
    picture = draw(results, whole)
    write_atomically(folder / TABLE, markdown(results, parts, refused))
    write_atomically(folder / PAGE, page(results, parts, refused, picture))
    picture.save(folder)
    if console:
        scores, figures = parts
        # A table of all environments is too wide for a terminal.
        for place, name in enumerate(results.played):
            rows = [
                (row[0], row[2], row[3 + place], beside[1 + place])
                for row, beside in zip(scores.rows, figures.rows, strict=True)
            ]
            columns = ["method", "IQM of all", scores.title, figures.title]
            title = f"{results.set.title}, {name}"
            console.print(text_table(title, columns, rows, whole="first"))
        for line in notes(results):
            # Reasons come from run folders, which may be of others.
            console.print(printable(line), markup=False, highlight=False)
        echo(f"report: {folder / PAGE}, {TABLE}, {files.LAYOUT} and {files.FILE}")
    return refused


def finished(results: Results) -> dict[str, Method]:
    """Return the scores of methods that are finished in all environments, the best first."""
    scores = {name: each for name in results.runs if (each := results.scores(name))}
    order = sorted(scores, key=lambda name: -statistics.iqm(statistics.run_scores(scores[name])))
    return {name: scores[name] for name in order}


def tables(results: Results, whole: Mapping[str, Method]) -> list[Table]:
    """Return a table of scores, and one of what they stand for: methods, then baselines."""
    overall = {name: statistics.interval(statistics.iqm, method) for name, method in whole.items()}
    most_seeds = max((len(method[0]) for method in whole.values()), default=1)
    scores, figures = [], []
    for method in [*whole, *(name for name in results.runs if name not in whole)]:
        by_environment = results.runs[method]
        cells = [
            _figures(results, method, name) if by_environment.get(name) else _UNKNOWN
            for name in results.played
        ]
        seeds = sorted(set(chain.from_iterable(by_environment.values())))
        score = level("score", overall.get(method))
        scores.append((method, str(len(seeds)), score, *(each[0] for each in cells)))
        figures.append((method, *(each[1] for each in cells)))
    for baseline in dict.fromkeys(chain(*(each.baselines for each in results.played.values()))):
        name = f"({'start' if baseline == 'team' else baseline})"
        normalized, cells = [], []
        for played in results.played.values():
            known = played.baselines.get(baseline)
            if known is None:
                cells.append(_UNKNOWN)
                continue
            normalized.append(played.scale.normalized(known["reward"]))
            share, tokens = (_alone(key, known[key]) for key in _BESIDE)
            cells.append((_alone("score", normalized[-1]), f"{share} in {tokens}"))
        every = len(normalized) == len(results.played)
        # As a method whose seeds all earn the same, or the quarters left out would be others.
        repeated = np.array([normalized] * most_seeds)
        score = _alone("score", statistics.iqm(repeated)) if every else NOTHING
        scores.append((name, "", score, *(each[0] for each in cells)))
        figures.append((name, *(each[1] for each in cells)))
    return [
        Table("normalized score", ("method", "seeds", "IQM", *results.played), scores),
        Table("accuracy in tokens of the team", ("method", *results.played), figures),
    ]


def _figures(results: Results, method: str, name: str) -> tuple[str, str]:
    """Return the score of a method in an environment, and its accuracy and tokens."""
    runs = results.runs[method][name]
    scores = [results.values(method, name, sorted(runs))]
    count = results.played[name].count
    share, tokens = (
        level(
            key,
            _within(
                *files.FIGURES[key],
                over_tasks_and_seeds(
                    [Outcomes(tuple(steps[-1][key]), (1.0,) * count) for steps in runs.values()],
                    # One exact value is no trial.
                    share=key == "accuracy" and count > 1,
                ),
            ),
        )
        for key in _BESIDE
    )
    score = level("score", statistics.interval(lambda run: float(run.mean()), scores))
    return score, f"{share} in {tokens}"


def _within(least: float, most: float, figure: Interval) -> Interval:
    """Return a figure whose interval ends where its values do."""
    return replace(figure, low=max(figure.low, least), high=min(figure.high, most))


def _alone(metric: str, value: float) -> str:
    """Return a figure without an interval."""
    return level(metric, Interval(value, math.nan, math.nan, 1))


def notes(results: Results) -> list[str]:
    """Return what is below the table: how to read it, what is not finished, and what it cost."""
    lines = [*_LEGEND]
    for name, played in results.played.items():
        zero = played.scale
        lines.append(
            f"{name}: 0 is {zero.silent:.3f} of the silent script, 1 is {zero.best:.3f} of the"
            f" {zero.best_of if zero.best_of not in files.SCRIPTS else zero.best_of + ' script'}"
            f"{'; a team may score above 1' if zero.best_of in files.SCRIPTS else ''}"
        )
    lines += results.joined
    lines += [
        f"not finished: {method}, env={name}, seed {seed}: {state}"
        for method, name, seed, state in results.unfinished
    ]
    spent = ", ".join(f"{name} {duration(each)}" for name, each in results.seconds.items() if each)
    return [*lines, f"training and evaluation took {spent or 'no time yet'}"]


def markdown(results: Results, parts: Sequence[Table], refused: Sequence[str]) -> str:
    """Return `table.md`; texts of run folders and of others are escaped."""
    lines = [f"# {results.set.title}", ""]
    for title, heads, rows in parts:
        lines += [f"{title[0].upper()}{title[1:]}:", ""]
        lines += [f"| {' | '.join(map(plain, each))} |" for each in (heads, ["---"] * len(heads))]
        lines += [*(f"| {' | '.join(map(plain, row))} |" for row in rows), ""]
    lines += [*(f"- {plain(note)}" for note in [*notes(results), *_left_out(refused)]), ""]
    return "\n".join(lines)


def page(
    results: Results, parts: Sequence[Table], refused: Sequence[str], picture: look.Picture
) -> str:
    """Return the page; jinja2 escapes every value."""
    template = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
    ).get_template("page.html")
    return template.render(
        title=results.set.title,
        tables=parts,
        notes=[*notes(results), *_left_out(refused)],
        png=base64.b64encode(picture.png).decode("ascii"),
        caption=picture.caption,
    )


def _left_out(refused: Sequence[str]) -> list[str]:
    return [f"left out: {reason}" for reason in refused]


def draw(results: Results, whole: Mapping[str, Method]) -> look.Picture:
    """Draw the panels of the field, one of them over the best method; without methods, words."""
    styles = dict(zip(whole, look.marks(len(whole)), strict=True))
    best, *others = whole or [""]
    panels = {
        "interquartile mean": "interquartile mean of the normalized scores",
        "performance profile": "share of runs above a score",
        "learning": "interquartile mean by the part of the budget",
    }
    if others:
        panels["probability of improvement"] = f"probability that a run beats one of {best}"
    caption = f"Left to right: {'; '.join(panels.values())}. Shown with {_INTERVALS}."

    def paint(means: Axes, profiles: Axes, curves: Axes, *better: Axes) -> None:
        for axes, title in zip((means, profiles, curves, *better), panels, strict=True):
            axes.set_title(title)
            if not whole:
                look.placeholder(axes, "no method is finished in all environments")
        if not whole:
            return
        for place, (name, method) in enumerate(whole.items()):
            color, marker = styles[name]
            _bar(means, place, statistics.interval(statistics.iqm, method), color, marker)
            shares, low, high = statistics.interval(
                lambda scores: statistics.profile(scores, _LEVELS), method, resamples=500
            )
            profiles.step(_LEVELS, shares, color=color, label=name, where="post")
            profiles.fill_between(_LEVELS, low, high, color=color, alpha=0.15, step="post", lw=0)
            for axes in better if name != best else ():
                over = statistics.interval(statistics.improvement, method, whole[best])
                _bar(axes, place, over, color, marker)
            _curve(curves, results, name, color, marker)
        for axes in (means, *better):
            axes.set_yticks(range(len(whole)), list(whole))
            axes.set_ylim(len(whole) - 0.5, -0.5)
        means.set_xlabel("normalized score")
        profiles.set(xlabel="normalized score", ylabel="share of runs above it", ylim=(-0.02, 1.02))
        profiles.legend()
        for axes in better:
            axes.set(xlabel=f"over {best}", xlim=(-0.02, 1.02))
            axes.axvline(0.5, color=look.GREY, lw=0.8)
        curves.set(xlabel="share of the updates", ylabel="interquartile mean")

    return look.Picture(PICTURE, caption, look.draw(15.0, 3.8, len(panels), paint), wide=True)


def _bar(axes: Axes, place: int, figure: Interval, color: str, marker: str) -> None:
    axes.plot([figure.mean], [place], marker, color=color)
    axes.plot([figure.low, figure.high], [place, place], color=color, lw=1.4)


def _curve(axes: Axes, results: Results, name: str, color: str, marker: str) -> None:
    """Draw the interquartile mean by the part of the updates."""
    points = [results.scores(name, number) for number in range(results.set.evaluations + 1)]
    figures = [
        statistics.interval(statistics.iqm, method, resamples=500) for method in points if method
    ]
    at = np.linspace(0, 1, len(figures))
    axes.plot(at, [figure.mean for figure in figures], marker=marker, color=color, ms=4)
    low, high = [figure.low for figure in figures], [figure.high for figure in figures]
    axes.fill_between(at, low, high, color=color, alpha=0.15, lw=0)


if __name__ == "__main__":
    main()
