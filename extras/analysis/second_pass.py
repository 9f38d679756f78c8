"""Play a second pass over a draft, and split its gain into three parts: `second_pass.csv`.

After "Revision or re-solving" (arXiv 2604.01029), of which only a digest was read. Four entries
play the same tasks: A a weak draft, B a strong agent that revises it, C the strong agent alone, and
D the strong agent over a draft without content. The total gain B - A has three parts:

| part | difference |
|---|---|
| re-solving | C - A |
| scaffold | D - C |
| content | B - D |

An extra agent says the draft before the second pass, word for word or emptied of its content
(`Benchmark.null_draft`). So the first and the second pass are paired task by task.
Intervals are 95 %, by a paired bootstrap over tasks (B. Efron, 1979).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from laconic.envs.checks import Word
from laconic.envs.dialogue.budget import Tokenize, cut
from laconic.envs.errors import SettingError
from laconic.experiments.run_folder.folder import write_atomically
from laconic.experiments.session.team_layouts import DRAFTER, REVISE
from laconic.experiments.statistics.words import level, text_table
from laconic.extras.analysis.coordination import read
from laconic.extras.compare.columns import PlayedEntry
from laconic.learners.agents.scripted import ScriptedPolicy
from laconic.learners.episode import Episode
from laconic.learners.interfaces import Policy
from laconic.learners.metrics import RESAMPLES, Interval, resample
from laconic.learners.untrusted_files import read_json

DRAFTS = "drafts.json"
"""File of the drafts in the folder of their entry."""
HEADS = ("part", "gain", "gain_low", "gain_high", "tasks")


@dataclass(frozen=True, slots=True)
class SecondPass:
    """Column of a comparison that hands drafts on and splits the gain of the second pass."""

    entries: Sequence[Word] = ("draft", "revise", "resolve", "scaffold")
    """Names of four entries: draft, revision, answer without a draft, and over an empty one."""

    def __post_init__(self) -> None:
        """Refuse anything but four names.

        Raises:
            SettingError: there are more or fewer.
        """
        if len(self.entries) != 4:
            raise SettingError(
                "compare.second_pass must name four entries: draft, revision, answer without a"
                f" draft, and answer over an empty one; got {list(self.entries)!r}"
            )

    def policies(self, entry: PlayedEntry) -> Mapping[str, Policy]:
        """Give the drafter of a revision the drafts to say, word for word or emptied.

        Raises:
            SettingError: the entry of the drafts was not played.
        """
        draft, revise, _, scaffold = self.entries
        if entry.entry.layout != REVISE or entry.entry.name not in (revise, scaffold):
            return entry.policies
        drafts = read_drafts(entry.folder.path.parent / draft)
        if entry.entry.name == scaffold:
            drafts = empty(drafts, entry.environments[0], entry.tokenize)
        return with_drafter(entry.policies, drafts)

    def __call__(self, played: PlayedEntry) -> None:
        """Write the drafts of the first pass."""
        if played.entry.name == self.entries[0]:
            played.processes.main(lambda: save_drafts(played.folder.path, played.episodes))

    def finish(self, folder: Path, names: Sequence[str]) -> None:
        """Write and show the parts of the gain."""
        write(folder, self.entries)


def save_drafts(folder: Path, episodes: Sequence[Episode]) -> None:
    """Write the last message about each task."""
    messages = {
        episode.task: episode.turns[-1].message if episode.turns else "" for episode in episodes
    }
    write_atomically(folder / DRAFTS, json.dumps(messages, indent=2) + "\n")


def read_drafts(folder: Path) -> dict[str, str]:
    """Read the drafts of an entry, by task.

    Raises:
        SettingError: the entry has no drafts.
    """
    path = folder / DRAFTS
    if not path.is_file():
        raise SettingError(
            f"it revises the drafts of {folder.name!r}, which has none; add {folder.name} to"
            " entry, or name other entries in compare.second_pass"
        )
    drafts: dict[str, str] = read_json(path)
    return drafts


def empty(drafts: Mapping[str, str], environment: Any, tokenize: Tokenize) -> dict[str, str]:
    """Replace drafts by ones of the same form that say nothing and have no more tokens."""
    benchmark, tasks = environment.benchmark, environment.tasks
    return {
        key: cut(benchmark.null_draft(tasks[key], text), len(tokenize(text)), tokenize)[0]
        for key, text in drafts.items()
        if key in tasks
    }


def with_drafter(policies: Mapping[str, Policy], drafts: Mapping[str, str]) -> dict[str, Policy]:
    """Add the agent that says the draft of each task to the policies of a team."""
    drafter = ScriptedPolicy(lambda _, request, __: drafts.get(request.info["task"], ""), {})
    return {**policies, f"{DRAFTER}_0": drafter}


def write(folder: Path, names: Sequence[str]) -> None:
    """Write and show the parts of the gain if all four entries were played."""
    measured = [read(folder / name) for name in names]
    solved = [measure["solved"] for measure in measured if measure is not None]
    parts = split(*solved) if len(solved) == len(names) else {}
    if not parts:
        return
    buffer = io.StringIO()
    lines = csv.writer(buffer, lineterminator="\n")
    lines.writerow(HEADS)
    lines.writerows(
        [name, part.mean, part.low, part.high, part.count] for name, part in parts.items()
    )
    write_atomically(folder / "second_pass.csv", buffer.getvalue())
    rows = [(name.replace("_", "-"), level("accuracy", part)) for name, part in parts.items()]
    Console().print(text_table("a second pass", ("part", "gain"), rows, whole="first"))


PARTS = ("re_solving", "scaffold", "content", "total")
Solved = Mapping[str, bool]
"""Task key -> true if the task was solved."""


def draws(gains: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sum the gains of each part (tasks, parts) over tasks drawn with replacement.

    Returns:
        Sums (resamples, parts), whole numbers, so that the parts add up exactly.
    """
    return resample(RESAMPLES, len(gains), np.random.default_rng(0)) @ gains


def split(draft: Solved, revise: Solved, resolve: Solved, scaffold: Solved) -> dict[str, Interval]:
    """Return each of `PARTS` as a share of the tasks that all four played; empty without any."""
    tasks = sorted(draft.keys() & revise.keys() & resolve.keys() & scaffold.keys())
    if not tasks:
        return {}
    a, b, c, d = (
        np.array([solved_by_task[key] for key in tasks], dtype=np.int64)
        for solved_by_task in (draft, revise, resolve, scaffold)
    )
    gains = np.stack([c - a, d - c, b - d, b - a], axis=1)
    ends = np.percentile(draws(gains), (2.5, 97.5), axis=0) / len(tasks)
    means = gains.sum(axis=0) / len(tasks)
    return {
        name: Interval(float(means[i]), float(ends[0, i]), float(ends[1, i]), len(tasks))
        for i, name in enumerate(PARTS)
    }
