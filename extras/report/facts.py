"""Facts about a run: environment, agent, learner, seed, price, date, duration, version, command.

They come from the configuration and the records of the run; unknown facts are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from laconic.experiments.run_folder.records import Run

_MOST = 6
"""Maximum number of values that a fact of several runs lists."""


def facts(run: Run) -> dict[str, str]:
    """Return the facts of a run by name, in the order of the page."""
    env, agent, learner = (run.group(name) for name in ("env", "agent", "learner"))
    texts = {
        "environment": run.environment,
        "source": str(env.get("source") or ""),
        "agent": run.name("agent"),
        "model": str(agent.get("model") or ""),
        "learner": run.name("learner"),
        "seed": run.seed,
        "price": _price(run, env, learner),
        "date": _date(run.written),
        "duration": duration(run.seconds),
        "updates": _updates(run),
        "version": _version(run),
        "device": str(run.written_by.get("device") or ""),
        "command": str(run.written_by.get("command") or ""),
    }
    return {name: text for name, text in texts.items() if text}


def title(about: Mapping[str, str], folder: str) -> str:
    """Return the title of a report: its environment, learner and seeds.

    Args:
        about: facts of the run, or of all runs.
        folder: name of the folder, which is the title if the environment is unknown.
    """
    if "environment" not in about:
        return folder
    seed = about.get("seed", "")
    seeds = f"seed{'s' if ',' in seed else ''} {seed}" if seed else ""
    parts = (about["environment"], about.get("learner", ""), seeds)
    return " · ".join(part for part in parts if part)


def facts_of_all(runs: Sequence[Run]) -> dict[str, str]:
    """Merge the facts of several runs: distinct values, total duration, first and last date."""
    per_run = [facts(run) for run in runs]
    merged = {}
    for name in dict.fromkeys(name for about in per_run for name in about):
        values = list(dict.fromkeys(about[name] for about in per_run if name in about))
        rest = f" and {len(values) - _MOST} more" if len(values) > _MOST else ""
        merged[name] = ", ".join(values[:_MOST]) + rest
    # Each run has a command of its own, and the list of runs shows its overrides.
    merged.pop("command", None)
    if "duration" in merged:
        merged["duration"] = f"{duration(sum(run.seconds for run in runs))} in all"
    written = [run.written for run in runs if run.written is not None]
    if written and _date(min(written)) != _date(max(written)):
        merged["date"] = f"{_date(min(written))} to {_date(max(written))}"
    return merged


def duration(seconds: float) -> str:
    """Write a time in its two largest units: `1 h 4 min`, `4 min 10 s`, `12 s`; empty for 0."""
    whole = round(seconds)
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours} h {minutes} min"
    if minutes:
        return f"{minutes} min {whole % 60} s"
    return f"{whole} s" if whole else ""


def _version(run: Run) -> str:
    """Return the version that wrote a run, with its commit if it was a clone."""
    commit = str(run.written_by.get("commit") or "")
    dirty = " with changes" if commit.endswith("-dirty") else ""
    return f"{run.version} (commit {commit[:10]}{dirty})" if commit and run.version else run.version


def _price(run: Run, env: Mapping[str, Any], learner: Mapping[str, Any]) -> str:
    """Return the configured token price, and its first and last value if a schedule changed it."""
    reward, schedule = env.get("reward"), learner.get("price")
    text = str(reward.get("price", "")) if isinstance(reward, Mapping) else ""
    target = schedule.get("_target_") if isinstance(schedule, Mapping) else None
    kind = str(target or "").rpartition(".")[2]
    _, values = run.series("train/price")
    if len(set(values)) > 1:
        return f"{text} ({kind or 'moved'}: {values[0]:.3g} to {values[-1]:.3g})".strip()
    return text


def _updates(run: Run) -> str:
    """Return the updates of a run with a time limit; empty without one."""
    train = run.group("train")
    limit = train.get("minutes")
    if not isinstance(limit, int | float) or not run.metrics:
        return ""
    return f"{max(run.metrics)} of at most {train.get('steps')} in {limit:g} minutes"


def _date(written: float | None) -> str:
    return "" if written is None else f"{datetime.fromtimestamp(written):%Y-%m-%d}"
