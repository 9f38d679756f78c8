"""How far the runs of a folder are: done, running, failed, not evaluated yet, not begun yet.

Hydra writes what a sweep was asked for into its folder; that is how many jobs are to come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from laconic.experiments.reporting.records import Run

KINDS = ("finished", "running", "interrupted", "unfinished", "failed", "nothing recorded")
"""States without their steps, in the order in which they are counted."""
NOT_EVALUATED = "without an evaluation after training"


def standing(run: Run) -> str:
    """Where a run that is not done stands: its state, its last evaluation, why it failed."""
    parts = [run.state]
    if run.metrics:
        parts.append(_evaluated(run))
    if run.state.startswith("running") and run.written is not None:
        # A process that was killed can no longer say so; the reader sees by this how long ago.
        last = datetime.fromtimestamp(run.written)
        parts.append(f"last row on {last:%Y-%m-%d at %H:%M}")
    words = ", ".join(parts)
    return f"{words}: {run.error}" if run.error else words


def counts(folder: Path, runs: Sequence[Run]) -> list[str]:
    """How many runs of a folder are of which kind: `3 finished`, `1 running`, `4 not begun`."""
    found = Counter(run.state.partition(" (")[0] for run in runs)
    others = sorted(found.keys() - set(KINDS))
    lines = [f"{found[kind]} {kind}" for kind in (*KINDS, *others) if found[kind]]
    bare = sum(run.after is None for run in runs)
    lines += [f"{bare} {NOT_EVALUATED}"] if bare else []
    waiting = (planned(folder) or 0) - len(runs)
    return lines + ([f"{waiting} not begun"] if waiting > 0 else [])


def planned(folder: Path) -> int | None:
    """Jobs that the sweep in a folder was asked for; None where that is not recorded."""
    try:
        config = OmegaConf.load(folder / "multirun.yaml").hydra
        given = [f"{key}={value}" for key, value in (config.sweeper.params or {}).items()]
        given += list(config.overrides.task)
        overrides = OverridesParser.create().parse_overrides(given)
        return len(BasicSweeper.split_arguments(overrides, None)[0])
    except Exception:
        # Missing, torn, or of a sweeper with other rules: nothing is claimed then.
        return None


def _evaluated(run: Run) -> str:
    if run.after is not None:
        return f"last evaluated at step {run.after.step}"
    return "no evaluation after training yet" if run.before else "no evaluation yet"
