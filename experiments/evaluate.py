"""Plays every evaluation task once and says how well, and in how many words, a team does.

    python -m experiments.evaluate env=gsm8k env.source=<folder> agent=hf agent.model=<folder>

Runs any agent, scripted ones too. Writes the figures with their intervals, and some transcripts, to
the run folder and prints them.
"""

from __future__ import annotations

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from rich.console import Console
from rich.table import Table

from envs.errors import SettingError, UnknownNameError
from experiments.cli import Interrupt, program
from experiments.evaluation import evaluation_starts, record
from experiments.progress import Progress
from experiments.run_folder import RunFolder
from experiments.setup import (
    check_counts,
    make_evaluation,
    make_team,
    set_up_process,
    tell_conditions,
)
from learners.episode import Episode
from learners.metrics import Interval, intervals, prefixed, summarise
from learners.rollout import play

PARTS = ("evaluation", "train")
"""Parts of a task source."""


@program("evaluate")
def main(cfg: DictConfig) -> float:
    """Evaluate as the configuration says; returns the mean reward."""
    check(cfg)
    set_up_process(cfg.threads)
    settings = cfg.evaluation
    folder = RunFolder(HydraConfig.get().runtime.output_dir)
    refuse_used(folder)
    folder.start(cfg, resume=False)
    team = make_team(cfg)
    environments = make_evaluation(cfg, settings.part, team)
    tell_conditions(environments[0])
    starts = evaluation_starts(environments, settings.tasks)
    policies = team.policies(environments[0])
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
    done = len(episodes) == len(starts)
    folder.write_status("finished" if done else "interrupted", 0)
    show(intervals(episodes), len(episodes))
    print(f"written to {folder.path}")
    if not done:
        raise KeyboardInterrupt
    return metrics["eval/reward"]


def check(cfg: DictConfig) -> None:
    """Refuse settings that are out of range before anything is built."""
    least = {
        "seed": 0,
        "threads": 1,
        "evaluation.tasks": 1,
        "evaluation.batch": 1,
        "evaluation.transcripts": 0,
    }
    check_counts(cfg, least, optional=("threads", "evaluation.tasks"))
    if cfg.evaluation.part not in PARTS:
        raise UnknownNameError("evaluation.part", cfg.evaluation.part, PARTS)
    if not isinstance(cfg.evaluation.greedy, bool):
        raise SettingError(
            f"evaluation.greedy must be true or false; got {cfg.evaluation.greedy!r}"
        )


def refuse_used(folder: RunFolder) -> None:
    """Stop before one evaluation is mixed with another.

    Raises:
        SettingError: the folder holds figures already.
    """
    if folder.metrics.exists():
        raise SettingError(
            f"{str(folder.path)!r} holds the figures of another run; pass another folder with"
            " hydra.run.dir=<folder>"
        )


def show(found: dict[str, Interval], episodes: int) -> None:
    """Print the figures with their 95 % intervals."""
    table = Table(title=f"{episodes} episodes, 95 % intervals", title_justify="left")
    for heading, justify in (("metric", "left"), ("mean", "right"), ("interval", "right")):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for name, one in found.items():
        interval = f"{one.low:.3f} to {one.high:.3f}"
        table.add_row(name, f"{one.mean:.3f}", interval)
    Console().print(table)


if __name__ == "__main__":
    main()
