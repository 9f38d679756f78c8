"""Writes the tables of docs/starts.md from recipes, cards and rows: make evidence-tables.

Rows of `starts/three_minutes*.jsonl` are trainings (`three_minutes.py`), those of
`starts/yardstick.jsonl` entries of comparisons (`yardstick.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from figures import (
    Cells,
    change_over,
    in_points,
    number,
    over_seeds,
    part_over,
    percent,
    points,
    signed,
)
from rows import HERE, Row, read

from laconic.envs.registry import recipes
from laconic.learners.agents.recipes import CARD, shipped

RECIPES = recipes()

PAGE = HERE.parent / "starts.md"
MARK = "<!-- starts -->\n"
_SHARES = ("accuracy", "silent_if_uninformed")
FLOORS = ("silent", "random")
"""Entries of the yardstick that solve next to nothing."""
COLUMNS = {
    "single": "one agent with all facts",
    "verbose": "script that says everything",
    "team": "shipped policy",
    "oracle": "oracle",
}
"""Other entries of the yardstick -> heads of their columns."""
ENTRIES = (*FLOORS, *COLUMNS)
_WHEN = ("before", "after")


def card_of(name: str) -> Mapping[str, Any]:
    """Return the card of a shipped policy; empty if there is none."""
    folder = shipped(name)
    card: Mapping[str, Any] = json.loads((folder / CARD).read_text("utf-8")) if folder else {}
    return card


def figure(name: str, value: float | None) -> str:
    """Return a figure of a card; empty if it was not measured."""
    if value is None:
        return ""
    return f"{100 * value:.1f} %" if name in _SHARES else f"{value:.2f}"


def policies() -> list[Cells]:
    """Return one row per environment: recipe, time, and the figures of its policy."""
    heads = ["environment", "chosen by", "minutes, one core", "step", "parameters"]
    heads += ["figure", "tokens said", "silent with nothing useful"]
    rows = [heads]
    for name, recipe in RECIPES.items():
        card = card_of(name)
        figures = card.get("figures", {})
        parameters = card.get("parameters")
        rows.append(
            [
                f"[`{name}`](environments/{name}.md)",
                f"{recipe.metric} {recipe.target:g}",
                f"{card['minutes']:.0f}" if card else f"about {recipe.minutes:.0f}",
                str(card.get("step", "")) if card else _reached(name),
                f"{parameters:,}" if parameters else "",
                *(
                    figure(key, figures.get(key))
                    for key in (recipe.metric, "tokens_said", "silent_if_uninformed")
                ),
            ]
        )
    return rows


def _reached(name: str) -> str:
    """Return why no policy is shipped for an environment."""
    rows = [row for row in _rows("unshipped") if row["environment"] == name]
    if not rows:
        return "none shipped"
    reached = figure(RECIPES[name].metric, rows[-1]["mean"])
    return f"none shipped: {reached} after {rows[-1]['step']} updates"


def three_minutes() -> list[Cells]:
    """Return one row per environment: how three minutes of training changed it, over seeds."""
    heads = ["environment", "updates", "measure", "figure", "change", "of the start's tokens"]
    rows = [[*heads, "sampled, first to last updates"]]
    for name, recipe in RECIPES.items():
        runs = [row for row in _rows("three_minutes") if row["environment"] == name]
        if not runs:
            continue
        before, after = ([run[when][recipe.metric]["mean"] for run in runs] for when in _WHEN)
        tokens = [run["after"]["tokens_said"]["mean"] / run["before"]["tokens_said"]["mean"]
                  for run in runs]  # fmt: skip
        pairs = list(zip(before, after, strict=True))
        share = recipe.metric in _SHARES
        gains = [(100 if share else 1) * (last - first) for first, last in pairs]
        if len(runs) == 1:
            change = f"{gains[0]:+.1f} points" if share else f"{gains[0]:+.2f}"
            kept = f"{tokens[0]:.3f}"
        elif all("evaluations" in run for run in runs):
            ends = [(run["evaluations"]["before"], run["evaluations"]["after"]) for run in runs]
            more = change_over(ends, recipe.metric)
            change = f"{signed(in_points(more))} points" if share else number(more, 2)
            kept = number(part_over(ends, "tokens_said"), 3)
        else:
            change = f"{points(gains)} points" if share else number(over_seeds(gains), 2)
            kept = number(over_seeds(tokens), 3)
        rows.append(
            [
                f"`{name}`",
                spread([run["updates"] for run in runs]),
                recipe.metric,
                " to ".join(figure(recipe.metric, fmean(values)) for values in (before, after)),
                change,
                kept,
                _sampled(runs, recipe.metric),
            ]
        )
    return rows


def spread(counts: Sequence[int]) -> str:
    """Return the least and the greatest count, or the count that all share."""
    return " to ".join(str(count) for count in sorted({min(counts), max(counts)}))


def _sampled(runs: Sequence[Row], metric: str) -> str:
    """Return the mean of training episodes in the first and the last updates, over seeds."""
    values = (fmean(run["sampled"][when] for run in runs) for when in ("first", "last"))
    return " to ".join(figure(metric, value) for value in values)


def yardstick() -> list[Cells]:
    """Return one row per environment: accuracy and tokens of four entries of a comparison."""
    rows = [["environment", "figure", *COLUMNS.values()]]
    for name, recipe in RECIPES.items():
        entries = {row["entry"]: row for row in _rows("yardstick") if row["environment"] == name}
        if entries:
            cells = (_measured(recipe.metric, entries.get(entry)) for entry in COLUMNS)
            rows.append([f"`{name}`", recipe.metric, *cells])
    return rows


def floors() -> str:
    """Return the most that a silent team and random words reach in any environment."""
    most = []
    for entry in FLOORS:
        rows = [row for row in _rows("yardstick") if row["entry"] == entry]
        values: dict[str, list[float]] = {}
        for row in rows:
            metric = RECIPES[row["environment"]].metric
            values.setdefault(metric, []).append(row["figures"][metric]["mean"])
        most.append(" or ".join(f"{figure(m, max(v))} {m}" for m, v in sorted(values.items())))
    return f"A silent team reaches {most[0]}, random words at most {most[1]}."


def _measured(metric: str, row: Row | None) -> str:
    if row is None:
        return ""
    figures = row["figures"]
    value = figures.get(metric)
    if value is None:
        return ""
    text = percent(value) if metric in _SHARES else number(value, 2)
    return f"{text} in {figures['tokens_said']['mean']:.0f}"


def _rows(name: str) -> Sequence[Row]:
    path = HERE / "starts" / f"{name}.jsonl"
    return read(f"starts/{name}") if path.exists() else ()


def markdown(rows: Sequence[Cells]) -> str:
    """Return rows as a table; empty if there are only heads."""
    if len(rows) < 2:
        return "Not measured yet.\n"
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def render(page: str) -> str:
    """Return the page with its tables made again."""
    return (
        f"{page.partition(MARK)[0]}{MARK}\n{markdown(policies())}\n"
        "## Three minutes of training\n\n"
        "`make evidence-three-minutes` trains the pairs of authors, which pay no price, with"
        " `train.minutes=3` on one core each. Means over seeds 1 to 3 with 95 % t-intervals over"
        " seeds, same tasks. *Sampled* are the training episodes of the first and the last five"
        " updates.\n\n"
        f"{markdown(three_minutes())}\n"
        "Sampled episodes earn more. Warm starts are far better greedy than sampled, and their"
        " greedy replies gain, stay or lose.\n\n"
        "## Yardstick\n\n"
        "`make evidence-yardstick` compares six teams on the same tasks, each figure in its tokens"
        f" said. 95 % intervals over tasks. {floors()} One agent with all facts is the shipped"
        " policy, which never saw them together. The script is written for questions, not for pairs"
        " of authors.\n\n"
        f"{markdown(yardstick())}"
    )


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text("utf-8")), encoding="utf-8")
