"""What a second pass over a draft gains, beside answering anew: `second_pass.csv`.

The four entries are paired task by task (`experiments.statistics.second_pass`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from laconic.envs.errors import SettingError
from laconic.experiments.comparing.coordination import read
from laconic.experiments.reporting.words import level, text_table
from laconic.experiments.running.run_folder import write_atomically
from laconic.experiments.statistics.second_pass import split

HEADS = ("part", "gain", "gain_low", "gain_high", "tasks")


def check(names: Sequence[str]) -> None:
    """Refuse anything but four names.

    Raises:
        SettingError: there are more or fewer.
    """
    if len(names) != 4:
        raise SettingError(
            "compare.second_pass must name four entries: draft, revision, answer without a draft,"
            f" and answer over an empty one; got {list(names)!r}"
        )


def write(folder: Path, names: Sequence[str]) -> None:
    """Write and show the parts of the gain where all four entries were played, nothing else."""
    found = [read(folder / name) for name in names]
    solved = [one["solved"] for one in found if one is not None]
    parts = split(*solved) if len(solved) == len(names) else {}
    if not parts:
        return
    buffer = io.StringIO()
    lines = csv.writer(buffer, lineterminator="\n")
    lines.writerow(HEADS)
    lines.writerows([name, one.mean, one.low, one.high, one.count] for name, one in parts.items())
    write_atomically(folder / "second_pass.csv", buffer.getvalue())
    rows = [(name.replace("_", "-"), level("accuracy", one)) for name, one in parts.items()]
    Console().print(text_table("a second pass", ("part", "gain"), rows, whole="first"))
