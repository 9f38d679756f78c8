"""Measures what the environment costs, and a training step against its bare model calls.

    laconic measure-speed

Environment steps per second with scripted agents, on one core. Answers graded per second
(`experiments.running.grading`), which does not depend on the environment chosen. The environment's
own cost: the share of a training step that is spent neither in a policy nor in the learner. And the
whole step (rollout and update) as a multiple of the bare calls it is made of: `generate` on the
same prompts, then for each minibatch the forward pass with its cross entropy, the backward pass and
the optimiser step, on the same tokens padded to the longest of the minibatch. Steps and bare calls
take turns in one process from the same weights, and ratios are taken pair by pair, because machines
are noisy.
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from hydra.core.hydra_config import HydraConfig
from hydra.utils import instantiate
from omegaconf import DictConfig
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.optim import Optimizer

from laconic.envs.errors import SettingError
from laconic.experiments.command_line.cli import program
from laconic.experiments.running import grading
from laconic.experiments.running.progress import Progress
from laconic.experiments.running.setup import (
    Environments,
    draw_starts,
    make_environments,
    make_learner,
    make_team,
    set_up_process,
    task_keys,
)
from laconic.learners.agents.base import Policy, Reply, Request
from laconic.learners.agents.generate import pad_left
from laconic.learners.agents.hf import HFPolicy
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.episode import Episode, Group
from laconic.learners.rollout.play import collect, play
from laconic.learners.training.sequences import TokenSequence, collate

IGNORED = -100
"""The label that the cross entropy of `transformers` leaves out."""


class Timed:
    """A policy that adds up the time spent in it."""

    def __init__(self, policy: Policy) -> None:
        """Wrap a policy."""
        self._policy = policy
        self.seconds = 0.0

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Pass the requests on and take the time."""
        begun = time.perf_counter()
        replies = self._policy.reply(requests, seed=seed, greedy=greedy)
        self.seconds += time.perf_counter() - begun
        return replies


@dataclass(frozen=True, slots=True)
class Sample:
    """One repetition, in seconds."""

    step: float
    """The whole training step."""
    bare: float
    """Its bare model calls."""
    environment: float
    """The part of the step that was spent neither in a policy nor in the learner."""


@program("measure_speed")
def main(cfg: DictConfig) -> float:
    """Measure and print; returns the step as a multiple of its bare calls."""
    set_up_process(cfg.threads)
    team = make_team(cfg)
    count = cfg.train.tasks_per_step * cfg.train.group_size
    environments = make_environments(cfg, count, "train", team)
    bench = _Bench(cfg, team, environments)
    samples = []
    with Progress(cfg.measure.repetitions, "measure-speed") as progress:
        for repetition in range(cfg.measure.repetitions + 1):
            sample = bench.measure(repetition)
            if repetition:
                samples.append(sample)
                progress.update(repetition, {})
    figures = {
        "env_steps_per_second": scripted_steps_per_second(cfg),
        **summarise(samples),
        **grading.measure(cfg.measure.answers),
    }
    folder = Path(HydraConfig.get().runtime.output_dir)
    (folder / "speed.json").write_text(json.dumps(figures, indent=2) + "\n")
    show(figures)
    return figures["step_over_bare"]


def scripted_steps_per_second(cfg: DictConfig) -> float:
    """Environment steps per second of one process in which agents say random words."""
    team = ScriptedTeam("random")
    [environment] = make_environments(cfg, 1, "train", team, instructions="full")
    starts = draw_starts((), cfg.measure.episodes, cfg.seed, 0)
    policies = team.policies(environment)
    messages = [
        [turn.message for turn in episode.turns]
        for episode in play([environment], policies, starts[:100], seed=cfg.seed)
    ]
    begun, steps = time.perf_counter(), 0
    for number, start in enumerate(starts):
        environment.reset(seed=start.seed)
        words = messages[number % len(messages)]
        while environment.agents:
            environment.step(dict(zip(environment.agents, words, strict=False)))
            steps += 1
    return steps / (time.perf_counter() - begun)


def summarise(samples: Sequence[Sample]) -> dict[str, float]:
    """Medians over the repetitions, and a bootstrap interval for that of the ratio."""
    ratios = np.array([sample.step / sample.bare for sample in samples])
    draws = np.random.default_rng(0).choice(ratios, size=(2000, len(ratios)))
    low, high = np.percentile(np.median(draws, axis=1), (2.5, 97.5))
    return {
        "step_seconds": median(sample.step for sample in samples),
        "bare_seconds": median(sample.bare for sample in samples),
        "step_over_bare": float(np.median(ratios)),
        "step_over_bare_low": float(low),
        "step_over_bare_high": float(high),
        "environment_share": median(sample.environment / sample.step for sample in samples),
        "repetitions": len(samples),
    }


def show(figures: Mapping[str, float]) -> None:
    """Print the figures with what they should be."""
    table = Table(title="cost", title_justify="left")
    for heading in ("figure", "measured", "wanted"):
        table.add_column(heading, justify="left" if heading == "figure" else "right")
    interval = f"{figures['step_over_bare_low']:.2f} to {figures['step_over_bare_high']:.2f}"
    table.add_row("environment steps per second", f"{figures['env_steps_per_second']:,.0f}", "")
    table.add_row(
        "environment's share of a training step", f"{figures['environment_share']:.1%}", "<= 3 %"
    )
    table.add_row(
        "training step over its bare calls",
        f"{figures['step_over_bare']:.2f} ({interval})",
        "<= 1.15",
    )
    table.add_row("seconds per training step", f"{figures['step_seconds']:.2f}", "")
    for row in grading.rows(figures):
        table.add_row(*row)
    Console().print(table)


def _checked(learner: object, policies: Mapping[str, Policy]) -> GroupLearner:
    """The learner, if its step is one whose bare calls are known here.

    Raises:
        SettingError: it has a critic or another step of its own, or the team has several policies.
    """
    if not isinstance(learner, GroupLearner):
        raise SettingError(
            "measure-speed knows the bare calls of learners that compare the episodes of a group;"
            f" got {type(learner).__name__}. Choose one of those, such as learner=grpo"
        )
    if len({id(policy) for policy in policies.values()}) > 1:
        raise SettingError(
            "measure-speed takes one policy for the whole team; got several. Set"
            " agent.sharing=shared, or a learner that does not ask for separate policies"
        )
    return learner


class _Bench:
    """A learner, and a copy of its model and optimiser for the bare calls."""

    def __init__(self, cfg: DictConfig, team: Any, environments: Environments) -> None:
        self._cfg = cfg
        self._environments = environments
        policies = team.policies(environments[0])
        self._learner = _checked(make_learner(cfg, policies), policies)
        self._policy: HFPolicy = next(iter(policies.values()))
        timed = Timed(self._policy)
        self._timed, self._policies = timed, dict.fromkeys(policies, timed)
        self._state = copy.deepcopy(self._learner.state_dict())
        self._bare_model = copy.deepcopy(self._policy.model)
        self._bare_optimizer: Optimizer = instantiate(
            cfg.optimizer, self._bare_model.parameters(), _partial_=False, _convert_="all"
        )

    def measure(self, repetition: int) -> Sample:
        """One step and its bare calls, from the weights the benchmark began with."""
        self._learner.load_state_dict(copy.deepcopy(self._state))
        self._bare_model.load_state_dict(self._state["trainers"][0]["model"])
        self._timed.seconds = 0.0
        train, seed = self._cfg.train, self._cfg.seed
        starts = draw_starts(
            task_keys(self._environments[0]), train.tasks_per_step, seed, repetition
        )
        begun = time.perf_counter()
        groups = collect(
            self._environments, self._policies, starts, train.group_size, seed=repetition
        )
        collected = time.perf_counter()
        self._learner.update(groups)
        ended = time.perf_counter()
        return Sample(
            step=ended - begun,
            bare=self._bare(groups, repetition),
            environment=collected - begun - self._timed.seconds,
        )

    def _bare(self, groups: Sequence[Group], repetition: int) -> float:
        episodes = [episode for group in groups for episode in group.episodes]
        calls: list[Callable[[], None]] = []
        for prompts in prompts_by_round(episodes):
            calls.append(self._bare_generate(prompts))
        sequences = [sequence for group in groups for sequence in self._learner.sequences(group)]
        calls += [self._bare_step(part) for part in self._learner.split(sequences)]
        torch.manual_seed(repetition)
        begun = time.perf_counter()
        for call in calls:
            call()
        return time.perf_counter() - begun

    def _bare_generate(self, prompts: Sequence[Sequence[int]]) -> Callable[[], None]:
        ids, mask = pad_left(prompts, self._policy.pad_id, self._policy.device)
        speech = self._policy.speech

        def call() -> None:
            with torch.inference_mode():
                self._bare_model.generate(
                    input_ids=ids,
                    attention_mask=mask,
                    do_sample=True,
                    temperature=speech.temperature,
                    top_k=0,
                    top_p=1.0,
                    max_new_tokens=speech.max_reply_tokens,
                )

        return call

    def _bare_step(self, sequences: Sequence[TokenSequence]) -> Callable[[], None]:
        batch = collate(sequences, self._policy.pad_id).to(self._policy.device)
        labels: Tensor = torch.where(batch.generated_mask, batch.token_ids, IGNORED)

        def call() -> None:
            self._bare_optimizer.zero_grad(set_to_none=True)
            loss = self._bare_model(
                input_ids=batch.token_ids, attention_mask=batch.attention_mask.long(), labels=labels
            ).loss
            loss.backward()
            self._bare_optimizer.step()

        return call


def prompts_by_round(episodes: Sequence[Episode]) -> list[list[list[int]]]:
    """What every generate call of a rollout was given, round by round."""
    rounds: dict[int, list[list[int]]] = {}
    for episode in episodes:
        past: dict[str, list[int]] = {}
        for turn in episode.turns:
            conversation = past.setdefault(turn.agent, [])
            conversation += turn.prompt_ids
            rounds.setdefault(turn.round, []).append(list(conversation))
            conversation += turn.reply_ids
    return [rounds[number] for number in sorted(rounds)]


if __name__ == "__main__":
    main()
