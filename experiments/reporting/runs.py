"""Reads a run folder as it is found: finished, half-way, or partly broken.

Nothing in a folder is trusted to be there or to be whole. What cannot be read is left out and said
in `Run.problems`; only the last line of a file is left out without a word, since a killed run
leaves it torn. A step that is there twice (a run was resumed) counts as it was written last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from laconic.experiments.command_line.sweeping import ERROR, reason
from laconic.experiments.reporting.records import Evaluation, Run, Said, Transcript
from laconic.experiments.run_folder import provenance
from laconic.experiments.run_folder.foreign import read_status, without_controls
from laconic.learners.metrics import Interval
from laconic.learners.untrusted_files import (
    MAX_ROWS,
    MAX_SETTINGS,
    parse_json,
    read_text,
    read_yaml,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
V = TypeVar("V")


def read_run(folder: Path) -> Run:
    """Read what there is in a run folder; never raises for what a file holds or lacks."""
    problems: list[str] = []
    recorded = folder / ".hydra" / "overrides.yaml"
    config = _text(folder / "config.yaml", problems)
    words = "config.yaml is not yaml"
    settings: Any = _tried(lambda: read_yaml(folder / "config.yaml"), {}, problems, words)
    settings = settings if isinstance(settings, dict) else {}
    metrics = _metrics(_rows(folder / "metrics.jsonl", problems))
    evaluations = _evaluations(_rows(folder / "evaluations.jsonl", problems), metrics)
    transcripts = _transcripts(_rows(folder / "transcripts.jsonl", problems))
    words = "status.json cannot be read"
    status: dict[str, Any] = _tried(lambda: read_status(folder), {}, problems, words)
    overrides: tuple[str, ...] | None = None
    if recorded.exists():
        words = ".hydra/overrides.yaml cannot be read"
        overrides = _tried(lambda: _overrides(recorded), None, problems, words)
    error = _tried(lambda: reason(read_text(folder / ERROR)), "")
    state = _state(status, settings, metrics, bool(error))
    return Run(
        folder=folder,
        config=config,
        overrides=overrides,
        settings=settings,
        choices=_tried(lambda: _choices(recorded.with_name("hydra.yaml")), {}),
        seed=_seed(overrides, settings),
        metrics=metrics,
        evaluations=evaluations,
        transcripts=transcripts,
        state=state,
        error="" if state == "finished" else error,
        written=_tried(lambda: (folder / "metrics.jsonl").stat().st_mtime, None),
        version=str(status.get("version") or ""),
        warnings=tuple(str(one) for one in _list(status.get("warnings"))),
        written_by=(without_controls(provenance.read(folder)) or [{}])[-1],
        problems=tuple(problems),
    )


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
    found: dict[int, dict[str, float]] = {}
    for row in rows:
        step = _number(row.get("step"))
        if step is None:
            continue
        numbers = {name: _number(value) for name, value in row.items() if name != "step"}
        kept = {name: value for name, value in numbers.items() if value is not None}
        found.setdefault(int(step), {}).update(kept)
    return dict(sorted(found.items()))


def _evaluations(
    rows: list[dict[str, Any]], metrics: Mapping[int, Mapping[str, float]]
) -> tuple[Evaluation, ...]:
    found = {}
    for step, row in metrics.items():
        bare = {
            name.removeprefix("eval/"): Interval(value, math.nan, math.nan, 0)
            for name, value in row.items()
            if name.startswith("eval/")
        }
        if bare:
            found[step] = Evaluation(step, 0, bare)
    for row in rows:
        number, entries = _number(row.get("step")), row.get("intervals")
        if number is None or not isinstance(entries, dict):
            continue
        read = {name: read_interval(entry) for name, entry in entries.items()}
        whole = {name: interval for name, interval in read.items() if interval is not None}
        episodes = int(_number(row.get("episodes")) or 0)
        none: dict[str, list[tuple[float, float]]] = {}
        drawn = _tried(partial(_corners, row.get("floors")), none)
        found[int(number)] = Evaluation(int(number), episodes, whole, drawn)
    return tuple(found[step] for step in sorted(found))


def _corners(plain: Any) -> dict[str, list[tuple[float, float]]]:
    return {name: [(float(x), float(y)) for x, y in one] for name, one in (plain or {}).items()}


def read_interval(entry: Any) -> Interval | None:
    """An interval from JSON; an end that is not there is NaN, and without a mean there is none."""
    known = isinstance(entry, dict) and _number(entry.get("mean")) is not None
    return _read(Interval, entry) if known else None


def _transcripts(rows: list[dict[str, Any]]) -> tuple[Transcript, ...]:
    read = (one for row in rows if (one := read_transcript(row)) is not None)
    found = {(one.step, one.task): one for one in read}
    return tuple(sorted(found.values(), key=lambda one: one.step))


def read_transcript(row: Mapping[str, Any]) -> Transcript | None:
    """A transcript from JSON; None without its step or its task."""
    known = _number(row.get("step")) is not None and "task" in row
    return _read(Transcript, row) if known else None


def _read(kind: type[T], row: Mapping[str, Any]) -> T:
    """A record from JSON by its fields; what is missing or of another type is empty or None."""
    return kind(**{one.name: _READ[str(one.type)](row.get(one.name)) for one in fields(kind)})


def _tried(
    read: Callable[[], V], default: V, problems: list[str] | None = None, say: str = ""
) -> V:
    """What can be read; the default, and a word of it among the problems, where that fails."""
    # Any of the errors of files, JSON, yaml and OmegaConf; a report shows what there is.
    try:
        return read()
    except Exception as error:
        if problems is not None:
            problems.append(f"{say} ({type(error).__name__})")
        return default


def _overrides(path: Path) -> tuple[str, ...]:
    return tuple(map(str, read_yaml(path) or ()))


def _choices(path: Path) -> dict[str, str]:
    """What Hydra noted of the groups that were chosen from."""
    found = read_yaml(path)["hydra"]["runtime"]["choices"] or {}
    return {str(group): str(choice) for group, choice in found.items()}


def _seed(overrides: tuple[str, ...] | None, settings: Mapping[str, Any]) -> str:
    given = [one.split("=", 1)[1] for one in overrides or () if one.lstrip("+").startswith("seed=")]
    return given[-1] if given else str(settings.get("seed", ""))


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
    """A finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _ledgers(value: Any) -> dict[str, tuple[float, ...]]:
    """Numbers by agent and round; what is no number is NaN."""
    ledgers = value.items() if isinstance(value, dict) else ()
    return {str(agent): tuple(map(_READ["float"], _list(booked))) for agent, booked in ledgers}


_READ: Mapping[str, Callable[[Any], Any]] = {
    "str": lambda value: "" if value is None else str(value),
    "int": lambda value: int(_number(value) or 0),
    "bool": bool,
    "float": lambda value: math.nan if _number(value) is None else _number(value),
    "int | None": lambda value: None if _number(value) is None else int(value),
    "float | None": _number,
    "bool | None": lambda value: value if isinstance(value, bool) else None,
    "Mapping[str, tuple[float, ...]]": _ledgers,
    "tuple[str, ...]": lambda value: tuple(map(str, _list(value))),
    "tuple[Said, ...]": lambda value: tuple(
        _read(Said, one) for one in _list(value) if isinstance(one, dict)
    ),
}
"""Annotation of a field -> what makes its value from anything that JSON holds."""
