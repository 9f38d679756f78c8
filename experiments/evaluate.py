"""Plays every evaluation task once and says how well, and in how many words, a team does.

    python -m experiments.evaluate env=gsm8k env.source=<folder> agent=hf agent.model=<folder>

Runs any agent, scripted ones too. Writes the figures with their intervals, and some transcripts, to
the run folder and prints them.
"""

from __future__ import annotations

import torch
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from rich.console import Console
from rich.table import Table

from experiments.cli import Interrupt, program
from experiments.evaluation import evaluation_starts, record
from experiments.progress import Progress
from experiments.run_folder import RunFolder
from experiments.setup import make_environments, make_team
from learners.episode import Episode
from learners.metrics import GLOSSARY, Interval, intervals, prefixed, summarise
from learners.rollout import play


@program("evaluate")
def main(cfg: DictConfig) -> float:
    """Evaluate as the configuration says; returns the mean reward."""
    if cfg.threads:
        torch.set_num_threads(cfg.threads)
    settings = cfg.evaluation
    folder = RunFolder(HydraConfig.get().runtime.output_dir)
    folder.start(cfg, resume=False)
    team = make_team(cfg)
    limit = {} if settings.tasks is None else {"tasks": settings.tasks}
    first = make_environments(cfg, 1, settings.part, team, **limit)
    starts = evaluation_starts(first)
    others = min(settings.batch, len(starts)) - 1
    environments = first + make_environments(cfg, others, settings.part, team, **limit)
    policies = team.policies(first[0])
    episodes: list[Episode] = []
    with Interrupt() as interrupt, Progress(len(starts), "evaluate") as progress:
        while len(episodes) < len(starts) and not interrupt.is_set():
            batch = starts[len(episodes) : len(episodes) + len(environments)]
            seed = cfg.seed + len(episodes)
            episodes += play(environments, policies, batch, seed=seed, greedy=settings.greedy)
            progress.update(len(episodes), summarise(episodes))
    record(environments, episodes, folder, step=0, transcripts=settings.transcripts)
    metrics = prefixed(summarise(episodes), "eval/")
    folder.append_metrics({"step": 0, **metrics})
    folder.write_status("finished" if len(episodes) == len(starts) else "interrupted", 0)
    show(intervals(episodes), len(episodes))
    print(f"written to {folder.path}")
    if len(episodes) < len(starts):
        raise KeyboardInterrupt
    return metrics["eval/reward"]


def show(found: dict[str, Interval], episodes: int) -> None:
    """Print the figures with their 95 % intervals."""
    table = Table(title=f"{episodes} episodes, 95 % intervals", title_justify="left")
    for heading, justify in (("metric", "left"), ("mean", "right"), ("interval", "right")):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    table.add_column("meaning")
    for name, one in found.items():
        interval = f"{one.low:.3f} to {one.high:.3f}"
        table.add_row(name, f"{one.mean:.3f}", interval, GLOSSARY.get(name, ""))
    Console().print(table)


if __name__ == "__main__":
    main()
