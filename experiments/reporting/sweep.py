"""Many runs together: which belong to one setting, and what their seeds say about it.

Runs of one environment with equal overrides, `seed` and `resume` aside, are one setting. Runs that
did not finish, or have no evaluation after training, are named and left out of every mean.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from laconic.experiments.reporting.records import Evaluation, Run, goal
from laconic.experiments.reporting.standing import standing
from laconic.experiments.reporting.words import SHARES, label, level, share_of_before
from laconic.experiments.statistics.intervals import over_seeds
from laconic.learners.metrics import Interval

_IN_TABLE = (
    "tokens_thought",
    "silent_if_uninformed",
    "spoke_if_informed",
    "silence_rate",
    "reward",
)
_APART = ("seed", "resume")


@dataclass(frozen=True, slots=True)
class Setting:
    """Runs that differ in their seed only."""

    label: str
    """The overrides that tell it from the other settings."""
    runs: tuple[Run, ...]
    """Finished and evaluated runs, one for each seed."""

    def after(self, name: str) -> Interval | None:
        """A metric after training; see `over_runs`."""
        return over_runs([run.after for run in self.runs], name)


@dataclass(frozen=True, slots=True)
class Sweep:
    """A folder of runs, sorted out."""

    settings: tuple[Setting, ...]
    """In the order of their first runs."""
    shared: tuple[str, ...]
    """Overrides that all runs have in common."""
    left_out: tuple[tuple[Run, str], ...]
    """Runs outside every mean, and why."""

    @property
    def environments(self) -> dict[str, Sweep]:
        """The same by environment, because figures of different worlds have no mean together."""
        found: dict[str, list[Setting]] = {}
        for setting in self.settings:
            found.setdefault(setting.runs[0].environment, []).append(setting)
        return {
            name: Sweep(tuple(settings), self.shared, ()) for name, settings in found.items()
        } or {"": self}

    @property
    def runs(self) -> list[Run]:
        """All runs that are in a mean."""
        return [run for setting in self.settings for run in setting.runs]

    @property
    def goal(self) -> str:
        """What the runs are after, `accuracy` or `score`."""
        return goal(self.runs)


def find_runs(folder: Path) -> list[Path]:
    """Run folders below a folder in natural order (2 before 10); runs are not looked into."""
    found = []
    for root, inner, _ in os.walk(folder):
        here = Path(root)
        if is_run(here):
            found.append(here)
            inner.clear()
    return sorted(found, key=_natural)


def is_run(folder: Path) -> bool:
    """Whether a folder has anything that only a run folder has."""
    return any(
        (folder / name).exists() for name in ("metrics.jsonl", "evaluations.jsonl", ".hydra")
    )


def sort_out(runs: Sequence[Run]) -> Sweep:
    """Put runs into settings; see the module docstring."""
    groups: dict[tuple[str, tuple[str, ...]], dict[str, Run]] = {}
    left_out = []
    for run in runs:
        reason = _unfit(run)
        if reason:
            left_out.append((run, reason))
            continue
        seeds = groups.setdefault((run.environment, _setting(run)), {})
        # Without a known seed two runs cannot be told to be the same.
        seed = run.seed or str(run.folder)
        if seed in seeds:
            left_out.append((seeds[seed], f"{run.folder.name} repeats its setting and seed {seed}"))
        seeds[seed] = run
    shared = set.intersection(*(set(key) for _, key in groups)) if len(groups) > 1 else set()
    settings = tuple(
        Setting(
            ", ".join(one for one in key if one not in shared) or "default", tuple(seeds.values())
        )
        for (_, key), seeds in groups.items()
    )
    return Sweep(settings, tuple(sorted(shared)), tuple(left_out))


def before(runs: Sequence[Run], name: str) -> Interval | None:
    """A metric before training; the starting point that pictures and tables show."""
    return over_runs([run.before for run in runs], name)


def over_runs(evaluations: Sequence[Evaluation | None], name: str) -> Interval | None:
    """Return a metric over seeds with its interval over seeds and tasks; None without it."""
    figures = [figure for one in evaluations if one and (figure := one.figure(name))]
    bounds = (0.0, 1.0) if name in SHARES else (-math.inf, math.inf)
    return over_seeds(figures, bounds) if figures else None


def columns(sweep: Sweep) -> tuple[str, ...]:
    """The heads of the table's columns, what the runs are after first."""
    return ("setting", "seeds", label(sweep.goal), "tokens said", "vs before") + tuple(
        map(label, _others(sweep.goal))
    )


def rows(sweep: Sweep) -> list[tuple[str, ...]]:
    """One row for the start, and one for each setting."""
    runs = sweep.runs
    if not runs:
        return []
    names = (sweep.goal, "tokens_said", *_others(sweep.goal))
    texts = [level(name, before(runs, name)).partition(" [")[0] for name in names]
    return [("before training", str(len(runs)), *texts[:2], "", *texts[2:])] + [
        _row(setting, sweep.goal) for setting in sweep.settings
    ]


def _others(first: str) -> tuple[str, ...]:
    return _IN_TABLE if first == "accuracy" else ("accuracy", *_IN_TABLE)


def _row(setting: Setting, first: str) -> tuple[str, ...]:
    said, said_before = setting.after("tokens_said"), before(setting.runs, "tokens_said")
    return (
        setting.label,
        str(len(setting.runs)),
        level(first, setting.after(first)),
        level("tokens_said", said),
        share_of_before(said_before, said) if said and said_before else "",
        *(level(name, setting.after(name)) for name in _others(first)),
    )


def _unfit(run: Run) -> str:
    """Why a run has no place in a mean; empty when it has one."""
    if not run.finished:
        return standing(run)
    if run.after is None:
        return "no evaluation after training"
    if run.after.step < max(run.metrics, default=0):
        return f"last evaluated at step {run.after.step} of {max(run.metrics)}"
    return ""


def _setting(run: Run) -> tuple[str, ...]:
    """What a run shares with those of its setting; a run of unknown overrides stands alone."""
    if run.overrides is None:
        return (f"run {run.folder.name}, overrides not recorded",)
    kept = (one for one in run.overrides if one.lstrip("+").split("=", 1)[0] not in _APART)
    return tuple(sorted(kept))


def _natural(folder: Path) -> list[tuple[int, int | str]]:
    parts = re.findall(r"\d+|\D+", str(folder))
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts]
