"""Read a run folder in any state: finished, running, or partly broken.

Any file may be missing or damaged. Parts that cannot be read are left out and listed in
`Run.problems`, except the last line of a file, which a killed run leaves incomplete. If a resumed
run wrote a step twice, the last row counts.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from laconic.experiments.command_line.sweeping import ERROR, reason
from laconic.experiments.run_folder import provenance
from laconic.experiments.run_folder.foreign import read_status, without_controls
from laconic.experiments.run_folder.records import Evaluation, Run, Transcript, TurnRecord
from laconic.learners.metrics import Interval, Outcomes, bounds
from laconic.learners.untrusted_files import (
    MAX_ROWS,
    MAX_SETTINGS,
    parse_json,
    read_text,
    read_yaml,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MAX_NUMBER = 1e100
"""Largest number that is read. Sums and squares of larger ones overflow, and no metric has them."""
_MAX_SUM, _MAX_COUNT, _MIN_COUNT = 1e12, 1e9, 1e-6
"""Limits of outcomes by task and of means of evaluations; 1e-6 is the last digit written."""
T = TypeVar("T", bound="DataclassInstance")
V = TypeVar("V")


def read_run(folder: Path) -> Run:
    """Read a run folder; never raise for the contents of a file or a missing file."""
    problems: list[str] = []
    recorded = folder / ".hydra" / "overrides.yaml"
    config = _text(folder / "config.yaml", problems)
    words = "config.yaml is not YAML"
    settings: Any = _read_or(lambda: read_yaml(folder / "config.yaml"), {}, problems, words)
    settings = settings if isinstance(settings, dict) else {}
    metrics = _metrics(_rows(folder / "metrics.jsonl", problems))
    evaluations = _evaluations(_rows(folder / "evaluations.jsonl", problems), metrics)
    transcripts = _transcripts(_rows(folder / "transcripts.jsonl", problems))
    words = "status.json cannot be read"
    status: dict[str, Any] = _read_or(lambda: read_status(folder), {}, problems, words)
    overrides: tuple[str, ...] | None = None
    if recorded.exists():
        words = ".hydra/overrides.yaml cannot be read"
        overrides = _read_or(lambda: _overrides(recorded), None, problems, words)
    error = _read_or(lambda: reason(read_text(folder / ERROR)), "")
    state = _state(status, settings, metrics, bool(error))
    return Run(
        folder=folder,
        config=config,
        overrides=overrides,
        settings=settings,
        choices=_read_or(lambda: _choices(recorded.with_name("hydra.yaml")), {}),
        seed=_seed(overrides, settings),
        metrics=metrics,
        evaluations=evaluations,
        transcripts=transcripts,
        state=state,
        error="" if state == "finished" else error,
        written=_read_or(lambda: (folder / "metrics.jsonl").stat().st_mtime, None),
        version=str(status.get("version") or ""),
        warnings=tuple(map(str, _list(status.get("warnings")))),
        written_by=(without_controls(provenance.read(folder)) or [{}])[-1],
        problems=tuple(problems),
    )


def find_runs(folder: Path) -> list[Path]:
    """Find the run folders below a folder, in natural order (2 before 10)."""
    runs = []
    for root, inner, _ in os.walk(folder):
        here = Path(root)
        if is_run(here):
            runs.append(here)
            inner.clear()
    return sorted(runs, key=_natural)


def is_run(folder: Path) -> bool:
    """Check whether a folder has a file that only run folders have."""
    return any(
        (folder / name).exists() for name in ("metrics.jsonl", "evaluations.jsonl", ".hydra")
    )


def _natural(folder: Path) -> list[tuple[int, int | str]]:
    parts = re.findall(r"\d+|\D+", str(folder))
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts]


def _text(path: Path, problems: list[str]) -> str:
    try:
        return read_text(path, MAX_ROWS if path.suffix == ".jsonl" else MAX_SETTINGS)
    except FileNotFoundError:
        problems.append(f"{path.name} is missing")
    except OSError as error:
        problems.append(f"{path.name} cannot be read ({error.strerror})")
    return ""


def _rows(path: Path, problems: list[str]) -> list[dict[str, Any]]:
    rows = []
    lines = _text(path, problems).split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except ValueError:
            row = None
        if isinstance(row, dict):
            rows.append(row)
        elif number < len(lines):
            problems.append(f"{path.name}: line {number} is not a JSON object and is left out")
    return rows


def _metrics(rows: list[dict[str, Any]]) -> dict[int, dict[str, float]]:
    metrics: dict[int, dict[str, float]] = {}
    for row in rows:
        step = _number(row.get("step"))
        if step is None:
            continue
        numbers = {name: _number(value) for name, value in row.items() if name != "step"}
        finite = {name: value for name, value in numbers.items() if value is not None}
        metrics.setdefault(int(step), {}).update(finite)
    return dict(sorted(metrics.items()))


def _evaluations(
    rows: list[dict[str, Any]], metrics: Mapping[int, Mapping[str, float]]
) -> tuple[Evaluation, ...]:
    evaluations = {}
    for step, row in metrics.items():
        means = {
            name.removeprefix("eval/"): Interval(value, math.nan, math.nan, 0)
            for name, value in row.items()
            if name.startswith("eval/")
        }
        if means:
            evaluations[step] = Evaluation(step, 0, means)
    for row in rows:
        if evaluation := read_evaluation(row):
            evaluations[evaluation.step] = evaluation
    return tuple(evaluations[step] for step in sorted(evaluations))


def read_evaluation(row: Mapping[str, Any]) -> Evaluation | None:
    """Read an evaluation from JSON; None without its step or its intervals."""
    number, entries = _number(row.get("step")), row.get("intervals")
    if number is None or not isinstance(entries, dict):
        return None
    read = {name: read_interval(entry) for name, entry in entries.items()}
    intervals = {name: interval for name, interval in read.items() if interval is not None}
    episodes = int(_number(row.get("episodes")) or 0)
    none: dict[str, list[tuple[float, float]]] = {}
    return Evaluation(
        int(number),
        episodes,
        intervals,
        _read_or(partial(_corners, row.get("floors")), none),
        str(row.get("tasks") or ""),
        _outcomes(row.get("outcomes"), episodes),
    )


def _corners(floors: Any) -> dict[str, list[tuple[float, float]]]:
    return {name: [(float(x), float(y)) for x, y in line] for name, line in (floors or {}).items()}


def _outcomes(entries: Any, episodes: int) -> dict[str, Outcomes]:
    """Read the outcomes by task that are whole: for each episode a possible sum and count."""
    read = {}
    for name, entry in entries.items() if isinstance(entries, dict) else ():
        entry = entry if isinstance(entry, dict) else {}
        sums, counts = (_column(entry.get(key)) for key in ("sums", "counts"))
        whole = len(sums) == len(counts) == episodes and any(counts)
        if whole and all(map(partial(_are_possible, name), sums, counts)):
            read[str(name)] = Outcomes(sums, counts)
    return read


def _are_possible(name: str, total: float, count: float) -> bool:
    """Return whether an episode can have this sum and count of a metric, up to rounding."""
    if abs(total) > _MAX_SUM or not (count == 0 or _MIN_COUNT <= count <= _MAX_COUNT):
        return False
    low, high = (end * count if count else 0.0 for end in bounds(name))
    return low - _MIN_COUNT <= total <= high + _MIN_COUNT


def _column(values: Any) -> tuple[float, ...]:
    """Read a list of finite numbers; empty if one of them is something else."""
    numbers = [number for value in _list(values) if (number := _number(value)) is not None]
    return tuple(numbers) if len(numbers) == len(_list(values)) else ()


def read_interval(entry: Any) -> Interval | None:
    """Read an interval from JSON; a missing end is NaN. Return None without a possible mean."""
    mean = _number(entry.get("mean")) if isinstance(entry, dict) else None
    return None if mean is None or abs(mean) > _MAX_SUM else read_record(Interval, entry)


def _transcripts(rows: list[dict[str, Any]]) -> tuple[Transcript, ...]:
    transcripts = filter(None, map(read_transcript, rows))
    last = {(entry.step, entry.task): entry for entry in transcripts}
    return tuple(sorted(last.values(), key=lambda entry: entry.step))


def read_transcript(row: Mapping[str, Any]) -> Transcript | None:
    """Read a transcript from JSON; None without its step or its task."""
    identified = _number(row.get("step")) is not None and "task" in row
    return read_record(Transcript, row) if identified else None


def read_record(kind: type[T], row: Mapping[str, Any]) -> T:
    """Read the fields of a record from JSON; a missing or mistyped value is empty or None."""
    return kind(
        **{field.name: _READ[str(field.type)](row.get(field.name)) for field in fields(kind)}
    )


def _read_or(
    read: Callable[[], V], default: V, problems: list[str] | None = None, words: str = ""
) -> V:
    """Call `read`; if it fails, add `words` to the problems and return the default."""
    # Files, JSON, YAML and OmegaConf raise many errors; a report shows the rest.
    try:
        return read()
    except Exception as error:
        if problems is not None:
            problems.append(f"{words} ({type(error).__name__})")
        return default


def _overrides(path: Path) -> tuple[str, ...]:
    return tuple(map(str, read_yaml(path) or ()))


def _choices(path: Path) -> dict[str, str]:
    """Read the chosen option of each config group from Hydra's record."""
    choices = read_yaml(path)["hydra"]["runtime"]["choices"] or {}
    return {str(group): str(choice) for group, choice in choices.items()}


def _seed(overrides: tuple[str, ...] | None, settings: Mapping[str, Any]) -> str:
    typed = [text for text in overrides or () if text.lstrip("+").startswith("seed=")]
    return typed[-1].split("=", 1)[1] if typed else str(settings.get("seed", ""))


def _state(
    status: Mapping[str, Any],
    settings: Mapping[str, Any],
    metrics: Mapping[int, Any],
    failed: bool,
) -> str:
    train = settings.get("train")
    planned = _number(train.get("steps")) if isinstance(train, dict) else None
    last = max(metrics, default=0)
    state = str(status.get("state") or "")
    if state == "finished" or (not state and planned is not None and last >= planned):
        return "finished"
    state = "failed" if failed else state
    if not metrics:
        return state or "nothing recorded"
    return f"{state or 'unfinished'} (step {last}{f' of {planned:.0f}' if planned else ''})"


def _number(value: Any) -> float | None:
    """Return a number of at most `MAX_NUMBER`, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if abs(number) <= MAX_NUMBER else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _ledgers(value: Any) -> dict[str, tuple[float, ...]]:
    """Read numbers by agent and round; anything else is NaN."""
    ledgers = value.items() if isinstance(value, dict) else ()
    return {str(agent): tuple(map(_READ["float"], _list(numbers))) for agent, numbers in ledgers}


_READ: Mapping[str, Callable[[Any], Any]] = {
    "str": lambda value: "" if value is None else str(value),
    "int": lambda value: int(_number(value) or 0),
    "bool": bool,
    "float": lambda value: math.nan if _number(value) is None else _number(value),
    "int | None": lambda value: None if _number(value) is None else int(value),
    "float | None": _number,
    "bool | None": lambda value: value if isinstance(value, bool) else None,
    "Mapping[str, tuple[float, ...]]": _ledgers,
    "tuple[float, ...]": lambda value: tuple(map(_READ["float"], _list(value))),
    "tuple[str, ...]": lambda value: tuple(map(str, _list(value))),
    "tuple[TurnRecord, ...]": lambda value: tuple(
        read_record(TurnRecord, turn) for turn in _list(value) if isinstance(turn, dict)
    ),
}
"""Annotation of a field -> function that reads its value from any JSON value."""
