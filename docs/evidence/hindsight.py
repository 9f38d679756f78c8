"""Trains a policy on what it could have read next: make evidence-hindsight (docs/sdpo.md).

A teacher is terse where it reads a request, in half of the episodes, and wordy elsewhere. The
shipped policy imitates it. Then `learner=sdpo` trains it without requests. After each of its
replies comes the same comment, which the policy reads in hindsight alone; no reward enters. Rows go
to `hindsight/runs.jsonl`: greedy figures, and the divergence of replies without a request from
those with one, every few updates.

hindsight.py <run> <seed> ...    one of RUNS; leaves out what has been recorded
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pettingzoo import ParallelEnv
from pettingzoo.utils import BaseParallelWrapper
from rows import HERE

from laconic import envs
from laconic.envs.dialogue import DialogueEnv
from laconic.envs.task import Task
from laconic.extras.methods.sdpo import BLOCK, HindsightLearner
from laconic.learners.agents.policy import HFPolicy
from laconic.learners.agents.scripted import Teacher
from laconic.learners.agents.tiny import TinyTeam
from laconic.learners.algorithms.group import GroupLearner
from laconic.learners.algorithms.imitation import Imitated
from laconic.learners.interfaces import Request
from laconic.learners.metrics import summarize
from laconic.learners.rollout.collectors.demonstrations import TeacherDemos
from laconic.learners.rollout.play import Start, play
from laconic.learners.training.objective import Objective

ROWS = HERE / "hindsight" / "runs.jsonl"
REQUEST, COMMENT = "Be brief.", "Too long."
HINDSIGHT = BLOCK.format(COMMENT).strip()
STARTS = Path("outputs/evidence/hindsight")
TAUGHT_EPISODES, TAUGHT = 64, 60
"""Episodes of an update of the first part, and its updates."""
EPISODES, EVERY = 32, 5
"""Episodes of an update of the second part, and its updates between rows."""
EVALUATED, COMPARED = 500, 24
"""Tasks of an evaluation, and of a divergence."""
FIGURES = ("accuracy", "tokens_said", "silence_rate", "spoke_if_informed")


@dataclass(frozen=True, slots=True)
class Run:
    """One way to train."""

    requests: tuple[str, ...] = (REQUEST, HINDSIGHT)
    """Requests that the teacher obeys, equally often."""
    center: str = "mean"
    """Center of the tokens' advantages."""
    rate: float = 5e-5
    """Learning rate of the second part."""
    updates: int = 20
    """Updates of the second part."""


RUNS: Mapping[str, Run] = {
    "mean": Run(),
    "mean_longer": Run(updates=30),
    "messages": Run(center="messages"),
    "none": Run(center="none"),
    "none_faster": Run(center="none", rate=2e-4),
    # The teacher does not obey the comment.
    "new_comment": Run((REQUEST,)),
}


class Asked(BaseParallelWrapper):  # type: ignore[type-arg,misc]
    """Adds a request to what agents read before they speak, and a comment to what they said."""

    def __init__(
        self, env: ParallelEnv[str, Any, Any], requests: Sequence[str] = (), share: float = 1.0
    ) -> None:
        """Wrap an environment; this share of the episodes have a request."""
        super().__init__(env)
        self._requests, self._share, self._request = requests, share, ""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Start an episode, and draw its request."""
        generator = random.Random(f"request {seed}")
        asks = generator.random() < self._share
        self._request = generator.choice(self._requests) if self._requests and asks else ""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._ask(observations), infos

    def step(self, actions: Any) -> Any:
        """Play a round, and comment on it."""
        observations, rewards, ends, cuts, infos = self.env.step(actions)
        commented = {agent: {**info, "feedback": COMMENT} for agent, info in infos.items()}
        return self._ask(observations), rewards, ends, cuts, commented

    def _ask(self, observations: Mapping[str, Any]) -> dict[str, Any]:
        """Add the request to the texts of the agents that may speak now."""
        return {
            agent: {**seen, "text": f"{seen['text']}\n{self._request}"}
            if self._request and seen["tokens_left"][0]
            else seen
            for agent, seen in observations.items()
        }


@cache
def tasks(split: Any, count: int) -> Sequence[Task]:
    """Return tasks of level 1, as in the quickstart."""
    found: Sequence[Task] = envs.benchmark("gsm8k").generate(
        0, count, split=split, level=1, distractors=1
    )
    return found


def environments(
    split: Any, count: int, size: int, requests: Sequence[str] = (), share: float = 1.0
) -> list[Asked]:
    """Make equal environments with the team of the quickstart."""
    tokenize, benchmark = TinyTeam().tokenize, envs.benchmark("gsm8k")
    return [
        Asked(
            DialogueEnv(
                benchmark,
                tasks=tasks(split, count),
                team={"solver": 1, "helper": 3},
                schedule=["helper", "solver"],
                information="split",
                topology="star",
                instructions="brief",
                budget=envs.Budget(message=48, episode=192),
                tokenize=tokenize,
            ),
            requests,
            share,
        )
        for _ in range(size)
    ]


def starts(envs: Sequence[Asked], count: int, generator: np.random.Generator) -> list[Start]:
    """Draw tasks and seeds."""
    keys = list(envs[0].unwrapped.tasks)  # type: ignore[attr-defined]
    drawn = generator.choice(len(keys), count, replace=False)
    return [
        Start(int(seed), keys[i])
        for seed, i in zip(generator.integers(2**31, size=count), drawn, strict=True)
    ]


def teach(requests: Sequence[str], task: Task, request: Request, generator: random.Random) -> str:
    """Say what the teacher says: tersely where it reads one of the requests."""
    asked = any(request.text.endswith(f"\n{each}") for each in requests)
    return Teacher(terse=1.0 if asked else 0.0)(task, request, generator)


def warm_start(run: Run) -> dict[str, HFPolicy]:
    """Return the shipped policy after it imitated the teacher; all seeds share it."""
    played = environments("train", 20_000, TAUGHT_EPISODES, run.requests, 0.5)
    folder = STARTS / f"{len(run.requests)}"
    if folder.exists():
        return TinyTeam(str(folder)).policies(played[0])
    policies = TinyTeam().policies(played[0])
    learner = GroupLearner(
        policies,
        partial(torch.optim.AdamW, lr=5e-4),
        advantages=Imitated(),
        objective=Objective("none", average="token"),
        collect=TeacherDemos(partial(teach, run.requests)),  # type: ignore[arg-type]
        minibatches=1,
        warmup_updates=6,
        decay_updates=TAUGHT,
    )
    generator = np.random.default_rng((0, 0))
    for update in range(TAUGHT):
        learned = starts(played, TAUGHT_EPISODES, generator)
        metrics = learner.update(learner.collector(played, policies, learned, 1, seed=update))
        if update % 10 == 0:
            print(f"imitation {update}: {metrics['loss']:.4f}", flush=True)
    policies["solver_0"].save(folder)
    return policies


def distil(
    run: Run, policies: dict[str, HFPolicy], seed: int
) -> Iterator[tuple[int, dict[str, float]]]:
    """Train on the comment; yield the updates so far and the last one's metrics every few."""
    played = environments("train", 20_000, EPISODES)
    learner = HindsightLearner(
        policies,
        partial(torch.optim.AdamW, lr=run.rate, weight_decay=0.0),
        follow_up="feedback",
        center=run.center,  # type: ignore[arg-type]
        minibatches=2,
        seed=seed,
    )
    generator = np.random.default_rng((seed, 1))
    for update in range(1, run.updates + 1):
        groups = learner.collector(
            played, policies, starts(played, EPISODES, generator), 1, seed=seed * 1000 + update
        )
        metrics = learner.update(groups)
        if update % EVERY == 0:
            yield update, metrics


def evaluate(policies: Mapping[str, HFPolicy], count: int, request: str = "") -> dict[str, float]:
    """Return greedy figures on evaluation tasks; with a request, all agents read it."""
    played = environments("evaluation", EVALUATED, min(count, 250), (request,) if request else ())
    begun = [Start(i, key) for i, key in enumerate(list(played[0].unwrapped.tasks)[:count])]  # type: ignore[attr-defined]
    figures = summarize(play(played, policies, begun, seed=0, greedy=True))
    return {name: figures[name] for name in FIGURES}


@torch.no_grad()
def divergence(policies: Mapping[str, HFPolicy]) -> float:
    """Return the KL of replies without a request from those with one, in nats per reply.

    It is exact in each token, and a mean over sampled replies.
    """
    played = environments("evaluation", EVALUATED, COMPARED)
    keys = list(played[0].unwrapped.tasks)[:COMPARED]  # type: ignore[attr-defined]
    episodes = play(played, policies, [Start(i, key) for i, key in enumerate(keys)], seed=0)
    values = []
    for episode in episodes:
        for turn in episode.turns:
            policy = policies[turn.agent]
            asked = policy.extend_prompt(turn.prompt_ids, f"\n{REQUEST}")
            plain, brief = (
                torch.log_softmax(
                    policy.model(input_ids=torch.tensor([[*prompt, *turn.reply_ids]])).logits[0],
                    dim=-1,
                )[len(prompt) - 1 : -1]
                for prompt in (turn.prompt_ids, asked)
            )
            values.append(float((plain.exp() * (plain - brief)).sum()))
    return float(np.mean(values))


@cache
def before(run: Run) -> dict[str, Any]:
    """Return the figures of the start, and those on the first tasks with each request."""
    policies = warm_start(run)
    return {
        "eval": evaluate(policies, EVALUATED),
        "divergence": divergence(policies),
        "with_request": evaluate(policies, 100, REQUEST),
        "with_comment": evaluate(policies, 100, HINDSIGHT),
    }


def record(name: str, seed: int) -> None:
    """Train, and append the rows of one run."""
    run, began = RUNS[name], time.process_time()
    policies = warm_start(run)
    rows = [{"run": name, "seed": seed, "update": 0, **before(run)}]
    for update, metrics in distil(run, policies, seed):
        row: dict[str, Any] = {"run": name, "seed": seed, "update": update}
        row["eval"] = evaluate(policies, EVALUATED if update == run.updates else 100)
        row["divergence"] = divergence(policies)
        row |= {key: metrics[key] for key in metrics if "hindsight" in key or key == "grad_norm"}
        row["seconds"] = round(time.process_time() - began, 1)
        rows.append(row)
        print(json.dumps(row), flush=True)
    ROWS.parent.mkdir(exist_ok=True)
    with ROWS.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


if __name__ == "__main__":
    torch.set_num_threads(1)
    name, *numbers = sys.argv[1:]
    text = ROWS.read_text("utf-8") if ROWS.exists() else ""
    recorded = {(row["run"], row["seed"]) for row in map(json.loads, text.splitlines())}
    for number in map(int, numbers):
        if (name, number) not in recorded:
            record(name, number)
