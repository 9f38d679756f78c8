"""What is a word worth? The demand curve of a team for its own words.

    laconic demand env=gsm8k agent.model=<folder or run>
    laconic demand runs=<folder of a sweep over prices>

Plays some tasks greedily, then every message again, cut after each of its tokens and without each
of its stretches (`extras.analysis.demand_measure`). Writes the worth of messages and tokens,
how many tokens the team would buy at each price, and a picture; `laconic report` shows them, too.
With `runs`, what trained teams say is put beside what was predicted for their price.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.utils import instantiate
from omegaconf import DictConfig
from rich.console import Console

from laconic.experiments.command_line.cli import program
from laconic.experiments.reporting.runs import read_run
from laconic.experiments.reporting.words import text_table
from laconic.experiments.running import setup
from laconic.experiments.running.evaluation import evaluation_starts
from laconic.experiments.running.progress import Progress
from laconic.experiments.running.run_folder import RunFolder
from laconic.extras.analysis import check, list_runs
from laconic.extras.analysis import demand_pages as pages
from laconic.extras.analysis.demand_measure import Demand, measure, row, write
from laconic.extras.analysis.demand_statistics import FILE, Claim, Trained, trained
from laconic.learners.metrics import prefixed


@program("demand")
def main(cfg: DictConfig) -> float:
    """Measure as the configuration says; returns the tokens bought at the environment's price."""
    check(cfg)
    setup.set_up_process(cfg.threads)
    settings = instantiate(cfg.demand)
    folder = RunFolder(HydraConfig.get().runtime.output_dir)
    folder.start(cfg, False)
    folder.write_status("running", 0)
    begun = time.perf_counter()
    team = setup.make_team(cfg)
    environments = setup.make_evaluation(cfg, cfg.evaluation.split, team)
    starts = evaluation_starts(environments, cfg.evaluation.tasks)
    with Progress(1, "demand", life_seconds=20) as progress:
        progress.begin(f"{len(starts)} episodes, and their messages again in parts")
        found = measure(environments, team.policies(environments[0]), starts, settings)
        progress.update(1, {})
    compared = compare(found, list_runs(cfg.runs), environments[0])
    figures = {name: one.mean for name, one in found.figures.items()}
    seconds = {"time/evaluation": time.perf_counter() - begun}
    folder.append_metrics({"step": 0, **prefixed(figures, "demand/"), **seconds})
    folder.append_row(FILE, row(found, 0))
    write(found, folder)
    write_compared(compared, folder.path)
    drawn = pages.picture([row(found, 0)], compared)
    drawn.save(folder.path)
    folder.write_status("finished", 0)
    show(found, compared)
    print(f"written to {folder.path}")
    return figures.get("bought", 0.0)


def compare(found: Demand, runs: list[Path], environment: Any) -> list[Trained]:
    """What finished runs came to beside what is predicted for their price."""
    read = [read_run(folder) for folder in runs]
    done = [one for one in read if one.after and "tokens_said" in one.after.intervals]
    names = ("tokens_said", "accuracy", "spoke_if_informed")
    rows = []
    for run in done:
        after = run.after.intervals if run.after else {}
        reward = run.group("env").get("reward") or {}
        scale = found.normalizer / float(reward.get("normalizer", found.normalizer))
        told = {name: after[name].mean for name in names if name in after}
        rows.append((run.folder.name, run.seed, float(reward.get("price", 0.0)) * scale, told))
    return trained(found.messages, len(found.episodes), found.normalizer, rows)


def write_compared(compared: list[Trained], folder: Path) -> None:
    """Write `runs.csv`, a line a run; nothing without runs."""
    if compared:
        with open(folder / "runs.csv", "w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(Trained.__slots__)
            lines.writerows([getattr(one, name) for name in Trained.__slots__] for one in compared)


def show(found: Demand, compared: list[Trained]) -> None:
    """Print the figures with their 95 % intervals, and the runs beside their predictions."""
    console = Console()
    title = f"{len(found.episodes)} episodes, {found.replays} replays, price {found.price:g}"
    rows = pages.rows([row(found, 0)])
    console.print(text_table(f"{title}, 95 % intervals", pages.COLUMNS[:2], rows, whole="others"))
    if compared:
        heads = ("run", "price", "tokens said", "bought", "bought, cut", "within 25 %", "collapsed")
        console.print(text_table("trained runs", heads, pages.run_rows(compared), whole="others"))
        console.print(str(Claim.of(compared)), highlight=False)


if __name__ == "__main__":
    main()
