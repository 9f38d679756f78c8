"""Write the report of a run, or of a folder of runs: one HTML file, and its pictures beside it.

A folder of runs also gets its data, `sweep.csv` and `sweep.json` (`extras.report.data`).

    laconic report outputs/train/2026-01-31_12-00-00
    laconic report multirun/2026-01-31/12-00-00

It reports on runs in any state. The report of a running, stopped or damaged run lists the missing
parts. The report of an unfinished sweep lists the runs in the means and the state of the others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from laconic.envs.dialogue.messages import printable
from laconic.envs.errors import SettingError
from laconic.experiments.command_line.arguments import Argument, read_arguments, refuse
from laconic.experiments.command_line.lock import refuse_links
from laconic.experiments.run_folder.records import Run
from laconic.experiments.run_folder.runs import find_runs, is_run, read_run
from laconic.experiments.statistics.words import text_table
from laconic.extras.report import frontier, single, standing, sweep
from laconic.extras.report.data import FILES, write_data
from laconic.extras.report.facts import facts, facts_of_all, title
from laconic.extras.report.look import LEFT_OUT, Picture, can_draw

PAGE = "report.html"
PICTURES = "report"
_PRINTED = 6
"""Number of printed columns of a sweep's table."""
_WIDE, _NARROW = 116, 100
"""Minimum widths to print changes with intervals, and to print levels on one line."""


def write_report(folder: Path, console: Console | None = None) -> Path:
    """Write the report of a folder into it.

    Args:
        folder: a run folder, or a folder with run folders at any depth.
        console: console for the table, the warnings and the paths; None prints nothing.

    Returns:
        Path of the page.

    Raises:
        FileNotFoundError: the folder does not exist, or holds no run.
        OSError: the folder cannot be written to.
        SettingError: a link in the folder leads out of it.
    """
    folder = Path(folder).resolve()
    if not folder.is_dir():
        raise FileNotFoundError(
            f"expected the folder of a run or of a multirun; there is no folder {str(folder)!r}"
        )
    if is_run(folder):
        return _write_run(folder, console)
    runs = find_runs(folder)
    if not runs:
        raise FileNotFoundError(
            f"expected a run folder (with metrics.jsonl) or a folder of runs; {str(folder)!r} has"
            " none. Name the folder that laconic train printed, or one above it"
        )
    return _write_sweep(folder, runs, console)


def _write_run(folder: Path, console: Console | None) -> Path:
    run = read_run(folder)
    document, pictures = single.document(run)
    path = _save(folder, document, pictures)
    if console:
        _print_lines(console, "failed: ", [run.error] if run.error else [])
        _print_lines(console, "warning: ", run.warnings)
        _print_lines(console, "missing: ", single.missing(run))
        print_run(run, console)
        _print_paths(console, path, pictures)
    return path


def print_run(run: Run, console: Console) -> None:
    """Print the figures of a run before and after training."""
    columns: Sequence[str] = single.COLUMNS
    rows: list[tuple[str, ...]] = [*single.rows(run)]
    if console.width < _WIDE:
        rows = [(*row[:-1], re.sub(r" \[.*?\]", "", row[-1])) for row in rows]
    if console.width < _NARROW:
        rows = [(*row[:-1], row[-1].replace(", ", "\n")) for row in rows]
    name = title(facts(run), run.folder.name)
    _print_table(console, f"{name}: {run.state}", columns, rows)


def _write_sweep(folder: Path, paths: Sequence[Path], console: Console | None) -> Path:
    runs = [read_run(path) for path in paths]
    grouped = sweep.sort_out(runs)
    document, pictures = frontier.document(folder, runs, grouped)
    path = _save(folder, document, pictures)
    write_data(folder, runs, grouped)
    if console:
        for run in runs:
            _print_lines(console, f"{run.folder.name} warned: ", run.warnings)
        _print_lines(
            console,
            "left out: ",
            [f"{run.folder.name}: {reason}" for run, reason in grouped.left_out],
        )
        _print_lines(console, "runs: ", [", ".join(standing.counts(folder, runs))])
        name = title(facts_of_all(runs), folder.name)
        heading = f"{name}: 95 % intervals over seeds and tasks"
        # The page has the columns that a terminal has no room for.
        for name, part in grouped.environments.items():
            rows = [row[:_PRINTED] for row in sweep.rows(part)]
            heads = sweep.columns(part)[:_PRINTED]
            several = len(grouped.environments) > 1
            _print_table(console, f"{heading}; {name}" if several else heading, heads, rows)
        _print_paths(console, path, pictures)
        names = " and ".join(FILES)
        console.print(Text(printable(f"data: {folder} ({names})")), soft_wrap=True)
    return path


def _save(folder: Path, document: str, pictures: Sequence[Picture]) -> Path:
    refuse_links(folder)
    beside = folder / PICTURES
    beside.mkdir(exist_ok=True)
    for picture in pictures:
        if picture.png:
            (beside / f"{picture.name}.png").write_bytes(picture.png)
    path = folder / PAGE
    path.write_text(document, encoding="utf-8")
    return path


def _print_table(
    console: Console, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    if console.width < _NARROW:
        # Intervals go below their means, so that labels and numbers fit 80 columns.
        columns = [column.replace(" ", "\n") for column in columns]
        rows = [(name, *(cell.replace(" [", "\n[") for cell in cells)) for name, *cells in rows]
    # Names may wrap, but are never cut, because settings may differ at their ends.
    table = text_table(title, columns, rows, whole="others")
    console.print(table if rows else Text(printable(f"{title}: no evaluation yet")))


def _print_lines(console: Console, prefix: str, lines: Sequence[str]) -> None:
    for line in lines:
        console.print(Text(prefix, style="bold").append(printable(line), style="not bold"))


def _print_paths(console: Console, path: Path, pictures: Sequence[Picture]) -> None:
    names = ", ".join(f"{picture.name}.png" for picture in pictures)
    where = f"{path.parent / PICTURES} ({names})" if can_draw() else LEFT_OUT
    # Unwrapped, so that a path can be copied.
    console.print(Text(printable(f"report: {path}")), soft_wrap=True)
    console.print(Text(printable(f"pictures: {where}")), soft_wrap=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the report of the folder on the command line."""
    folder = Argument("a run folder, or a multirun folder", Path, placed=True, needed=True)
    options = read_arguments("report", __doc__, arguments, {"run": folder})
    try:
        write_report(options.run, Console())
    except (OSError, SettingError) as error:
        refuse(error)


if __name__ == "__main__":
    main()
