"""Analysis of teams: demand for words, frontiers, coordination, second passes, reliance on silence.

`laconic demand` and `laconic predict` are programs. Everything else is measured after an
evaluation, or as a column of a comparison (`conf/hook/`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from laconic.experiments.command_line.programs import Program

if TYPE_CHECKING:
    from laconic.envs.checks import Count, Whole
    from laconic.experiments.session.settings import Split

DEMAND = Program(
    "measure the worth of each word, and the words that a team would buy at each price",
    "laconic.extras.analysis.demand",
    "demand",
    check="laconic.extras.analysis:check",
    record="laconic.extras.analysis.DemandSettings",
    section="laconic.extras.analysis.demand_pages:section",
)
"""Registered as `demand`."""
PREDICT = Program(
    "predict what voting teams reach from evaluations of one agent, beside what they reached",
    "laconic.extras.analysis.predict",
)
"""Registered as `predict`."""


@dataclass(frozen=True)
class DemandEvaluation:
    """Settings `evaluation` of `laconic demand`."""

    tasks: Count | None
    split: Split
    batch: Count


@dataclass(frozen=True)
class DemandSettings:
    """Settings of `laconic demand`."""

    seed: Whole
    threads: Count | None
    runs: str | Sequence[str] | None
    evaluation: DemandEvaluation


def check(cfg: Any) -> None:
    """Check that the runs of a measurement of demand exist."""
    list_runs(cfg.runs)


def list_runs(runs: Any) -> list[Path]:
    """Return the run folders that `runs` names: a folder or a list, of runs or of sweeps of runs.

    Raises:
        SettingError: there is no run in one of them.
    """
    from laconic.envs.errors import SettingError
    from laconic.experiments.run_folder.runs import find_runs, is_run

    listed: list[Path] = []
    for name in [runs] if isinstance(runs, str) else runs or ():
        folder = Path(str(name)).expanduser()
        below = [folder] if folder.is_dir() and is_run(folder) else []
        below = below or (find_runs(folder) if folder.is_dir() else [])
        if not below:
            raise SettingError(f"runs must name folders of trained runs; {str(name)!r} holds none")
        listed += below
    return listed
