"""Shows how the advantages of a training group came about, number by number.

    laconic explain outputs/mine step=20

Takes the group of `groups.jsonl` whose step is nearest (the last one without `step`) and prints,
for each agent and episode, what the task paid (T), what the words cost (C), the share of it that
was charged (w), what is compared (X = T - w C), the center and the scale of the comparison, and the
advantage A = (X - center) / scale.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from laconic.experiments.reporting.words import text_table
from laconic.experiments.running.foreign import without_controls
from laconic.experiments.running.group_log import nearest

COLUMNS = ("episode", "solved", "tokens", "T", "C", "w", "X", "center", "scale", "A")


def main(arguments: Sequence[str] | None = None) -> None:
    """Explain a group of the run that the command line names."""
    parser = argparse.ArgumentParser(prog="laconic explain", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("run", type=Path, help="a run folder")
    parser.add_argument("step", nargs="?", help="step=N: the training step; the last without it")
    given = parser.parse_args(arguments)
    try:
        step = step_of(given.step)
        row = group_of(given.run, step)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    show(row, Console())


def step_of(text: str | None) -> int | None:
    """Read `step=20`, or a plain number.

    Raises:
        ValueError: it is neither.
    """
    if text is None:
        return None
    match = re.fullmatch(r"(?:step=)?(\d+)", text)
    if not match:
        raise ValueError(f"expected step=<number>, e.g. step=20; got {text!r}")
    return int(match[1])


def group_of(folder: Path, step: int | None) -> dict[str, Any]:
    """Return the nearest logged group of a run.

    Raises:
        ValueError: the folder does not exist, or holds no group.
    """
    if not folder.is_dir():
        raise ValueError(f"expected a run folder; there is no folder {str(folder)!r}")
    row = nearest(folder / "groups.jsonl", step)
    if row is None:
        raise ValueError(
            f"{str(folder)!r} has no group in groups.jsonl; a run of a learner that compares"
            " groups (learner=gspo) writes one in its first update and in every tenth"
        )
    plain: dict[str, Any] = without_controls(row)
    return plain


def show(row: Mapping[str, Any], console: Console) -> None:
    """Print a logged group: what was said, and a table for each agent."""
    episodes, sequences = row["episodes"], row["sequences"]
    console.print(Text(f"step {row['step']}, task {row['task']}, {len(episodes)} episodes"))
    for agent in dict.fromkeys(each["agent"] for each in sequences):
        own = [each for each in sequences if each["agent"] == agent]
        table = text_table(agent, COLUMNS, [_cells(each, episodes) for each in own], whole="others")
        console.print(table)
        console.print(Text(_worked(max(own, key=lambda each: abs(each["advantage"])))))
        console.print()
    factors = {each["factor"] for each in sequences if "factor" in each}
    if factors:
        rates = [episode["solved"] for episode in episodes if episode["solved"] is not None]
        solved = f"{sum(rates)} of {len(rates)} episodes solved; " if rates else ""
        console.print(Text(f"{solved}charge factor w = {max(factors):.4g} (learner.charge_power)"))


def _cells(sequence: Mapping[str, Any], episodes: Sequence[Mapping[str, Any]]) -> list[str]:
    place = sequence["episode"]
    name = str(place) if sequence["round"] is None else f"{place}, round {sequence['round']}"
    solved = {True: "yes", False: "no", None: "–"}[episodes[place]["solved"]]
    keys = ("task", "cost", "factor", "value", "center", "scale", "advantage")
    return [name, solved, str(sequence["tokens"]), *(_number(sequence.get(key)) for key in keys)]


def _worked(sequence: Mapping[str, Any]) -> str:
    """Write out the sum of one advantage; empty where its parts are not known."""
    if sequence.get("scale") is None or "factor" not in sequence:
        return ""
    task, cost, factor, center, scale, advantage = (
        _number(sequence[key]) for key in ("task", "cost", "factor", "center", "scale", "advantage")
    )
    return (
        f"episode {sequence['episode']}: A = (T - w C - center) / scale"
        f" = ({task} - {factor} x {cost} - {center}) / {scale} = {advantage}"
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


if __name__ == "__main__":
    main()
