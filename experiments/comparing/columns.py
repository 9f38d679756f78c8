"""What else a comparison measures of its entries: figures for its table, and files of its own.

`compare.columns` names functions, or classes of callables, as `evaluation.after` does. Each is
called after an entry was played, by every process; the figures that it returns are columns of the
table. A class may have two methods more: `begin(environment)` returns facts for `comparison.json`
before anything is played, and `finish(folder, names)` writes of all entries that were played.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pettingzoo import ParallelEnv

from laconic.envs.dialogue.budget import Tokenize
from laconic.experiments.comparing.entries import Entry
from laconic.experiments.running.evaluation import AfterEvaluation, EvaluationRun


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedEntry(EvaluationRun):
    """An entry of a comparison that was played; its `cfg` and `folder` are the entry's own."""

    entry: Entry
    """What it is."""
    tokenize: Tokenize
    """Cuts text into the tokens of all entries."""


def begin(
    columns: Sequence[AfterEvaluation], environment: ParallelEnv[str, Any, Any]
) -> dict[str, Any]:
    """Return the facts of the environment as configured."""
    facts: dict[str, Any] = {}
    for one in columns:
        if (tell := getattr(one, "begin", None)) is not None:
            facts |= tell(environment)
    return facts


def finish(columns: Sequence[AfterEvaluation], folder: Path, names: Sequence[str]) -> None:
    """Let each write of the entries with these names."""
    for one in columns:
        if (write := getattr(one, "finish", None)) is not None:
            write(folder, names)
