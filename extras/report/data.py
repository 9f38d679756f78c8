"""Data of a folder of runs, for figures and tables of one's own: `sweep.csv` and `sweep.json`.

Both have a row for each run: the names of its parts, the settings that vary, and the figures of its
last evaluation (`eval/`) and of the one before training (`start/`). Runs that are in no mean say
why in `left_out`. The JSON adds the settings with their intervals.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser

from laconic.experiments.command_line.targets import NAMED
from laconic.experiments.command_line.tree import record_of, setting_at
from laconic.experiments.command_line.trust import MAX_OVERRIDE
from laconic.experiments.run_folder.folder import strict, write_atomically
from laconic.experiments.run_folder.records import Evaluation, Run
from laconic.experiments.statistics.words import order
from laconic.extras.report.sweep import APART, Setting, Sweep, before

FILES = ("sweep.csv", "sweep.json")
_OF_UPDATES = ("train/", "teacher/", "learner/", "engine/", "time/", "memory/")
"""Beginnings of the metrics of a step that do not belong to its evaluation."""


def write_data(folder: Path, runs: Sequence[Run], sweep: Sweep) -> None:
    """Write `FILES` into a folder of runs."""
    keys = varying(runs)
    rows = [_row(folder, run, keys, sweep) for run in runs]
    settings = [_setting(folder, setting, keys) for setting in sweep.settings]
    data = strict({"runs": rows, "settings": settings})
    write_atomically(folder / FILES[0], as_csv(rows))
    write_atomically(folder / FILES[1], json.dumps(data, indent=1, allow_nan=False) + "\n")


def varying(runs: Sequence[Run]) -> list[str]:
    """Return the keys that some override sets and whose values differ, without named groups."""
    typed = dict.fromkeys(key for run in runs for key in _typed(run))
    return [
        key
        for key in typed
        if key not in (*APART, *NAMED) and not key.startswith("hydra")
        if len({json.dumps(value_of(run, key), sort_keys=True) for run in runs}) > 1
    ]


def value_of(run: Run, key: str) -> Any:
    """Return a setting of a run, or the chosen option of a group; None if unknown."""
    if key in run.choices:
        return run.choices[key]
    value: Any = run.settings
    for name in key.split("."):
        if not isinstance(value, Mapping) or name not in value:
            # A run that failed at once has no configuration.
            default = getattr(setting_at(run.settings, key, record_of("train")), "default", None)
            # A default that is missing or computed is no plain value.
            default = None if isinstance(default, type) else default
            return strict(_typed(run).get(key, default))
        value = value[name]
    return strict(value)


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV with the columns of all; an unknown value is empty."""
    buffer = io.StringIO()
    heads = list(dict.fromkeys(name for row in rows for name in row))
    # Figures come last, in one order, whichever run has them.
    figures = [name for name in heads if name.startswith(("eval/", "start/"))]
    heads = [name for name in heads if name not in figures] + figures
    writer = csv.DictWriter(buffer, heads, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return buffer.getvalue()


def _row(folder: Path, run: Run, keys: Sequence[str], sweep: Sweep) -> dict[str, Any]:
    reasons = {str(other.folder): reason for other, reason in sweep.left_out}
    return {
        "run": _path(folder, run),
        **_settings(run, keys),
        "seed": int(run.seed) if run.seed.isdecimal() else run.seed or None,
        "state": run.state,
        "left_out": reasons.get(str(run.folder)),
        "step": run.after.step if run.after else None,
        "episodes": run.after.episodes if run.after else None,
        **_figures("eval/", run, run.after),
        **_figures("start/", run, run.before),
    }


def _settings(run: Run, keys: Sequence[str]) -> dict[str, Any]:
    names = {group: run.name(group) or None for group in NAMED}
    return names | {key: value_of(run, key) for key in keys}


def _figures(prefix: str, run: Run, evaluation: Evaluation | None) -> dict[str, float]:
    """Return the figures of an evaluation by name, those of packages included."""
    if evaluation is None:
        return {}
    row = run.metrics.get(evaluation.step, {})
    means = {
        name.removeprefix("eval/"): value
        for name, value in row.items()
        if "/" in name and not name.startswith(_OF_UPDATES)
    }
    means |= {name: figure.mean for name, figure in evaluation.intervals.items()}
    return {f"{prefix}{name}": means[name] for name in order(set(means))}


def _setting(folder: Path, setting: Setting, keys: Sequence[str]) -> dict[str, Any]:
    """Return a setting with its intervals after training (`eval`) and before (`start`)."""
    after = {name for run in setting.runs if run.after for name in run.after.intervals}
    first = {name for run in setting.runs if run.before for name in run.before.intervals}
    return {
        "setting": setting.label,
        **_settings(setting.runs[0], keys),
        "runs": [_path(folder, run) for run in setting.runs],
        "eval": {name: asdict(figure) for name in order(after) if (figure := setting.after(name))},
        "start": {
            name: asdict(figure) for name in order(first) if (figure := before(setting.runs, name))
        },
    }


def _typed(run: Run) -> dict[str, Any]:
    """Return the values that overrides set, by key; one that cannot be parsed is its text."""
    values: dict[str, Any] = {}
    parser = OverridesParser.create()
    for text in run.overrides or ():
        name, _, value = text.partition("=")
        key = name.lstrip("+~")
        values[key] = None if name.startswith("~") else value
        if len(text) <= MAX_OVERRIDE and value and not name.startswith("~"):
            try:
                values[key] = parser.parse_override(text).value()
            except Exception:
                # The folder may come from a stranger, and the parser raises many errors.
                continue
    return values


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (dict, list)) else value


def _path(folder: Path, run: Run) -> str:
    return run.folder.relative_to(folder).as_posix()
