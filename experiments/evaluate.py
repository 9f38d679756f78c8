"""Evaluate a team: play every evaluation task once and report accuracy, tokens and other metrics.

    laconic evaluate env=gsm8k env.source=<folder> agent=hf agent.model=<folder>
    laconic evaluate run=<folder of a training> step=40

It evaluates any agent, also scripted ones. It writes metrics with intervals and some transcripts to
the run folder, and prints the metrics. `resume=true` with the same run folder continues an
evaluation that ended early (`experiments.run_folder.journal`). With `evaluation.samples=n
evaluation.greedy=false` it plays every task n times and estimates pass@k.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from pettingzoo import ParallelEnv
from rich.console import Console

from laconic.envs.dialogue.messages import printable
from laconic.envs.errors import SettingError
from laconic.experiments.command_line.cli import program
from laconic.experiments.command_line.echo import echo
from laconic.experiments.command_line.interrupt import Interrupt
from laconic.experiments.command_line.resuming import command
from laconic.experiments.run_folder.folder import RunFolder, main_process_folder
from laconic.experiments.run_folder.journal import Journal, ReplyLog
from laconic.experiments.run_folder.records import thinking
from laconic.experiments.session import setup
from laconic.experiments.session.checks import check_evaluate
from laconic.experiments.session.evaluation import (
    EvaluationRun,
    Findings,
    evaluation_starts,
    make_hooks,
    record,
    run_hooks,
)
from laconic.experiments.session.header import print_start, untrained_warning
from laconic.experiments.session.played_run import take_run
from laconic.experiments.session.progress import Progress
from laconic.experiments.session.training_price import set_training_price
from laconic.experiments.statistics.pass_at_k import over_tasks
from laconic.experiments.statistics.words import count, label, level, order, text_table
from laconic.learners.agents.policy import HFPolicy
from laconic.learners.distributed.launched import launched
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes
from laconic.learners.episode import Episode
from laconic.learners.errors import ServerError
from laconic.learners.interfaces import Policy
from laconic.learners.metrics import Interval, intervals, prefixed, summarize
from laconic.learners.rollout.play import Start, play
from laconic.learners.rollout.runner import EpisodeRunner

MAY_DIFFER = (
    "resume",
    "threads",
    "env.max_rounds",
    "evaluation.transcripts",
    *(
        f"agent.{where}{name}"
        for where in ("", "members.*.")
        for name in ("base_url", "api_key_env", "limits")
    ),
)
"""Config keys that a resumed evaluation may change, because no figure depends on them."""


@program("evaluate", several=True)
def main(cfg: DictConfig) -> float:
    """Run the evaluation of a configuration; return the mean reward."""
    processes = launched()
    check_evaluate(cfg)
    setup.set_up_process(cfg.threads)
    take_run(cfg, HydraConfig.get().overrides.task)
    with main_process_folder(HydraConfig.get().runtime.output_dir, processes) as folder:
        processes.main(partial(begin, cfg, folder))
        reward = play_all(cfg, folder, processes)
    processes.close()
    return reward


def begin(cfg: DictConfig, folder: RunFolder) -> None:
    """Start the run folder, or resume it."""
    if not cfg.resume:
        refuse_used(folder)
    folder.start(cfg, cfg.resume, MAY_DIFFER)
    # Figures are written at the end over all episodes, so those of an earlier part are removed.
    folder.rewind(-1)


def play_all(cfg: DictConfig, folder: RunFolder, processes: Processes) -> float:
    """Play the missing episodes, each process its share; return the mean reward.

    Raises:
        KeyboardInterrupt: the user stopped the evaluation before its end.
    """
    hooks = make_hooks(cfg.evaluation.get("after"))
    team = setup.make_team(cfg)
    environments = setup.make_evaluation(cfg, cfg.evaluation.split, team)
    set_training_price(cfg, environments, HydraConfig.get().overrides.task)
    if cfg.run is not None:
        at = "its last checkpoint" if cfg.step is None else f"its checkpoint of step {cfg.step}"
        echo(f"plays {cfg.run}, {at}, on {cfg.env.get('name') or cfg.env._target_}")
    if words := untrained_warning(cfg):
        echo(words)
    print_start(team, environments[0])
    once = evaluation_starts(environments, cfg.evaluation.tasks)
    starts = [start for start in once for _ in range(cfg.evaluation.samples)]
    journal = Journal(folder, starts, cfg.evaluation.tokens)
    folder.write_status("running", 0, processes=processes.count)
    try:
        policies = team.policies(environments[0])
        show_prompt(environments[0], policies, once[0])
        with setup.playing_with(cfg, policies, folder.path, processes):
            play_missing(cfg, environments, policies, journal, len(starts), processes)
    except BaseException as error:
        failed = isinstance(error, Exception)
        folder.write_status("failed" if failed else "interrupted", 0)
        if isinstance(error, ServerError):
            raise ServerError(f"{error}\n{_left(journal, len(starts), folder)}") from error
        raise
    done = not journal.missing(0, len(starts))
    evaluation = EvaluationRun(
        cfg, environments, policies, starts, folder, journal.played, processes=processes
    )
    findings = run_hooks(hooks, evaluation)

    def finish() -> float:
        reward = write_figures(evaluation, journal, findings)
        folder.write_status("finished" if done else "interrupted", 0, processes=processes.count)
        echo(f"written to {folder.path}")
        return reward

    reward = processes.main(finish)
    if not done:
        print(_left(journal, len(starts), folder))
        raise KeyboardInterrupt
    return reward


def show_prompt(
    environment: ParallelEnv[str, Any, Any], policies: Mapping[str, Policy], start: Start
) -> None:
    """Print the first prompt of the first agent, as its model gets it."""
    requests = EpisodeRunner(environment, start).requests()
    if not requests:
        return
    request, policy = requests[0][0], policies[requests[0][0].agent]
    prompt = request.text
    if isinstance(policy, HFPolicy):
        prompt = str(policy.tokenizer.decode(list(policy.read(request))))
    print(f"{request.agent} reads first:\n{textwrap.indent(printable(prompt), '  ')}")


def play_missing(
    cfg: DictConfig,
    environments: setup.Environments,
    policies: Mapping[str, Policy],
    journal: Journal,
    total: int,
    processes: Processes = SINGLE_PROCESS,
) -> None:
    """Play the missing episodes until the end or a signal.

    Batches and seeds are those of an uninterrupted evaluation. Every process plays its share of a
    batch and then has the episodes of all.
    """
    journal.take_over(processes.first(journal.episodes))
    done = len(journal.episodes)
    hidden = setup.hidden_metrics(environments[0], policies)
    progress = Progress(total, "evaluate", first_step=done, hidden=hidden)
    # Figures of all episodes so far, as of the last whole batch.
    figures: dict[str, float] = {}
    with Interrupt() as interrupt, progress:

        def show_progress() -> None:
            progress.update(len(journal.episodes), figures)

        def play_share(first: int, places: Sequence[int]) -> list[tuple[int, Episode]]:
            keeper = ReplyLog(journal, places, show_progress, interrupt.is_set)
            starts = [journal.start(place) for place in places]
            seed = setup.rank_seed(cfg.seed + first, processes.rank)
            greedy = cfg.evaluation.greedy
            try:
                with interrupt.cuttable() if processes.count == 1 else nullcontext():
                    play(environments, policies, starts, listener=keeper, seed=seed, greedy=greedy)
            except KeyboardInterrupt:
                if not interrupt.is_set():
                    raise
            played = journal.episodes
            return [(place, played[place]) for place in places if place in played]

        for first in range(0, total, len(environments)):
            places = journal.missing(first, len(environments))
            if not places or processes.any(interrupt.is_set()):
                continue
            journal.take_over(dict(processes.map_sharded(places, partial(play_share, first))))
            figures |= summarize(journal.played)
            show_progress()


def write_figures(evaluation: EvaluationRun, journal: Journal, findings: Findings) -> float:
    """Write and print the figures of the episodes and the findings; return the mean reward."""
    settings, episodes = evaluation.cfg.evaluation, evaluation.episodes
    passes = estimate_passes(journal.episodes, settings.samples, settings.pass_at)
    findings = Findings(figures=passes) | findings
    record(evaluation, settings.transcripts, findings)
    estimates = {name: figure.mean for name, figure in findings.figures.items()}
    metrics = {**prefixed(summarize(episodes) | estimates, "eval/"), **findings.metrics}
    evaluation.folder.append_metrics({"step": 0, **metrics})
    show({**intervals(episodes), **findings.figures}, len(episodes), settings.samples)
    return metrics.get("eval/reward", math.nan)


def estimate_passes(
    episodes: Mapping[int, Episode], samples: int, chosen: Sequence[int]
) -> dict[str, Interval]:
    """Estimate pass@k over the tasks whose samples were all played.

    Args:
        episodes: episodes by place; the samples of a task have successive places.
        samples: number of samples per task. With 1, `accuracy` already says everything.
        chosen: values of k.

    Returns:
        `pass@k` -> mean over tasks with its interval; empty without complete tasks, or where tasks
        have weights.
    """
    if len({episode.weight for episode in episodes.values()}) > 1:
        return {}
    solved: dict[int, list[bool]] = {}
    for place, episode in episodes.items():
        if episode.solved is not None:
            solved.setdefault(place // samples, []).append(episode.solved)
    counts = [(samples, sum(flags)) for flags in solved.values() if len(flags) == samples]
    if samples == 1 or not counts:
        return {}
    return {f"pass@{k}": over_tasks(counts, k) for k in chosen}


def refuse_used(folder: RunFolder) -> None:
    """Refuse a folder that holds the figures or episodes of another evaluation (`SettingError`)."""
    if any(path.exists() for path in (folder.metrics, folder.episodes, folder.replies)):
        raise SettingError(
            f"{str(folder.path)!r} holds the figures of another run; pass another folder with"
            " hydra.run.dir=<folder>, or resume=true to continue an evaluation that ended early"
        )


def show(figures: Mapping[str, Interval], episodes: int, samples: int = 1) -> None:
    """Print the figures with their 95 % intervals, in words and forms of the table of a report."""
    names = figures if thinking([figures]) else figures.keys() - {"tokens_spent"}
    rows = [(label(name), level(name, figures[name])) for name in order({*names})]
    title = f"{count(episodes, 'episode')}, 95 % intervals"
    Console().print(text_table(title, ("metric", "mean"), rows, whole="others"))
    if samples > 1:
        print(f"pass@k is over tasks; other intervals treat {samples} plays of one as independent")


def _left(journal: Journal, total: int, folder: RunFolder) -> str:
    return (
        f"{len(journal.episodes)} of {total} episodes are done and saved; resume with:"
        f" {command('evaluate', folder.path, HydraConfig.get().overrides.task)}"
    )


if __name__ == "__main__":
    main()
