"""Evaluate greedily: play every task once, and record figures and some transcripts.

`evaluation.after` names further measurements: nodes whose `_target_` is a function, or a class
whose objects are callable. Every process calls each with an `EvaluationRun`; it returns `Findings`
or None.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

from hydra.utils import instantiate
from omegaconf import DictConfig

from laconic.envs.task import Task
from laconic.experiments.run_folder.folder import RunFolder
from laconic.experiments.run_folder.records import Transcript, TurnRecord
from laconic.experiments.session.setup import Environments, task_keys
from laconic.experiments.session.splits import tasks_of
from laconic.experiments.session.training_run import TrainingRun
from laconic.learners.distributed.processes import SINGLE_PROCESS, Processes
from laconic.learners.episode import Episode, Graph
from laconic.learners.interfaces import Policy
from laconic.learners.metrics import Interval, intervals, outcomes, prefixed, summarize
from laconic.learners.rollout.play import Start, play

T = TypeVar("T")
_DRAWN_EPISODES = 256
"""Number of episodes if neither the environment nor the configuration sets it."""
_FIRST_PORTION = 8
"""Number of episodes that show how long the others take."""


@dataclass(frozen=True, slots=True)
class EvaluationRun:
    """Evaluation, with the objects that play it and its episodes."""

    cfg: DictConfig
    """Configuration of the program."""
    environments: Environments
    """Environments of the evaluation, played in parallel."""
    policies: Mapping[str, Policy]
    """Policy of each agent."""
    starts: Sequence[Start]
    """Starts of the episodes."""
    folder: RunFolder
    """Run folder of the evaluation."""
    episodes: Sequence[Episode] = ()
    """Episodes, one per start in their order; fewer if the evaluation was interrupted."""
    step: int = 0
    """Number of learner updates before the evaluation."""
    processes: Processes = SINGLE_PROCESS
    """Process group of the evaluation."""
    unshard: bool = True
    """True to gather sharded weights before a process plays alone."""

    def by_main(self, function: Callable[[], T]) -> T:
        """Call a function on the main process, with whole weights; all processes get its result."""
        with self.processes.unshard() if self.unshard else nullcontext():
            return self.processes.main(function)


@dataclass(frozen=True, slots=True)
class Findings:
    """Results of a measurement after an evaluation."""

    figures: Mapping[str, Interval] = field(default_factory=dict)
    """Figures of the evaluation, by their names without prefix."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Further metrics of the step, by their full names."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further entries of the row in `evaluations.jsonl`."""

    def __or__(self, other: Findings) -> Findings:
        """Merge two findings; the second wins for equal names."""
        return Findings(
            {**self.figures, **other.figures},
            {**self.metrics, **other.metrics},
            {**self.facts, **other.facts},
        )


_NOTHING = Findings()
AfterEvaluation = Callable[[EvaluationRun], Findings | None]
"""Callable that runs after an evaluation."""


def make_hooks(nodes: DictConfig | None) -> list[AfterEvaluation]:
    """Build the callables of `evaluation.after`, in the order of the configuration.

    A class is instantiated with its settings. A function is called with them after the evaluation.
    """
    hooks: list[AfterEvaluation] = []
    for node in (nodes or {}).values():
        hook = instantiate(node, _partial_=True, _convert_="all")
        hooks.append(hook() if inspect.isclass(hook.func) else hook)
    return hooks


def run_hooks(hooks: Sequence[AfterEvaluation], evaluation: EvaluationRun) -> Findings:
    """Measure the distance to the best, call all hooks and merge their findings."""
    findings = distance_to_best(evaluation) or Findings()
    for hook in hooks:
        findings |= hook(evaluation) or Findings()
    return findings


def distance_to_best(evaluation: EvaluationRun) -> Findings | None:
    """Return what the team earns less than the best one that is known; None where none is."""
    best = getattr(evaluation.environments[0], "best_reward", None)
    if best is None or not evaluation.episodes:
        return None
    earned = intervals(evaluation.episodes)["reward"]
    distance = Interval(best - earned.mean, best - earned.high, best - earned.low, earned.count)
    return Findings(figures={"distance_to_best": distance})


def evaluation_starts(environments: Environments, most: int | None = None) -> list[Start]:
    """Return one start for each of the first `most` tasks (None: all); seeds are fixed by task.

    An environment without task keys gets `most` starts, or 256 for None.
    """
    keys = task_keys(environments[0])
    if not keys:
        return [Start(seed) for seed in range(_DRAWN_EPISODES if most is None else most)]
    tasks = tasks_of(environments[0])
    return [
        Start(seed, key, weight=tasks[key].weight if key in tasks else 1.0)
        for seed, key in enumerate(keys[:most])
    ]


def with_topology(graph: Graph, starts: Sequence[Start]) -> Sequence[Start]:
    """Return starts with a graph that says who hears whom; an empty graph leaves them as they are.

    Without a learned graph the environment's topology holds.
    """
    return [replace(start, topology=graph) for start in starts] if graph else starts


def play_greedily(evaluation: EvaluationRun, starts: Sequence[Start]) -> list[Episode]:
    """Play some starts of an evaluation; every process plays its share."""
    processes = evaluation.processes
    return processes.map_sharded(
        starts,
        lambda own: play(
            evaluation.environments, evaluation.policies, own, seed=processes.rank, greedy=True
        ),
        unshard=evaluation.unshard,
    )


def play_within(evaluation: EvaluationRun, seconds: float) -> EvaluationRun:
    """Play as many starts as fit into a time, in growing portions.

    Each portion is at most three times as large as all before it, and small enough to end in time
    at the pace of the portion before it.

    Returns:
        The evaluation with the played starts and their episodes; at least the first portion.
    """
    began = time.monotonic()
    starts, episodes = evaluation.starts, list[Episode]()
    size = _FIRST_PORTION
    while size and len(episodes) < len(starts):
        portion = starts[len(episodes) : len(episodes) + size]
        portion_began = time.monotonic()
        episodes += play_greedily(evaluation, portion)
        now = time.monotonic()
        fitting = (seconds - (now - began)) / ((now - portion_began) / len(portion))
        # All processes play equal portions; a portion of few starts is not worth its time.
        size = evaluation.processes.first(min(3 * len(episodes), max(int(fitting), 0)))
        size = size if 4 * size >= len(episodes) else 0
    return replace(evaluation, starts=starts[: len(episodes)], episodes=episodes)


def evaluate(
    evaluation: EvaluationRun, transcripts: int, hooks: Sequence[AfterEvaluation] = ()
) -> dict[str, float]:
    """Play all evaluation tasks greedily; record figures and some transcripts in the folder.

    Every process plays its share of the tasks, unless they are played already; the main process
    writes.

    Returns:
        The metrics by their full names (`eval/accuracy`).
    """
    processes = evaluation.processes
    episodes = evaluation.episodes or play_greedily(evaluation, evaluation.starts)
    evaluation = replace(evaluation, episodes=episodes)
    findings = run_hooks(hooks, evaluation)
    processes.main(lambda: record(evaluation, transcripts, findings))
    means = {name: figure.mean for name, figure in findings.figures.items()}
    return {**prefixed({**summarize(episodes), **means}, "eval/"), **findings.metrics}


def evaluate_training(run: TrainingRun) -> dict[str, float]:
    """Evaluate the policies of a training; return the metrics by their full names.

    The evaluation has the environment's own price, whatever the learner charges at its step, so
    that rewards of all evaluations compare. Before training a time limit may leave tasks out.
    """
    evaluation = EvaluationRun(
        run.cfg,
        run.evaluation,
        run.policies,
        with_topology(run.learner.collector.graph, run.starts),
        run.folder,
        step=run.step,
        processes=run.processes,
        unshard=not run.engine.keeps_copies,
    )
    if run.step == 0 and run.first_evaluation_seconds is not None:
        evaluation = play_within(evaluation, run.first_evaluation_seconds)
        run.starts = evaluation.starts
    return evaluate(evaluation, run.cfg.evaluation.transcripts, run.after_evaluation)


def record(evaluation: EvaluationRun, transcripts: int, findings: Findings = _NOTHING) -> None:
    """Write the figures by task, the findings and the first transcripts of an evaluation."""
    episodes, step = evaluation.episodes, evaluation.step
    figures = {**intervals(episodes), **findings.figures}
    row: dict[str, Any] = {
        "step": step,
        "episodes": len(episodes),
        "intervals": {name: asdict(figure) for name, figure in figures.items()},
        # An interrupted evaluation played some of its tasks, and is compared with no other.
        "tasks": digest(evaluation.starts) if len(episodes) == len(evaluation.starts) else "",
        "outcomes": {name: asdict(outcome) for name, outcome in outcomes(episodes).items()},
        **findings.facts,
    }
    evaluation.folder.append_evaluation(row)
    tasks = tasks_of(evaluation.environments[0])
    evaluation.folder.append_transcripts(
        [
            transcript(episode, tasks.get(episode.task), step).row()
            for episode in episodes[:transcripts]
        ]
    )


def digest(starts: Sequence[Start]) -> str:
    """Return a name of the tasks and seeds of an evaluation; equal names are compared by task."""
    played = json.dumps([(start.task, start.seed) for start in starts])
    return hashlib.sha256(played.encode()).hexdigest()[:16]


def transcript(episode: Episode, task: Task | None, step: int) -> Transcript:
    """Make the transcript of an episode; `task` is None for environments without a `Task`."""
    return Transcript(
        step=step,
        task=episode.task,
        question=task.question if task else "",
        statements=tuple(task.statements) if task else (),
        reference=task.answer if task else "",
        messages=tuple(
            TurnRecord(
                turn.agent,
                turn.round,
                turn.message,
                turn.tokens_said,
                turn.cut,
                turn.informed,
                turn.truncated,
                turn.read,
                turn.thought,
                turn.tokens_thought,
                turn.act,
            )
            for turn in episode.turns
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
