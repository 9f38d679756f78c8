"""Measure the effect of a price on the tiny policy on gsm8k: make evidence-price.

    price.py run outputs/price [series[/start] ...]    train, resumable, two at a time
    price.py collect outputs/price                     write the rows beside this file
    price.py tables                                    print tables with 95 % intervals
    price.py picture                                   draw docs/pictures/price_theory.png

Rows so far are of the former rule, which weighed the costs of a group by its own pass rate; these
commands charge by that of earlier updates. Each series is a list of commands with five seeds.
`strong` starts at the shipped policy, `weak` after 235 and `weaker` after 225 of 800 steps of
`laconic warm-start`.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from scipy.stats import t

from laconic.experiments.reporting.look import GREY, PALETTE, draw, in_percent, marks

HERE = Path(__file__).parent / "price"
SEEDS = range(5)
STARTS = ("strong", "weak", "weaker")
STEPS = {"weak": 235, "weaker": 225}
"""Steps of the warm start of each start that is not shipped."""
WARM = "env=gsm8k threads=1 learner.decay_updates=800 report=false"
# Prices of these series are for 50 tokens, the former unit, so that rows of all times compare.
FORMER = "env.reward.price=3 env.reward.normalizer=50"
QUICK = f"threads=1 report=false {FORMER}"
SHORT = f"experiment=credit report=false {FORMER}"
POWERS = {0: "learner/price=fixed", 1: "learner.price.power=1", 2: "learner.price.power=2"}
METRICS = ("accuracy", "tokens_said", "silent_if_uninformed", "spoke_if_informed")


@dataclass(frozen=True, slots=True)
class Run:
    """One training."""

    series: str
    """Name of the series of the run."""
    start: str
    """One of `STARTS`."""
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
    quick = {
        "power 2, price 3": "",
        "power 2, price 2": "env.reward.price=2",
        "power 1, price 2": "learner.price.power=1 env.reward.price=2",
    }
    grid = {
        f"power {power}, price {price}": f"{rule} env.reward.price={price}"
        for price in (0.5, 1, 2, 3, 4, 8)
        for power, rule in POWERS.items()
    }
    grid["price 0"] = "env.reward.price=0"
    grid["power 0, price 0.5, std"] = (
        "learner/price=fixed env.reward.price=0.5 learner/advantages=group"
    )
    grid["power 2, price 3, std"] = "learner/advantages=group"
    grid["power 2, price 3, batch"] = (
        "learner.advantages.scale=std learner.advantages.scale_over=batch"
    )
    credits = {name: f"learner.credit={name}" for name in ("team", "outcome", "silence", "shapley")}
    methods = {
        name: f"learner={name}"
        for name in ("grpo", "dr_grpo", "dr_mas", "mc_grpo", "agent_gspo", "magrpo")
    }
    floor = "learner.objective.shortest=8 learner.objective.epsilon=3e-3"
    floors = {"length floor 8": f"{floor} learner.objective.epsilon_high=4e-3"}
    for series, kind, variants in (
        ("quickstart", QUICK, quick),
        ("prices", SHORT, grid),
        ("credits", SHORT, credits),
        ("methods", SHORT, methods),
        ("floors", SHORT, floors),
    ):
        for seed in SEEDS:
            # The weakest start answers one question: how much the default depends on a start.
            for start in STARTS if series == "quickstart" else STARTS[:2]:
                for name, overrides in variants.items():
                    yield Run(series, start, name, f"{kind} {overrides}", seed)


def finished(folder: Path) -> bool:
    """Return whether a run took all its steps."""
    status = folder / "status.json"
    return status.exists() and json.loads(status.read_text("utf-8"))["state"] == "finished"


def train(root: Path, chosen: Sequence[str], parallel: int = 2) -> None:
    """Make the starts and the chosen series; go on where a run was stopped."""
    laconic = Path(sys.executable).with_name("laconic")
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "HYDRA_FULL_ERROR": "1"}

    def call(arguments: str, folder: Path) -> None:
        if finished(folder):
            return
        folder.mkdir(parents=True, exist_ok=True)
        resume = "resume=true" if (folder / "metrics.jsonl").exists() else ""
        command = [str(laconic), *f"{arguments} {resume} hydra.run.dir={folder}".split()]
        with open(folder.with_suffix(".log"), "a") as log:
            done = subprocess.run(command, env=environment, stdout=log, stderr=log, check=False)
        if done.returncode:
            print(f"failed: {' '.join(command)}; see {folder.with_suffix('.log')}", flush=True)

    def train_run(run: Run) -> None:
        begin = f"agent.model={root / run.start / 'policy'}" if run.start in STEPS else ""
        call(f"train {run.overrides} {begin} seed={run.seed}", root / run.folder)

    selected = [
        run
        for run in runs()
        if not chosen or {run.series, f"{run.series}/{run.start}"} & set(chosen)
    ]
    for start in sorted(STEPS.keys() & {run.start for run in selected}):
        call(f"warm-start {WARM} train.steps={STEPS[start]}", root / start)
    with ThreadPoolExecutor(parallel) as pool:
        list(pool.map(train_run, selected))


def collect(root: Path) -> None:
    """Write one row per finished run: its evaluations before and after.

    Existing rows of runs without a folder below `root` are not changed.
    """
    path, rows = HERE / "runs.jsonl", {}
    if path.exists():
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            rows[row["series"], row["start"], row["name"], row["seed"]] = row
    for run in runs():
        folder = root / run.folder
        if not finished(folder):
            continue
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        evaluated = [line for line in lines if "eval/accuracy" in line]
        row = {"series": run.series, "start": run.start, "name": run.name, "seed": run.seed}
        row["overrides"] = run.overrides
        for when, figures in (("before", evaluated[0]), ("after", evaluated[-1])):
            row[when] = {name: figures[f"eval/{name}"] for name in METRICS}
        ends = [json.loads(line) for line in (folder / "evaluations.jsonl").open()]
        row["evaluations"] = {"before": ends[0], "after": ends[-1]}
        row["seconds"] = round(sum(line["time/step"] for line in lines), 1)
        rows[run.series, run.start, run.name, run.seed] = row
    HERE.mkdir(exist_ok=True)
    keys = [(run.series, run.start, run.name, run.seed) for run in runs()]
    lines = [json.dumps(rows[key]) + "\n" for key in keys if key in rows]
    path.write_text("".join(lines), "utf-8")
    print(f"{len(lines)} of {len(keys)} runs")


def tables() -> None:
    """Print a table for each series and start."""
    path = HERE / "runs.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for series in dict.fromkeys(row["series"] for row in rows):
        for start in STARTS:
            own = [row for row in rows if (row["series"], row["start"]) == (series, start)]
            if not own:
                continue
            before = own[0]["before"]
            print(f"\n{series}, {start} start: {100 * before['accuracy']:.1f} % solved in", end=" ")
            print(f"{before['tokens_said']:.1f} tokens before training\n")
            print("| | seeds | accuracy | tokens said | silent with nothing useful | spoke |")
            print("|---|---|---|---|---|---|")
            for name in dict.fromkeys(row["name"] for row in own):
                after = [row["after"] for row in own if row["name"] == name]
                cells = [
                    interval([each[metric] for each in after], metric != "tokens_said")
                    for metric in METRICS
                ]
                print(f"| {name} | {len(after)} | {' | '.join(cells)} |")


NORMALIZER = 50
"""Tokens that a price is for."""
SHORTEST = 33
"""Tokens of an episode that says only what its task needs."""


def rows_of(series: str) -> list[dict[str, Any]]:
    """Return the rows of a series."""
    lines = (HERE / "runs.jsonl").read_text("utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["series"] == series]


def theory(pass_rate: float, power: float, tokens: float, price: np.ndarray) -> np.ndarray:
    """Return the pass rate at which training comes to rest (docs/word_economics.md).

    Args:
        pass_rate: pass rate of the team that speaks; a silent team solves nothing.
        power: power of the pass rate.
        tokens: tokens of an episode.
        price: (prices,) reward units for `NORMALIZER` tokens.

    Returns:
        (prices,) the pass rate q up to which d > q ** power c, where d is `pass_rate` and c the
        cost of an episode.
    """
    worth = pass_rate * NORMALIZER / (tokens * price)
    if power == 0:
        return np.where(worth > 1, pass_rate, 0)
    return np.minimum(pass_rate, worth ** (1 / power))


def theory_and_training(*panels: Axes) -> None:
    """Draw the pass rate after training at each price, over the band that theory predicts."""
    rows = rows_of("prices")
    prices = np.geomspace(0.4, 10, 400)
    starts = [start for start in STARTS if any(row["start"] == start for row in rows)]
    for axes, start in zip(panels, starts, strict=True):
        own = [row for row in rows if row["start"] == start]
        before = own[0]["before"]
        for power, color, (_, mark) in zip((0, 1, 2), PALETTE, marks(3), strict=False):
            longest, shortest = (
                theory(before["accuracy"], power, tokens, prices)
                for tokens in (before["tokens_said"], SHORTEST)
            )
            axes.fill_between(prices, longest, shortest, color=color, alpha=0.18, linewidth=0)
            points: dict[float, list[float]] = {}
            for row in own:
                name = row["name"].removeprefix(f"power {power}, price ")
                if name != row["name"] and "," not in name:
                    points.setdefault(float(name), []).append(row["after"]["accuracy"])
            places = sorted(points)
            middle = np.array([fmean(points[place]) for place in places])
            spread = [
                (middle[i] - min(points[x]), max(points[x]) - middle[i])
                for i, x in enumerate(places)
            ]
            # Neighbors do not hide each other.
            shifted = [place * (0.96, 1, 1.04)[power] for place in places]
            axes.errorbar(
                shifted,
                middle,
                np.transpose(spread),
                color=color,
                fmt=mark,
                markersize=5,
                linewidth=1.2,
                label=f"power {power}",
            )
        axes.axhline(before["accuracy"], color=GREY, linewidth=1, linestyle=":")
        axes.set_xscale("log", base=2)
        axes.set(
            xticks=[0.5, 1, 2, 4, 8],
            xticklabels=["0.5", "1", "2", "4", "8"],
            ylim=(-0.03, 1.05),
            xlabel="price of 50 tokens",
            title=f"{start} start",
        )
        axes.minorticks_off()
        in_percent(axes.yaxis)
    panels[0].set_ylabel("tasks solved after training")
    panels[0].legend(loc="upper right")


def picture() -> None:
    """Draw theory and training side by side."""
    target = HERE.parents[1] / "pictures" / "price_theory.png"
    starts = {row["start"] for row in rows_of("prices")}
    target.write_bytes(draw(4.5 * len(starts) + 1, 3.6, len(starts), theory_and_training))


def interval(values: Sequence[float], percent: bool) -> str:
    """Write the mean over seeds with its 95 % t-interval, cut to the possible range."""
    scale, unit, most = (100.0, " %", 100.0) if percent else (1.0, "", math.inf)
    mean = scale * fmean(values)
    if len(values) < 2:
        return f"{mean:.1f}{unit}"
    half = scale * stdev(values) / math.sqrt(len(values)) * float(t.ppf(0.975, len(values) - 1))
    return f"{mean:.1f}{unit} [{max(mean - half, 0):.1f}, {min(mean + half, most):.1f}]"


def main() -> None:
    """Run the action of the command line."""
    action, *rest = sys.argv[1:] or [""]
    if action == "run" and rest:
        train(Path(rest[0]).absolute(), rest[1:])
    elif action == "collect" and rest:
        collect(Path(rest[0]).absolute())
    elif action == "tables":
        tables()
    elif action == "picture":
        picture()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
