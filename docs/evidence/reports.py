"""Write docs/evidence/reports/*.html from the rows beside this file: make evidence-reports.

Each is the report of a sweep over seeds, as `laconic report` writes it. Training curves are as
recorded; the evaluations before and after training are those of the tables in docs/results/.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from os import utime
from pathlib import Path
from typing import Any

from rows import HERE, provenance, read

from laconic.extras.report.write import PAGE, write_report

REPORTS = HERE / "reports"


@dataclass(frozen=True)
class Series:
    """Runs of one setting that differ in their seed."""

    start: str
    """File of the evaluation before training."""
    run: str
    """File of a training, with `{}` for the seed."""
    seeds: Sequence[int]
    """Seeds of the table in docs/results/."""
    overrides: Sequence[str]
    """Main overrides; docs/results/ and the provenance have the whole command."""
    evaluation: str = "{}_evaluation"
    """File of the evaluation after training, with `{}` for the run."""


SERIES: Mapping[str, Series] = {
    "gsm8k": Series(
        "gsm8k_level1/default_start_evaluation",
        "gsm8k_level1/default_{}",
        (1, 2, 3),
        ("experiment=pretrained", "env=gsm8k"),
    ),
    "coop_humaneval": Series(
        "coop_humaneval/best_start_greedy_evaluation",
        "coop_humaneval/best_{}",
        (2, 3, 4),
        ("env=coop_humaneval", "learner=magrpo"),
        "{}_greedy_evaluation",
    ),
    "tldr": Series(
        "tldr/start_evaluation",
        "tldr/seed_{}",
        (2, 3, 4),
        ("env=tldr", "env.source=<rows>", "learner=magrpo"),
    ),
}
"""Report -> its runs; docs/results/ names their agents."""


def write(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Write rows in the format of a run folder."""
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")


def ended(name: str, history: Sequence[Mapping[str, Any]]) -> float:
    """Return the time of the last row from its provenance, else the time of its commit."""
    if history:
        last = history[-1]
        started = datetime.strptime(last["started"], "%Y-%m-%dT%H:%M:%S%z")
        return started.timestamp() + float(last["seconds"])
    files = (f"{name}.jsonl", f"{name}.jsonl.gz")
    command = ("git", "log", "--diff-filter=A", "--format=%ct", "--", *files)
    output = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True).stdout
    return float(output.split()[-1])


def lay_out(folder: Path, series: Series, seed: int) -> None:
    """Make a run folder from the rows of one seed."""
    name = series.run.format(seed)
    history = provenance(name)
    # Leave out the run's own evaluations, which have fewer or other tasks.
    metrics = [
        {key: value for key, value in row.items() if not key.startswith("eval/")}
        for row in read(name)
    ]
    before, after = read(series.start)[-1], read(series.evaluation.format(name))[-1]
    last = max(row["step"] for row in metrics)
    environment = next(text[4:] for text in series.overrides if text.startswith("env="))
    (folder / ".hydra").mkdir(parents=True)
    overrides = [*series.overrides, f"seed={seed}"]
    (folder / ".hydra" / "overrides.yaml").write_text(json.dumps(overrides))
    (folder / "config.yaml").write_text(json.dumps({"seed": seed, "env": {"name": environment}}))
    (folder / "status.json").write_text(json.dumps({"state": "finished"}))
    (folder / "provenance.json").write_text(json.dumps(history))
    write(folder / "metrics.jsonl", metrics)
    write(folder / "evaluations.jsonl", [{**before, "step": 0}, {**after, "step": last}])
    written = ended(name, history)
    utime(folder / "metrics.jsonl", (written, written))


def named() -> set[str]:
    """Return the rows that the reports are made of."""
    runs = {one.run.format(seed): one for one in SERIES.values() for seed in one.seeds}
    after = {one.evaluation.format(run) for run, one in runs.items()}
    return {one.start for one in SERIES.values()} | set(runs) | after


def main() -> None:
    """Write all reports again."""
    REPORTS.mkdir(exist_ok=True)
    for name, series in SERIES.items():
        with tempfile.TemporaryDirectory() as space:
            folder = Path(space) / name
            for seed in series.seeds:
                lay_out(folder / f"seed_{seed}", series, seed)
            write_report(folder)
            shutil.copy(folder / PAGE, REPORTS / f"{name}.html")


if __name__ == "__main__":
    main()
