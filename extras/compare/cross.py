"""Cross-play: let a role of one trained run play with the other roles of another run.

A team that was trained together may have found a convention that no other team shares. The gap is
the mean over the runs with themselves, less the mean over pairs of two runs.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from laconic.envs.checks import choice
from laconic.envs.errors import SettingError
from laconic.experiments.run_folder.folder import RunFolder, write_atomically
from laconic.experiments.statistics.intervals import student
from laconic.extras.compare.entries import Entry
from laconic.extras.compare.rows import Row
from laconic.learners.metrics import Interval

FILE = "crossplay.csv"
FIGURES = ("accuracy", "score", "tokens_said")
"""Figures that have a gap."""
_MIXED = "laconic.learners.agents.mixed.MixedTeam"


@dataclass(frozen=True, slots=True)
class Gap:
    """A figure of runs with themselves and with each other."""

    alone: float
    """Mean over the runs with themselves."""
    crossed: float
    """Mean over the pairs of two runs."""
    gap: Interval
    """Their difference, with a 95 % t-interval over runs. The gap of one run is its figure with
    itself, less the mean over its pairs with others."""

    def __str__(self) -> str:
        """Return the figures in one line."""
        gap = self.gap
        return (
            f"{self.alone:.3f} with itself, {self.crossed:.3f} with others, gap {gap.mean:.3f}"
            f" [{gap.low:.3f}, {gap.high:.3f}]"
        )


def name_pairs(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the name of each pair's row, and the names of both runs."""
    return {f"{first}+{second}": (first, second) for first in names for second in names}


def cross(runs: Mapping[str, Entry], role: str, roles: Iterable[str]) -> list[Entry]:
    """Return an entry for each pair of runs: a role from the first, all others from the second.

    Args:
        runs: entries of trained runs by name.
        role: the role, `compare.cross`.
        roles: roles of the environment.

    Raises:
        SettingError: there are fewer than two runs or roles, or a run is of a mixed team.
        UnknownNameError: the environment has no such role.
    """
    roles = tuple(dict.fromkeys(roles))
    choice("compare.cross", role, roles)
    if len(runs) < 2 or len(roles) < 2:
        raise SettingError(
            f"compare.cross={role} needs two runs in compare.runs and two roles; got {len(runs)}"
            f" and {len(roles)}"
        )
    if mixed := [name for name, run in runs.items() if "members" in run.agent]:
        raise SettingError(
            f"compare.cross={role} takes runs whose agents share one kind of policy; got the mixed"
            f" teams {', '.join(mixed)}"
        )
    entries = []
    for name, (first, second) in name_pairs(tuple(runs)).items():
        players = {each: runs[first if each == role else second] for each in roles}
        members = {each: dict(run.agent) for each, run in players.items()}
        agent = {"_target_": _MIXED, "members": members}
        entries.append(Entry(name, env=runs[second].env, agent=agent, source=runs[second].source))
    return entries


def gap_of(values: Mapping[tuple[str, str], float]) -> Gap:
    """Return the gap of a figure from its value for every pair of runs."""
    names = dict.fromkeys(first for first, _ in values)
    crossed = {pair: value for pair, value in values.items() if pair[0] != pair[1]}
    gaps = [
        values[name, name] - fmean(value for pair, value in crossed.items() if name in pair)
        for name in names
    ]
    alone = fmean(values[name, name] for name in names)
    return Gap(alone, fmean(crossed.values()), student(gaps))


def gaps_of(rows: Mapping[str, Row], names: Sequence[str]) -> dict[str, Gap]:
    """Return the gaps of all figures; empty while the row of a pair is missing."""
    pairs = name_pairs(names)
    finished = {name: rows[name] for name in pairs if name in rows and rows[name].figures}
    if len(finished) < len(pairs):
        return {}
    figures = [name for name in FIGURES if all(name in row.figures for row in finished.values())]
    return {
        figure: gap_of({pairs[name]: row.figures[figure].mean for name, row in finished.items()})
        for figure in figures
    }


def write_gaps(gaps: Mapping[str, Gap], folder: RunFolder) -> None:
    """Write `crossplay.csv`, a line per figure."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(("figure", "alone", "crossed", "gap", "low", "high", "runs"))
    for name, figure in gaps.items():
        gap = figure.gap
        lines.writerow((name, figure.alone, figure.crossed, gap.mean, gap.low, gap.high, gap.count))
    write_atomically(folder.path / FILE, text.getvalue())
