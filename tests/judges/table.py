"""Shows the outcomes that the judges' modules kept, and writes them as a page.

    python tests/judges/table.py <folder of rows> <page> <module> ...

Ends with an error where a module has no rows or a row failed. Needs nothing of ours, so that any
judge's environment can run it.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

INTRODUCTION = """\
# Outside judges

Programs of others run our environments. `make judges` installs them, runs `tests/judges/` and
writes this page; `make judge-benchmarl` runs one. [Every check](evidence/judges.csv) is in a table.

- *passes*: the client's own checks hold.
- *trains*: its algorithm takes its steps, and all figures stay finite.
- *learns*: a policy clears the bars of the test on held-out tasks.
- *refused*: the client does not take this view of an environment.

"""
LEARNT = """
## What was learned

`signal` with a price (`tests/judges/conftest.py`). One of three helpers holds the statement that
matters, and the solver answers. A statement costs 0.1, and the right answer pays each agent 1. The
price rises from 0 during the training; otherwise teams fall silent and guess.

Figures are means over 500 held-out tasks, with the most likely action of every agent. The return is
the mean over agents. The last columns are shares of turns in which helpers with and without the
statement spoke. Silence can name one of the four colors for free, so three turns of four suffice.
"""
ALL = {
    path.parent.name
    for path in (Path(__file__).parents[2] / "envs" / "library").glob("*/benchmark.py")
}
"""The benchmarks there are."""
Row = dict[str, Any]
Key = Callable[[Row], tuple[str, ...]]


def main(folder: Path, page: Path, modules: list[str]) -> int:
    """Show and write what there is; 1 where something failed or is missing."""
    recorded = {module: _read(folder / f"{module}.json") for module in modules}
    rows = [row for module in modules for row in recorded[module] or [_missing(module)]]
    head = ("client", "view", "benchmark", "check", "outcome", "note")
    lines = outcomes(rows)
    _show(head, lines)
    (page.parent / "evidence").mkdir(exist_ok=True)
    with (page.parent / "evidence" / "judges.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *lines])
    text = INTRODUCTION + _markdown(
        ("client", "view", "benchmark", "outcome", "note"), brief(lines)
    )
    learnt = [row for row in rows if row["figures"]]
    text += LEARNT if learnt else ""
    for name, columns, lines in figures(learnt):
        _show(columns, lines, name)
        text += f"\n{name}\n\n" + _markdown(columns, lines)
    beside = ("client", *(rows[0]["beside"] or {"python": ""}))
    text += "\n## Versions\n\n" + _markdown(beside, versions(rows))
    page.write_text(text)
    return int(any(row["outcome"].startswith("failed") for row in rows))


def outcomes(rows: list[Row]) -> list[tuple[str, ...]]:
    """Return one line for all views, benchmarks and checks that share an outcome."""
    lines = []
    for (client, outcome, note), same in _groups(
        rows, lambda row: (_client(row), row["outcome"], row["note"])
    ):
        # Checks of a face -> benchmarks of a view -> views, each joined where all else is equal.
        benchmarks: dict[tuple[str, str], list[str]] = {}
        for (face,), checked in _groups(same, lambda row: (row["face"],)):
            view, _, benchmark = face.rpartition(" ")
            checks = "; ".join(dict.fromkeys(row["check"] for row in checked))
            benchmarks.setdefault((view, checks), []).append(benchmark)
        views: dict[tuple[str, str], list[str]] = {}
        for (view, checks), names in benchmarks.items():
            views.setdefault((checks, _list(names)), []).append(view)
        lines += [
            (client, "; ".join(filter(None, clients)), names, checks, outcome, note)
            for (checks, names), clients in views.items()
        ]
    return lines


def brief(lines: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Join the lines of a client with one outcome and note; leave out what was checked."""
    groups: dict[tuple[str, ...], tuple[dict[str, None], dict[str, None]]] = {}
    for client, views, benchmarks, _, outcome, note in lines:
        seen, names = groups.setdefault((client, outcome, note), ({}, {}))
        seen.update(dict.fromkeys(views.split("; ")))
        names.update(dict.fromkeys(benchmarks.split(", ")))
    return [
        (client, "; ".join(seen), ", ".join(names), outcome, note)
        for (client, outcome, note), (seen, names) in groups.items()
    ]


def _list(names: list[str]) -> str:
    return f"all {len(ALL)}" if set(names) == ALL else ", ".join(names)


def figures(rows: list[Row]) -> Iterable[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """Yield the figures of each client and check: a name, columns, and a line for each row."""
    for (client, face, check), same in _groups(
        rows, lambda row: (_client(row), row["face"], row["check"])
    ):
        columns = tuple(dict.fromkeys(name for row in same for name in row["figures"]))
        lines = [tuple(_number(row["figures"].get(name, "")) for name in columns) for row in same]
        yield f"{client}, {check}, {face}", tuple(name.replace("_", " ") for name in columns), lines


def versions(rows: list[Row]) -> list[tuple[str, ...]]:
    """Return the versions of packages beside each client."""
    lines = {_client(row): tuple(row["beside"].values()) for row in rows}
    return [(client, *beside) for client, beside in lines.items() if beside]


def _client(row: Row) -> str:
    return f"{row['client']} {row['version']}".strip()


def _read(path: Path) -> list[Row]:
    return json.loads(path.read_text()) if path.exists() else []


def _missing(module: str) -> Row:
    outcome = "failed: it was not installed or its module did not run"
    return {
        **{"client": module, "version": "", "face": "-", "check": "-", "outcome": outcome},
        **{"note": "", "figures": {}, "beside": {}},
    }


def _groups(rows: list[Row], key: Key) -> list[tuple[tuple[str, ...], list[Row]]]:
    """Rows with one key together, in the order in which they came."""
    grouped: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        grouped.setdefault(key(row), []).append(row)
    return list(grouped.items())


def _number(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _markdown(head: Iterable[str], lines: list[tuple[str, ...]]) -> str:
    cells = [tuple(head), ("---",) * len(tuple(head)), *lines]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in cells
    )


def _show(head: Iterable[str], lines: list[tuple[str, ...]], title: str | None = None) -> None:
    table = Table(*head, title=title)
    for line in lines:
        table.add_row(*line)
    Console(width=160).print(table)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]))
