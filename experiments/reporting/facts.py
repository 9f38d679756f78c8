"""What a run was: environment, agent, learner, seed, price, date, duration, version, command.

Taken from the configuration and from what was recorded; what a folder does not tell is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from laconic.experiments.reporting.records import Run

_MOST = 6
"""Values that a fact of several runs spells out."""


def facts(run: Run) -> dict[str, str]:
    """Name of a fact -> its text, in the order of pages."""
    env, agent, learner = (run.group(name) for name in ("env", "agent", "learner"))
    found = {
        "environment": run.environment,
        "source": str(env.get("source") or ""),
        "agent": run.choices.get("agent") or _made_by(agent),
        "model": str(agent.get("model") or ""),
        "learner": run.choices.get("learner") or _made_by(learner),
        "seed": run.seed,
        "price": _price(run, env, learner),
        "date": _date(run.written),
        "duration": duration(run.seconds),
        "version": _version(run),
        "device": str(run.written_by.get("device") or ""),
        "command": str(run.written_by.get("command") or ""),
    }
    return {name: text for name, text in found.items() if text}


def title(about: Mapping[str, str], folder: str) -> str:
    """Return the title of a report: its environment, learner and seeds.

    Args:
        about: facts of the run, or of all runs.
        folder: name of the folder, which is the title where the environment is not known.
    """
    if "environment" not in about:
        return folder
    seed = about.get("seed", "")
    seeds = f"seed{'s' if ',' in seed else ''} {seed}" if seed else ""
    parts = (about["environment"], about.get("learner", ""), seeds)
    return " · ".join(part for part in parts if part)


def facts_of_all(runs: Sequence[Run]) -> dict[str, str]:
    """The facts of several runs: every value once, the whole duration, the first and last date."""
    each = [facts(run) for run in runs]
    found = {}
    for name in dict.fromkeys(name for one in each for name in one):
        values = list(dict.fromkeys(one[name] for one in each if name in one))
        rest = f" and {len(values) - _MOST} more" if len(values) > _MOST else ""
        found[name] = ", ".join(values[:_MOST]) + rest
    # Those of jobs are that of the sweep, and of each in the list of runs.
    found.pop("command", None)
    if "duration" in found:
        found["duration"] = f"{duration(sum(run.seconds for run in runs))} in all"
    written = [run.written for run in runs if run.written is not None]
    if written and _date(min(written)) != _date(max(written)):
        found["date"] = f"{_date(min(written))} to {_date(max(written))}"
    return found


def duration(seconds: float) -> str:
    """A time in its two largest units: `1 h 4 min`, `4 min 10 s`, `12 s`; empty for none."""
    whole = round(seconds)
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours} h {minutes} min"
    if minutes:
        return f"{minutes} min {whole % 60} s"
    return f"{whole} s" if whole else ""


def _version(run: Run) -> str:
    """The version that wrote a run, with its commit where it was of a clone."""
    commit = str(run.written_by.get("commit") or "")
    dirty = " with changes" if commit.endswith("-dirty") else ""
    return f"{run.version} (commit {commit[:10]}{dirty})" if commit and run.version else run.version


def _made_by(settings: Mapping[str, Any]) -> str:
    """What makes a part where its choice was not recorded: the last two names of its target."""
    return ".".join(str(settings.get("_target_") or "").split(".")[-2:])


def _price(run: Run, env: Mapping[str, Any], learner: Mapping[str, Any]) -> str:
    """The price of a token as set, and how it moved where a schedule or a controller moved it."""
    reward, schedule = env.get("reward"), learner.get("price")
    text = str(reward.get("price", "")) if isinstance(reward, Mapping) else ""
    kind = _made_by(schedule).rpartition(".")[2] if isinstance(schedule, Mapping) else ""
    _, values = run.series("train/price")
    if len(set(values)) > 1:
        return f"{text} ({kind or 'moved'}: {values[0]:.3g} to {values[-1]:.3g})".strip()
    return text


def _date(written: float | None) -> str:
    return "" if written is None else f"{datetime.fromtimestamp(written):%Y-%m-%d}"
