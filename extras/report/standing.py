"""Describe the progress of the runs in a folder: done, running, failed, or not begun.

The number of planned jobs comes from the overrides that Hydra saves in the folder of a sweep.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, RangeSweep

from laconic.experiments.run_folder.records import Run
from laconic.learners.untrusted_files import read_yaml

KINDS = ("finished", "running", "interrupted", "unfinished", "failed", "nothing recorded")
"""States without their steps, in the order of the counts."""
MAX_JOBS, MAX_OVERRIDE = 1_000_000, 10_000
"""Largest number of jobs, and of characters of an override, that is counted."""
NOT_EVALUATED = "without an evaluation after training"


def progress_of(run: Run) -> str:
    """Describe an unfinished run: its state, its last evaluation, and the reason of a failure."""
    parts = [run.state]
    if run.metrics:
        parts.append(_evaluated(run))
    if run.state.startswith("running") and run.written is not None:
        # The state of a killed process stays `running`, so show the time of its last row.
        last = datetime.fromtimestamp(run.written)
        parts.append(f"last row on {last:%Y-%m-%d at %H:%M}")
    words = ", ".join(parts)
    return f"{words}: {run.error}" if run.error else words


def counts(folder: Path, runs: Sequence[Run]) -> list[str]:
    """Count the runs of a folder by state: `3 finished`, `1 running`, `4 not begun`."""
    states = Counter(run.state.partition(" (")[0] for run in runs)
    others = sorted(states.keys() - set(KINDS))
    lines = [f"{states[kind]} {kind}" for kind in (*KINDS, *others) if states[kind]]
    unevaluated = sum(run.after is None for run in runs)
    lines += [f"{unevaluated} {NOT_EVALUATED}"] if unevaluated else []
    waiting = (planned(folder) or 0) - len(runs)
    return lines + ([f"{waiting} not begun"] if waiting > 0 else [])


def planned(folder: Path) -> int | None:
    """Return the number of jobs of a sweep; None if unknown or above `MAX_JOBS`."""
    try:
        config = read_yaml(folder / "multirun.yaml")["hydra"]
        texts = [f"{key}={value}" for key, value in (config["sweeper"]["params"] or {}).items()]
        texts += config["overrides"]["task"]
        if len(texts) > MAX_JOBS or max(map(len, texts), default=0) > MAX_OVERRIDE:
            return None
        overrides = OverridesParser.create().parse_overrides(texts)
        # The last override of a key counts.
        counts = {override.get_key_element(): _values(override) for override in overrides}
        jobs = math.prod(counts.values())
        return jobs if jobs <= MAX_JOBS else None
    except Exception:
        # The file is missing or damaged, or its sweeper has other rules.
        return None


def _values(override: Override) -> int:
    """Return the number of values of a key in a sweep, at most one more than `MAX_JOBS`."""
    if not override.is_sweep_override():
        return 1
    if not override.is_discrete_sweep():
        raise ValueError("a sweep without a number of values")
    sweep = override.value()
    if isinstance(sweep, RangeSweep):
        return min(len(range(*map(math.ceil, _ends(sweep)))), MAX_JOBS + 1)
    return sum(1 for _ in islice(override.sweep_string_iterator(), MAX_JOBS + 1))


def _ends(sweep: RangeSweep) -> tuple[float, float, float]:
    """Return a range over whole numbers with as many values as the sweep's."""
    if sweep.start is None or sweep.stop is None:
        raise ValueError("a range without ends")
    return 0, (sweep.stop - sweep.start) / sweep.step, 1


def _evaluated(run: Run) -> str:
    if run.after is not None:
        return f"last evaluated at step {run.after.step}"
    return "no evaluation after training yet" if run.before else "no evaluation yet"
