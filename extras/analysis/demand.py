"""Measure the demand curve of a team for its own words.

    laconic demand env=gsm8k agent.model=<folder or run>
    laconic demand runs=<folder of a sweep over prices>

The program plays some tasks greedily. Then it replays every message, cut after each of its tokens
and without each of its stretches (`extras.analysis.demand_measure`). It writes the worth of
messages and tokens, the tokens that the team would buy at each price, and a picture. `laconic
report` shows them too. With `runs`, trained teams are compared with the predictions for their
prices.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.utils import instantiate
from omegaconf import DictConfig
from rich.console import Console

from laconic.experiments.command_line.cli import program
from laconic.experiments.run_folder.folder import RunFolder
from laconic.experiments.run_folder.runs import read_run
from laconic.experiments.session import setup
from laconic.experiments.session.evaluation import evaluation_starts
from laconic.experiments.session.progress import Progress
from laconic.experiments.statistics.words import text_table
from laconic.extras.analysis import check, list_runs
from laconic.extras.analysis import demand_pages as pages
from laconic.extras.analysis.demand_measure import Demand, measure, row, write
from laconic.extras.analysis.demand_statistics import FILE, PredictionCheck, TrainedRun, trained
from laconic.learners.metrics import prefixed


@program("demand")
def main(cfg: DictConfig) -> float:
    """Measure demand and return the tokens bought at the price of the environment."""
    check(cfg)
    setup.set_up_process(cfg.threads)
    settings = instantiate(cfg.demand)
    folder = RunFolder(HydraConfig.get().runtime.output_dir)
    folder.start(cfg, False)
    folder.write_status("running", 0)
    started = time.perf_counter()
    team = setup.make_team(cfg)
    environments = setup.make_evaluation(cfg, cfg.evaluation.split, team)
    starts = evaluation_starts(environments, cfg.evaluation.tasks)
    with Progress(1, "demand", life_seconds=20) as progress:
        progress.begin(f"{len(starts)} episodes, and their messages again in parts")
        demand = measure(environments, team.policies(environments[0]), starts, settings)
        progress.update(1, {})
    compared = compare(demand, list_runs(cfg.runs))
    figures = {name: figure.mean for name, figure in demand.figures.items()}
    seconds = {"time/evaluation": time.perf_counter() - started}
    folder.append_metrics({"step": 0, **prefixed(figures, "demand/"), **seconds})
    folder.append_row(FILE, row(demand, 0))
    write(demand, folder)
    write_compared(compared, folder.path)
    picture = pages.picture([row(demand, 0)], compared)
    picture.save(folder.path)
    folder.write_status("finished", 0)
    show(demand, compared)
    print(f"written to {folder.path}")
    return figures.get("bought", 0.0)


def compare(demand: Demand, folders: list[Path]) -> list[TrainedRun]:
    """Compare finished runs with the predictions for their prices."""
    runs = [read_run(folder) for folder in folders]
    finished = [run for run in runs if run.after and "tokens_said" in run.after.intervals]
    names = ("tokens_said", "accuracy", "spoke_if_informed")
    rows = []
    for run in finished:
        after = run.after.intervals if run.after else {}
        reward = run.group("env").get("reward") or {}
        scale = demand.normalizer / float(reward.get("normalizer", demand.normalizer))
        metrics = {name: after[name].mean for name in names if name in after}
        rows.append((run.folder.name, run.seed, float(reward.get("price", 0.0)) * scale, metrics))
    return trained(demand.messages, len(demand.episodes), demand.normalizer, rows)


def write_compared(compared: list[TrainedRun], folder: Path) -> None:
    """Write `runs.csv` with a line per run, if there are any."""
    if compared:
        with open(folder / "runs.csv", "w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(TrainedRun.__slots__)
            lines.writerows(
                [getattr(run, name) for name in TrainedRun.__slots__] for run in compared
            )


def show(demand: Demand, compared: list[TrainedRun]) -> None:
    """Print the figures with their 95 % intervals, and the runs with their predictions."""
    console = Console()
    title = f"{len(demand.episodes)} episodes, {demand.replays} replays, price {demand.price:g}"
    rows = pages.rows([row(demand, 0)])
    console.print(text_table(f"{title}, 95 % intervals", pages.COLUMNS[:2], rows, whole="others"))
    if compared:
        heads = ("run", "price", "tokens said", "bought", "bought, cut", "within 25 %", "collapsed")
        console.print(text_table("trained runs", heads, pages.run_rows(compared), whole="others"))
        console.print(str(PredictionCheck.of(compared)), highlight=False)


if __name__ == "__main__":
    main()
