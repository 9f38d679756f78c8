"""One greedy evaluation: play every task once, write down figures and some transcripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from laconic.envs.dialogue.frontier import floors
from laconic.envs.task import Task
from laconic.experiments.reporting.records import Said, Transcript
from laconic.experiments.running.run_folder import RunFolder
from laconic.experiments.running.setup import Environments, task_keys
from laconic.experiments.running.splits import tasks_of
from laconic.learners.agents.base import Policy
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes
from laconic.learners.episode import Episode
from laconic.learners.metrics import Interval, intervals, prefixed, summarize
from laconic.learners.rollout.play import Start, play

_DRAWN_EPISODES = 256
"""Episodes of an evaluation where neither the environment nor the configuration says how many."""


def evaluation_starts(environments: Environments, most: int | None = None) -> list[Start]:
    """The first `most` tasks (None: all) once, each with the same seed whenever it is played.

    An environment whose tasks have no names begins so often, or 256 times for None.
    """
    keys = task_keys(environments[0])
    if not keys:
        return [Start(seed) for seed in range(_DRAWN_EPISODES if most is None else most)]
    return [Start(seed, key) for seed, key in enumerate(keys[:most])]


def evaluate(
    environments: Environments,
    policies: Mapping[str, Policy],
    starts: Sequence[Start],
    folder: RunFolder,
    *,
    step: int,
    transcripts: int,
    processes: Processes = SINGLE_PROCESS,
    unshard: bool = True,
) -> dict[str, float]:
    """Play all evaluation tasks greedily; record the outcome and some transcripts in the folder.

    Every process plays a part of the tasks, with whole weights if it is to `unshard`; the main one
    writes. Returns the metrics under their `eval/` names.
    """
    episodes = processes.map_sharded(
        starts,
        lambda own: play(environments, policies, own, seed=processes.rank, greedy=True),
        unshard=unshard,
    )
    processes.main(
        lambda: record(environments, episodes, folder, step=step, transcripts=transcripts)
    )
    return prefixed(summarize(episodes), "eval/")


def record(
    environments: Environments,
    episodes: Sequence[Episode],
    folder: RunFolder,
    *,
    step: int,
    transcripts: int,
    more: Mapping[str, Interval] | None = None,
) -> None:
    """Write intervals, `more` of them too, and the first transcripts of an evaluation."""
    found = {name: asdict(one) for name, one in (intervals(episodes) | dict(more or {})).items()}
    row: dict[str, Any] = {"step": step, "episodes": len(episodes), "intervals": found}
    least = {name: one.corners for name, one in floors(environments[0]).items()}
    folder.append_evaluation(row | ({"floors": least} if least and episodes else {}))
    tasks = tasks_of(environments[0])
    kept = [transcript(one, tasks.get(one.task), step) for one in episodes[:transcripts]]
    folder.append_transcripts([one.row() for one in kept])


def transcript(episode: Episode, task: Task | None, step: int) -> Transcript:
    """One episode as `transcripts.jsonl` keeps it; some environments have no `Task`."""
    return Transcript(
        step=step,
        task=episode.task,
        question=task.question if task else "",
        statements=tuple(task.statements) if task else (),
        reference=task.answer if task else "",
        messages=tuple(
            Said(
                one.agent,
                one.round,
                one.message,
                one.tokens_said,
                one.cut,
                one.informed,
                one.truncated,
                one.read,
                one.thought,
                one.tokens_thought,
                one.act,
            )
            for one in episode.turns
        ),
        solved=episode.solved,
        score=episode.score,
        answer=episode.answer,
        tokens_said=sum(episode.tokens_said.values()) if episode.tokens_said else None,
        tokens_thought=sum(episode.tokens_thought.values()) or None,
        rewards=episode.rewards,
        task_rewards=episode.task_rewards,
        bills=episode.bills,
        ended_by=episode.ended_by,
    )
