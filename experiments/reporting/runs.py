"""Reads a run folder as it is found: finished, half-way, or partly broken.

Nothing in a folder is trusted to be there or to be whole. What cannot be read is left out and said
in `Run.problems`; only the last line of a file is left out without a word, since a killed run
leaves it torn. A step that is there twice (a run was resumed) counts as it was written last.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from laconic.experiments.command_line.sweeping import ERROR, reason
from laconic.experiments.reporting.records import Evaluation, Run, Said, Transcript
from laconic.experiments.running.foreign import read_status
from laconic.learners.metrics import Interval


def read_run(folder: Path) -> Run:
    """Read what there is in a run folder; never raises for what a file holds or lacks."""
    problems: list[str] = []
    config = _text(folder / "config.yaml", problems)
    settings = _settings(config, problems)
    metrics = _metrics(_rows(folder / "metrics.jsonl", problems))
    evaluations = _evaluations(_rows(folder / "evaluations.jsonl", problems), metrics)
    transcripts = _transcripts(_rows(folder / "transcripts.jsonl", problems))
    status = _status(folder / "status.json", problems)
    overrides = _overrides(folder / ".hydra" / "overrides.yaml", problems)
    error = _error(folder / ERROR)
    state = _state(status, settings, metrics, bool(error))
    return Run(
        folder=folder,
        config=config,
        overrides=overrides,
        seed=_seed(overrides, settings),
        metrics=metrics,
        evaluations=evaluations,
        transcripts=transcripts,
        state=state,
        error="" if state == "finished" else error,
        written=_written(folder / "metrics.jsonl"),
        warnings=tuple(str(one) for one in _list(status.get("warnings"))),
        problems=tuple(problems),
    )


def _text(path: Path, problems: list[str]) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
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
            row = json.loads(line)
        except (ValueError, RecursionError):
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
        read = {name: _interval(entry) for name, entry in entries.items()}
        whole = {name: interval for name, interval in read.items() if interval is not None}
        episodes = int(_number(row.get("episodes")) or 0)
        found[int(number)] = Evaluation(int(number), episodes, whole)
    return tuple(found[step] for step in sorted(found))


def _interval(entry: Any) -> Interval | None:
    if not isinstance(entry, dict) or (mean := _number(entry.get("mean"))) is None:
        return None
    low, high = _number(entry.get("low")), _number(entry.get("high"))
    count = int(_number(entry.get("count")) or 0)
    return Interval(
        mean, math.nan if low is None else low, math.nan if high is None else high, count
    )


def _transcripts(rows: list[dict[str, Any]]) -> tuple[Transcript, ...]:
    found = {}
    for row in rows:
        step = _number(row.get("step"))
        if step is not None and "task" in row:
            found[int(step), str(row["task"])] = Transcript(
                step=int(step),
                task=str(row["task"]),
                question=str(row.get("question") or ""),
                statements=tuple(map(str, _list(row.get("statements")))),
                reference=str(row.get("reference", "")),
                messages=tuple(
                    _said(one) for one in _list(row.get("messages")) if isinstance(one, dict)
                ),
                solved=None if row.get("solved") is None else bool(row["solved"]),
                answer=str(row.get("answer") or ""),
                tokens_said=None
                if (said := _number(row.get("tokens_said"))) is None
                else int(said),
            )
    return tuple(sorted(found.values(), key=lambda one: one.step))


def _said(row: dict[str, Any]) -> Said:
    informed = row.get("informed")
    return Said(
        agent=str(row.get("agent", "?")),
        round=int(_number(row.get("round")) or 0),
        text=str(row.get("text") or ""),
        tokens=int(_number(row.get("tokens")) or 0),
        cut=bool(row.get("cut")),
        informed=informed if isinstance(informed, bool) else None,
    )


def _settings(config: str, problems: list[str]) -> dict[str, Any]:
    # Any of several yaml and OmegaConf errors; whatever it is, the text itself can still be shown.
    try:
        found = OmegaConf.to_container(OmegaConf.create(config), resolve=False) if config else {}
    except Exception as error:
        problems.append(f"config.yaml is not yaml ({type(error).__name__})")
        return {}
    return found if isinstance(found, dict) else {}  # type: ignore[return-value]


def _overrides(path: Path, problems: list[str]) -> tuple[str, ...] | None:
    if not path.exists():
        return None
    try:
        return tuple(str(one) for one in OmegaConf.to_container(OmegaConf.load(path)) or ())
    except Exception as error:
        problems.append(f".hydra/overrides.yaml cannot be read ({type(error).__name__})")
        return None


def _seed(overrides: tuple[str, ...] | None, settings: Mapping[str, Any]) -> str:
    given = [one.split("=", 1)[1] for one in overrides or () if one.lstrip("+").startswith("seed=")]
    return given[-1] if given else str(settings.get("seed", ""))


def _status(path: Path, problems: list[str]) -> dict[str, Any]:
    try:
        return read_status(path.parent)
    except (OSError, ValueError):
        problems.append("status.json cannot be read")
        return {}


def _error(path: Path) -> str:
    try:
        return reason(path.read_text("utf-8", errors="replace"))
    except OSError:
        return ""


def _written(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None


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
