"""How far the runs of a folder are: done, running, failed, not evaluated yet, not begun yet.

Hydra writes what a sweep was asked for into its folder; that is how many jobs are to come.
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

from laconic.experiments.reporting.records import Run
from laconic.learners.untrusted_files import read_yaml

KINDS = ("finished", "running", "interrupted", "unfinished", "failed", "nothing recorded")
"""States without their steps, in the order in which they are counted."""
MAX_JOBS, MAX_OVERRIDE = 1_000_000, 10_000
"""Most jobs of a sweep, and most characters of an override, that are counted."""
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
    """Return the jobs that a sweep was asked for; None where that cannot be told.

    More than a million are not counted, because no folder holds as many runs.
    """
    try:
        config = read_yaml(folder / "multirun.yaml")["hydra"]
        given = [f"{key}={value}" for key, value in (config["sweeper"]["params"] or {}).items()]
        given += config["overrides"]["task"]
        if len(given) > MAX_JOBS or max(map(len, given), default=0) > MAX_OVERRIDE:
            return None
        overrides = OverridesParser.create().parse_overrides(given)
        # Of several for a key the last one counts.
        counts = {one.get_key_element(): _values(one) for one in overrides}
        jobs = math.prod(counts.values())
        return jobs if jobs <= MAX_JOBS else None
    except Exception:
        # Missing, torn, or of a sweeper with other rules: nothing is claimed then.
        return None


def _values(override: Override) -> int:
    """Return how many values a sweep gives to a key, at most one more than `MAX_JOBS`."""
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
