"""Group many runs by their setting, and average each setting over its seeds.

Runs of one environment with equal overrides, except `seed` and `resume`, are one setting. Runs that
did not finish, or have no evaluation after training, are listed and left out of every mean.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from laconic.experiments.run_folder.records import Evaluation, Run, goal
from laconic.experiments.statistics.pooled import Pairs, changed, pooled
from laconic.experiments.statistics.words import change, label, level, share_of_before
from laconic.extras.report.standing import progress_of
from laconic.learners.metrics import Interval

_IN_TABLE = (
    "tokens_thought",
    "silent_if_uninformed",
    "silence_rate",
    "reward",
)
_SPOKEN = "spoke_if_informed"
"""Metric beside the main one: what informed agents no longer say may be missed only later."""
_COMPARED = ("tokens_said", _SPOKEN)
APART = ("seed", "resume")
"""Keys that make no setting."""
_MEASURED = re.compile(r"[+~]*(?:env(?!\.reward\.)|agent|evaluation)\b")
"""Beginning of the overrides that change the figures before training; no mean is over two."""
_PRICED = ("reward", "billed")
"""Metrics that depend on the price."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Runs that differ in their seed only."""

    label: str
    """Overrides that differ from those of the other settings."""
    runs: tuple[Run, ...]
    """Finished and evaluated runs, one per seed."""

    def after(self, name: str) -> Interval | None:
        """Return a metric after training; see `pooled`."""
        return pooled([run.after for run in self.runs], name)


@dataclass(frozen=True, slots=True)
class Sweep:
    """Runs of a folder, grouped by setting."""

    settings: tuple[Setting, ...]
    """Settings in the order of their first runs."""
    shared: tuple[str, ...]
    """Overrides of all runs."""
    left_out: tuple[tuple[Run, str], ...]
    """Runs outside every mean, with the reason."""

    @property
    def environments(self) -> dict[str, Sweep]:
        """Settings by environment, because figures of different environments are not averaged."""
        by_environment: dict[str, list[Setting]] = {}
        for setting in self.settings:
            by_environment.setdefault(setting.runs[0].environment, []).append(setting)
        return {
            name: Sweep(tuple(settings), self.shared, ())
            for name, settings in by_environment.items()
        } or {"": self}

    @property
    def runs(self) -> list[Run]:
        """Runs that are in a mean."""
        return [run for setting in self.settings for run in setting.runs]

    @property
    def goal(self) -> str:
        """Main metric of the runs, `accuracy` or `score`."""
        return goal(self.runs)


def sort_out(runs: Sequence[Run]) -> Sweep:
    """Group runs by setting; see the module docstring."""
    groups: dict[tuple[str, tuple[str, ...]], dict[str, Run]] = {}
    left_out = []
    for run in runs:
        reason = _unfit(run)
        if reason:
            left_out.append((run, reason))
            continue
        seeds = groups.setdefault((run.environment, _setting(run)), {})
        # Runs without a known seed count as different.
        seed = run.seed or str(run.folder)
        if seed in seeds:
            left_out.append((seeds[seed], f"{run.folder.name} repeats its setting and seed {seed}"))
        seeds[seed] = run
    shared = set.intersection(*(set(key) for _, key in groups)) if len(groups) > 1 else set()
    settings = tuple(
        Setting(
            ", ".join(text for text in key if text not in shared) or "default",
            tuple(seeds.values()),
        )
        for (_, key), seeds in groups.items()
    )
    return Sweep(settings, tuple(sorted(shared)), tuple(left_out))


def starts(runs: Sequence[Run], priced: bool = False) -> list[Evaluation]:
    """Return the evaluations before training, equal ones once; `priced` compares rewards too.

    Runs that start from the same weights play the same tasks greedily, so they measure one policy.
    As several seeds they would claim a spread over seeds that nothing shows.
    """
    different: dict[tuple[str, ...], Evaluation] = {}
    for entry in (run.before for run in runs if run.before):
        names = sorted(name for name in entry.intervals if priced or name not in _PRICED)
        figures = (f"{name}: {entry.intervals[name]}" for name in names)
        different.setdefault((entry.tasks, *figures), entry)
    return list(different.values())


def before(runs: Sequence[Run], name: str) -> Interval | None:
    """Return a metric before training, over different starts; None for rewards of two prices."""
    if name in _PRICED and any(_price(run) != _price(runs[0]) for run in runs):
        return None
    return pooled(starts(runs, priced=name in _PRICED), name)


def columns(sweep: Sweep) -> tuple[str, ...]:
    """Return the heads of the table, the main metric first."""
    first = (label(sweep.goal), label(_SPOKEN))
    return ("setting", "seeds", *first, "tokens said", "vs before") + tuple(
        map(label, _others(sweep.goal))
    )


def rows(sweep: Sweep) -> list[tuple[str, ...]]:
    """Return the rows of the table: before training one per game, and one per setting."""
    games: dict[tuple[str, ...], list[Run]] = {}
    for run in sweep.runs:
        games.setdefault(_game(run), []).append(run)
    names = (sweep.goal, _SPOKEN, "tokens_said", *_others(sweep.goal))
    lines = []
    for game, runs in games.items():
        texts = [level(name, before(runs, name)) for name in names]
        title = ", ".join(["before training", *(game if len(games) > 1 else ())])
        lines.append((title, str(len(starts(runs))), *texts[:3], "", *texts[3:]))
    return [*lines, *(_row(setting, sweep.goal) for setting in sweep.settings)]


def compared(sweep: Sweep) -> list[tuple[str, ...]]:
    """Return rows with the changes from the first setting to each other one, paired by seed.

    Columns: setting, seeds that both have, main metric, tokens said, informed agents that spoke.
    Empty for a single setting.
    """
    lines = []
    for setting in sweep.settings[1:]:
        pairs = seed_pairs(sweep.settings[0], setting)
        first, second = [start for start, _ in pairs], [end for _, end in pairs]
        figures = (
            change(name, pooled(first, name), pooled(second, name), changed(pairs, name))
            for name in (sweep.goal, *_COMPARED)
        )
        lines.append((setting.label, str(len(pairs)), *figures))
    return lines


def compared_columns(sweep: Sweep) -> tuple[str, ...]:
    """Return the heads of `compared`."""
    return ("setting", "seeds of both", *map(label, (sweep.goal, *_COMPARED)))


def seed_pairs(first: Setting, second: Setting) -> Pairs:
    """Return the evaluations after training of the seeds that two settings share."""
    by_seed = {run.seed: run.after for run in first.runs}
    return [
        (start, run.after)
        for run in second.runs
        if run.after and (start := by_seed.get(run.seed)) is not None
    ]


def _price(run: Run) -> tuple[Any, Any]:
    """Return the settings that make the price of a run."""
    return run.group("env").get("reward"), run.group("learner").get("price")


def _game(run: Run) -> tuple[str, ...]:
    """Return the overrides that change what an evaluation measures, except prices."""
    typed = (text for text in run.overrides or () if _MEASURED.match(text))
    return tuple(sorted(typed))


def _others(first: str) -> tuple[str, ...]:
    return _IN_TABLE if first == "accuracy" else ("accuracy", *_IN_TABLE)


def _row(setting: Setting, first: str) -> tuple[str, ...]:
    tokens, tokens_before = setting.after("tokens_said"), before(setting.runs, "tokens_said")
    return (
        setting.label,
        str(len(setting.runs)),
        level(first, setting.after(first)),
        level(_SPOKEN, setting.after(_SPOKEN)),
        level("tokens_said", tokens),
        share_of_before(tokens_before, tokens) if tokens and tokens_before else "",
        *(level(name, setting.after(name)) for name in _others(first)),
    )


def _unfit(run: Run) -> str:
    """Return the reason why a run is in no mean; empty if it is in one."""
    if not run.finished:
        return progress_of(run)
    if run.after is None:
        return "no evaluation after training"
    if run.after.step < max(run.metrics, default=0):
        return f"last evaluated at step {run.after.step} of {max(run.metrics)}"
    return ""


def _setting(run: Run) -> tuple[str, ...]:
    """Return the overrides that define a run's setting; unknown overrides are a setting alone."""
    if run.overrides is None:
        return (f"run {run.folder.name}, overrides not recorded",)
    return tuple(
        sorted(text for text in run.overrides if text.lstrip("+").split("=", 1)[0] not in APART)
    )
