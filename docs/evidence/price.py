"""Measure the effect of a price on the tiny policy: make evidence-price.

    price.py run outputs/price [series[/start] ...]    train, resumable, two at a time
    price.py collect outputs/price                     write the rows beside this file
    price.py tables                                    print tables with 95 % intervals

Each series is a list of commands with five seeds, or three. `strong` starts at the
policy that is shipped for gsm8k, `weak` after 235 of 800 steps of its `laconic warm-start`, and the
others at the policy that is shipped for the environment of their name. `collect` writes
`rows.jsonl.gz`.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from scipy.stats import t

HERE = Path(__file__).parent / "price"
ENVIRONMENTS = {
    "strong": "gsm8k",
    "weak": "gsm8k",
    "signal": "signal",
    "math": "math",
    "humaneval": "humaneval",
    "mbpp": "mbpp",
    "sports": "sports",
    "strategyqa": "strategyqa",
    "checkmate": "checkmate",
}
"""Start of a training -> its environment."""
SEEDS = {
    name: range(5 if name in ("strong", "weak", "signal", "math") else 3) for name in ENVIRONMENTS
}
WARM_STARTS = {"weak": "env=gsm8k threads=1 learner.decay_updates=800 report=false train.steps=235"}
"""Start that is not shipped -> arguments of its warm start."""
METRICS = ("accuracy", "tokens_said", "silent_if_uninformed", "spoke_if_informed", "reward")
KEPT = ("intervals", "outcomes")
"""Parts of an evaluation that have an entry for each metric."""
SAMPLED = ("accuracy", "tokens_said", "price")
"""Metrics of the updates that are kept."""


@dataclass(frozen=True, slots=True)
class Run:
    """One training."""

    series: str
    """Name of the series of the run."""
    start: str
    """One of `ENVIRONMENTS`."""
    name: str
    """Name of the variant in the tables."""
    overrides: str
    """Overrides except start and seed."""
    seed: int
    """Seed of the run."""

    @property
    def folder(self) -> str:
        """Folder of the run below that of all runs."""
        name = self.name.replace(", ", "-").replace(" ", "_")
        return f"{self.series}/{self.start}/{name}/{self.seed}"


def runs() -> Iterator[Run]:
    """Yield all trainings, those that decide on the defaults first."""
    credits = {name: f"learner.credit={name}" for name in ("team", "silence", "shapley")}
    methods = {
        name: f"learner={name}"
        for name in ("grpo", "dr_grpo", "dr_mas", "mc_grpo", "agent_gspo", "magrpo")
    }
    free = {"price 0": "env.reward.price=0"}
    rate = {"gspo": "", **credits, **methods, **free, "c3": "learner=c3"}
    for start, environment in ENVIRONMENTS.items():
        steps = 60 if environment == "gsm8k" else 40
        settings = f"env={environment} train.steps={steps} threads=1 report=false "
        for seed in SEEDS[start]:
            yield Run("rule", start, "pass_rate", settings, seed)
    for seed in SEEDS["weak"]:
        for name, overrides in rate.items():
            yield Run("rate", "weak", name, f"experiment=credit report=false {overrides}", seed)


def finished(folder: Path) -> bool:
    """Return whether a run took all its steps."""
    status = folder / "status.json"
    return status.exists() and json.loads(status.read_text("utf-8"))["state"] == "finished"


def call(arguments: str, folder: Path) -> None:
    """Make a run, or go on where it was stopped."""
    if finished(folder):
        return
    laconic = Path(sys.executable).with_name("laconic")
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "HYDRA_FULL_ERROR": "1"}
    folder.mkdir(parents=True, exist_ok=True)
    resume = "resume=true" if (folder / "metrics.jsonl").exists() else ""
    command = [str(laconic), *f"{arguments} {resume} hydra.run.dir={folder}".split()]
    with open(folder.with_suffix(".log"), "a") as log:
        done = subprocess.run(command, env=environment, stdout=log, stderr=log, check=False)
    if done.returncode:
        print(f"failed: {' '.join(command)}; see {folder.with_suffix('.log')}", flush=True)


def train(
    root: Path,
    chosen: Sequence[str],
    parallel: int = 2,
    all_runs: Iterable[Run] = (),
    starts: Mapping[str, str] = WARM_STARTS,
) -> None:
    """Make the starts and the chosen series, all if none is named.

    Args:
        root: folder of all runs.
        chosen: names of series, or `<series>/<start>`.
        parallel: number of trainings side by side.
        all_runs: runs to choose from; empty for those of this script.
        starts: start that is not shipped -> arguments of its warm start.
    """

    def train_run(run: Run) -> None:
        begin = f"agent.model={root / run.start / 'policy'}" if run.start in starts else ""
        overrides = run.overrides.replace("<root>", str(root))
        call(f"train {overrides} {begin} seed={run.seed}", root / run.folder)

    selected = [
        run
        for run in all_runs or runs()
        if not chosen or {run.series, f"{run.series}/{run.start}"} & set(chosen)
    ]
    for start in sorted(starts.keys() & {run.start for run in selected}):
        call(f"warm-start {starts[start]}", root / start)
    with ThreadPoolExecutor(parallel) as pool:
        list(pool.map(train_run, selected))


def collect(root: Path) -> None:
    """Write one row per finished run: its evaluations, and what its updates sampled.

    Existing rows of runs without a folder below `root` are not changed.
    """
    path, rows = HERE / "rows.jsonl.gz", {}
    for row in all_rows():
        rows[row["series"], row["start"], row["name"], row["seed"]] = row
    for run in runs():
        folder = root / run.folder
        if not finished(folder):
            continue
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        evaluated = [line for line in lines if "eval/accuracy" in line]
        row = {"series": run.series, "start": run.start, "name": run.name, "seed": run.seed}
        row["overrides"] = run.overrides
        ends = [json.loads(line) for line in (folder / "evaluations.jsonl").open()]
        for when, figures, kept in zip(
            ("before", "after"), (evaluated[0], evaluated[-1]), (ends[0], ends[-1]), strict=True
        ):
            row[when] = {name: figures[f"eval/{name}"] for name in METRICS}
            parts = {part: {name: kept[part][name] for name in METRICS} for part in KEPT}
            row.setdefault("evaluations", {})[when] = {**kept, "floors": {}, **parts}
        updates = [line for line in lines if "train/accuracy" in line]
        row["sampled"] = {
            name: [round(line[f"train/{name}"], 4) for line in updates] for name in SAMPLED
        }
        row["seconds"] = round(sum(line["time/step"] for line in lines), 1)
        rows[run.series, run.start, run.name, run.seed] = row
    keys = [(run.series, run.start, run.name, run.seed) for run in runs()]
    lines = [json.dumps(rows[key]) + "\n" for key in keys if key in rows]
    # The same rows give the same bytes.
    path.write_bytes(gzip.compress("".join(lines).encode("utf-8"), mtime=0))
    print(f"{len(lines)} of {len(keys)} runs")


def tables() -> None:
    """Print a table for each series and start."""
    rows = all_rows()
    for series, start in dict.fromkeys((row["series"], row["start"]) for row in rows):
        own = [row for row in rows if (row["series"], row["start"]) == (series, start)]
        before = own[0]["before"]
        print(f"\n{series}, {start} start: {100 * before['accuracy']:.1f} % solved in", end=" ")
        print(f"{before['tokens_said']:.1f} tokens before training\n")
        print(f"| | seeds | {' | '.join(METRICS)} |")
        print(f"|{'---|' * (len(METRICS) + 2)}")
        for name in dict.fromkeys(row["name"] for row in own):
            after = [row["after"] for row in own if row["name"] == name]
            cells = [
                interval([each[metric] for each in after], metric not in ("tokens_said", "reward"))
                for metric in METRICS
            ]
            print(f"| {name} | {len(after)} | {' | '.join(cells)} |")


def all_rows() -> list[dict[str, Any]]:
    """Return the rows under the present rule; none before the first `collect`."""
    path = HERE / "rows.jsonl.gz"
    lines = gzip.decompress(path.read_bytes()).decode("utf-8") if path.exists() else ""
    return [json.loads(line) for line in lines.splitlines()]


def interval(values: Sequence[float], percent: bool) -> str:
    """Write the mean over seeds with its 95 % t-interval, cut to the possible range."""
    scale, unit = (100.0, " %") if percent else (1.0, "")
    least, most = (0.0, 100.0) if percent else (-math.inf, math.inf)
    mean = scale * fmean(values)
    if len(values) < 2:
        return f"{mean:.1f}{unit}"
    half = scale * stdev(values) / math.sqrt(len(values)) * float(t.ppf(0.975, len(values) - 1))
    return f"{mean:.2f}{unit} [{max(mean - half, least):.2f}, {min(mean + half, most):.2f}]"


def main() -> None:
    """Run the action of the command line."""
    action, *rest = sys.argv[1:] or [""]
    if action == "run" and rest:
        train(Path(rest[0]).absolute(), rest[1:])
    elif action == "collect" and rest:
        collect(Path(rest[0]).absolute())
    elif action == "tables":
        tables()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
