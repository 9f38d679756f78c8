"""Measure further columns of a comparison.

`compare.columns` names functions, or classes whose objects are callable, as `evaluation.after`
does. Every process calls each after an entry was played. The figures that it returns become columns
of the table. A class may have three more methods:

- `begin(environment)` returns facts for `comparison.json` before the first entry;
- `policies(entry)` returns the policies that play an entry, given a `PlayedEntry` without episodes;
- `finish(folder, names)` runs after the last entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pettingzoo import ParallelEnv

from laconic.envs.dialogue.budget import Tokenize
from laconic.experiments.session.evaluation import AfterEvaluation, EvaluationRun
from laconic.extras.compare.entries import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedEntry(EvaluationRun):
    """Played entry of a comparison, with its own `cfg` and `folder`."""

    entry: Entry
    """Entry of the comparison."""
    tokenize: Tokenize
    """Tokenizer with which all entries are counted."""


def begin(
    columns: Sequence[AfterEvaluation], environment: ParallelEnv[str, Any, Any]
) -> dict[str, Any]:
    """Return the facts of the configured environment."""
    facts: dict[str, Any] = {}
    for column in columns:
        if (report_facts := getattr(column, "begin", None)) is not None:
            facts |= report_facts(environment)
    return facts


def prepare(columns: Sequence[AfterEvaluation], entry: PlayedEntry) -> PlayedEntry:
    """Return an entry with the policies that the columns choose for it."""
    for column in columns:
        if (choose := getattr(column, "policies", None)) is not None:
            entry = replace(entry, policies=choose(entry))
    return entry


def finish(columns: Sequence[AfterEvaluation], folder: Path, names: Sequence[str]) -> None:
    """Call `finish` of every column that has it."""
    for column in columns:
        if (write := getattr(column, "finish", None)) is not None:
            write(folder, names)
