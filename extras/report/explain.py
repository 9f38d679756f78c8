"""Explain the advantages of a training group, number by number.

    laconic explain outputs/mine step=20

Takes the group of `groups.jsonl` with that step (without `step`, the last group); if there is none,
the nearest one, with a note. Prints for each agent and episode the task part T, the cost C of its
tokens at the price of the update, the compared value X = T - C, the center and the scale of the
comparison, and the advantage A = (X - center) / scale.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from laconic.experiments.command_line.arguments import Argument, read_arguments
from laconic.experiments.command_line.echo import echo, echo_error
from laconic.experiments.run_folder.group_log import nearest

ARGUMENTS = {
    "run": Argument("a run folder", Path, placed=True, needed=True),
    "step": Argument("training step; default: the last", int, placed=True),
}
COLUMNS = ("episode", "solved", "tokens", "T", "C", "X", "center", "scale", "A")


def main(arguments: Sequence[str] | None = None) -> None:
    """Explain a group of the run that the command line names."""
    options = read_arguments("explain", __doc__, arguments, ARGUMENTS)
    try:
        row = group_of(options.run, options.step)
        lines = [*_note(row["step"], options.step), *show(row)]
    except (KeyError, IndexError, TypeError, AttributeError):
        echo_error(
            f"error: {str(options.run / 'groups.jsonl')!r} does not hold groups as this version of"
            " laconic writes them"
        )
        sys.exit(1)
    except ValueError as error:
        echo_error(f"error: {error}")
        sys.exit(1)
    echo("\n".join(lines))


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
            " groups (learner=gspo) writes one in its first update and in every tenth update"
        )
    return row


def _note(found: int, wanted: int | None) -> Iterator[str]:
    """Yield a line if the group is of another step than the wanted one."""
    if wanted not in (None, found):
        yield f"note: no group was recorded at step {wanted}; this is the nearest one"


def show(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that explain a logged group: a table and a worked sum for each agent."""
    episodes, sequences = row["episodes"], row["sequences"]
    yield f"step {row['step']}, task {row['task']}, {len(episodes)} episodes"
    for agent in dict.fromkeys(each["agent"] for each in sequences):
        own = [each for each in sequences if each["agent"] == agent]
        yield f"\n{agent}"
        for cells in (COLUMNS, *(_cells(each, episodes) for each in own)):
            yield f"{cells[0]:>10}" + "".join(f"{cell:>7}" for cell in cells[1:])
        if worked := _worked(max(own, key=lambda each: abs(each["advantage"]))):
            yield worked
    verdicts = [episode["solved"] for episode in episodes if episode["solved"] is not None]
    if verdicts:
        yield f"\n{sum(verdicts)} of {len(verdicts)} episodes solved"


def _cells(sequence: Mapping[str, Any], episodes: Sequence[Mapping[str, Any]]) -> list[str]:
    place = sequence["episode"]
    name = str(place) if sequence["round"] is None else f"{place}/{sequence['round']}"
    solved = {True: "yes", False: "no", None: "–"}[episodes[place]["solved"]]
    parts = [sequence.get("task"), _charge(sequence)]
    parts += [sequence.get(key) for key in ("value", "center", "scale", "advantage")]
    return [name, solved, str(sequence["tokens"]), *map(_number, parts)]


def _charge(sequence: Mapping[str, Any]) -> float | None:
    """Return C; earlier versions charged a part of the cost, the factor beside it."""
    cost = sequence.get("cost")
    return None if cost is None else cost * sequence.get("factor", 1.0)


def _worked(sequence: Mapping[str, Any]) -> str:
    """Write one advantage as a sum; empty if its parts are unknown."""
    if sequence.get("scale") is None or "task" not in sequence:
        return ""
    task, center, scale, advantage = (
        _number(sequence[key]) for key in ("task", "center", "scale", "advantage")
    )
    charge = _number(_charge(sequence))
    return (
        f"   episode {sequence['episode']}:"
        f" A = ({task} - {charge} - ({center})) / {scale} = {advantage}"
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    main()
