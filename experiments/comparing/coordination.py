"""What the teams of a comparison cost and gain in coordination, beside one agent alone.

Every entry leaves `coordination.json` in its folder; `coordination.csv` puts them beside the entry
that stands for one agent alone (`compare.alone`).
"""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from laconic.envs.dialogue import DialogueEnv
from laconic.experiments.running.run_folder import write_atomically
from laconic.experiments.statistics.coordination import (
    FLOWS,
    answer_flow,
    channels,
    efficiency,
    overhead,
    paired,
    redundancy,
    vectors,
)
from laconic.learners.episode import Episode

FILE = "coordination.json"
HEADS = (
    "entry",
    "turns",
    "overhead",
    "density",
    "efficiency",
    "redundancy",
    "channels",
    "broken",
    "fixed",
    "gain",
    "gain_low",
    "gain_high",
    *FLOWS,
    "conformity",
)
"""Columns of the table; density is messages a turn, silent turns among them. Flows are shares of
the answers that an agent gave in two rounds in a row."""


def measure(
    episodes: Sequence[Episode],
    tokenize: Callable[[str], Sequence[str]],
    environment: object = None,
) -> dict[str, Any]:
    """What an entry did, means over its episodes; redundancy and channels are of each round.

    The environment grades what each agent answered in between, where that is quick.
    """
    alike, wide = [], []
    for episode in episodes:
        rounds: defaultdict[int, list[Sequence[str]]] = defaultdict(list)
        for turn in episode.turns:
            if turn.message:
                rounds[turn.round].append(tokenize(turn.message))
        for replies in rounds.values():
            if len(replies) > 1:
                found = vectors(replies)
                alike.append(redundancy(found))
                wide.append(channels(found))
    turns = [len(one.turns) for one in episodes]
    said = [sum(bool(turn.message) for turn in one.turns) for one in episodes]
    return {
        "turns": float(np.mean(turns)),
        "messages": float(np.mean(said)),
        "redundancy": float(np.mean(alike)) if alike else None,
        "channels": float(np.mean(wide)) if wide else None,
        "flow": _flow(episodes, environment),
        "solved": {one.task: bool(one.solved) for one in episodes if one.solved is not None},
    }


def _flow(episodes: Sequence[Episode], environment: object) -> dict[str, list[int]]:
    """Counts of `answer_flow` over all episodes; none where one agent answers, or all one work."""
    env = environment
    if not isinstance(env, DialogueEnv) or env.benchmark.slow or env.joint:
        return {}
    if len(env.answering) < 2:
        return {}
    total = {name: [0, 0] for name in FLOWS}
    for episode in episodes:
        task = env.tasks[episode.task]
        rounds: defaultdict[int, dict[str, tuple[str, bool]]] = defaultdict(dict)
        for turn in episode.turns:
            graded = env.benchmark.score(task, {turn.agent: turn.message})
            if turn.agent in env.answering and graded.answer:
                rounds[turn.round][turn.agent] = graded.answer, graded.solved
        for name, counts in answer_flow([rounds[one] for one in sorted(rounds)]).items():
            total[name] = [old + new for old, new in zip(total[name], counts, strict=True)]
    return total


def save(folder: Path, measured: dict[str, Any]) -> None:
    """Write what an entry did into its folder."""
    write_atomically(folder / FILE, json.dumps(measured, indent=2) + "\n")


def write(folder: Path, names: Sequence[str], alone: str) -> None:
    """Write `coordination.csv` of the entries that were played; nothing where `alone` was not."""
    told = {one: folder / one / FILE for one in names}
    found = {
        one: json.loads(path.read_text("utf-8")) for one, path in told.items() if path.exists()
    }
    if alone not in found:
        return
    buffer = io.StringIO()
    lines = csv.writer(buffer, lineterminator="\n")
    lines.writerow(HEADS)
    lines.writerows(_line(name, one, found[alone]) for name, one in found.items())
    write_atomically(folder / "coordination.csv", buffer.getvalue())


def _line(name: str, one: dict[str, Any], alone: dict[str, Any]) -> list[Any]:
    turns, solved = one["turns"], one["solved"]
    success = float(np.mean([*solved.values()])) if solved else None
    broken, fixed, gain = paired(alone["solved"], solved)
    flow = one["flow"]
    steps = sum(count for count, _ in flow.values())
    shares = [flow[name][0] / steps if steps else None for name in FLOWS]
    return [
        name,
        turns,
        overhead(turns, alone["turns"]),
        one["messages"] / turns,
        efficiency(success, turns, alone["turns"]) if success is not None else None,
        one["redundancy"],
        one["channels"],
        broken,
        fixed,
        gain.mean,
        gain.low,
        gain.high,
        *shares,
        sum(conforming for _, conforming in flow.values()) / steps if steps else None,
    ]
