"""Compares one policy for all environments with one for each: make evidence-one-policy.

Both ways take the same processor time, `MINUTES`, and learn from the same teachers. `one` is a
model of about two million parameters that takes the environments in turns, one per update. `apart`
are models of at most half a million parameters, with an equal part of the time each. Rows with the
greedy figures on up to 200 tasks go to `starts/one_policy.jsonl`.

It continues after the last whole part: `one`, or a policy of `apart`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from omegaconf import DictConfig
from rows import HERE

from laconic.envs.dialogue.budget import Tokenize, split_words
from laconic.envs.worlds import join_act
from laconic.experiments.command_line.targets import settle
from laconic.experiments.command_line.tree import CONF
from laconic.experiments.session import setup
from laconic.learners.agents.chat import tokenize_with
from laconic.learners.agents.policy import HFPolicy
from laconic.learners.agents.recipes import RECIPES
from laconic.learners.agents.scripted import teacher_policy
from laconic.learners.agents.tiny import TinySamplingSettings
from laconic.learners.agents.tiny.new import ModelConfig, build_model, build_tokenizer
from laconic.learners.metrics import summarize
from laconic.learners.rollout.play import Start, play

MINUTES = 60.0
"""Processor time of each way."""
TASKS = 200
ROWS = HERE / "starts" / "one_policy.jsonl"
LARGE = ModelConfig(2048, hidden=192, layers=4, heads=6, intermediate=384, positions=4096)
SMALL = ModelConfig(768, hidden=96, layers=4, heads=4, intermediate=192, positions=4096)
_TEXTS = 64
"""Episodes of each environment from whose texts a tokenizer learns."""
_TIMED = 3
"""Updates by environment whose time gives the number of all updates."""


class Counter:
    """Counter of tokens that environments use; it counts words until there is a tokenizer."""

    def __init__(self) -> None:
        """Count words."""
        self.cut: Tokenize = split_words

    def tokenize(self, text: str) -> Sequence[str]:
        """Cut text into tokens."""
        return self.cut(text)


@dataclass(frozen=True, slots=True)
class Lesson:
    """An environment and its teacher."""

    name: str
    """Name of the environment."""
    cfg: DictConfig
    """Composed configuration of its warm start."""
    environments: setup.Environments
    """Training environments, one for each episode of an update."""
    counter: Counter
    """Counter of their tokens."""

    def texts(self) -> list[str]:
        """Return what is read and said in some episodes of the teacher."""
        environment = self.environments[0]
        teacher = teacher_policy(instantiate(self.cfg.learner.collect.teacher), environment)
        speakers = dict.fromkeys(environment.possible_agents, teacher)
        episodes = play([environment], speakers, [Start(i) for i in range(_TEXTS)], seed=0)
        turns = [turn for episode in episodes for turn in episode.turns]
        return [text for turn in turns for text in (turn.read, join_act(turn.message, turn.act))]

    def room(self) -> int:
        """Return the tokens of the longest reply that the recipe allows."""
        return int(self.cfg.agent.sampling.max_reply_tokens)


def lesson(name: str) -> Lesson:
    """Compose the warm start of an environment and make its training environments."""
    overrides = ["experiment=warm_start", f"env={name}", "threads=1"]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("train", overrides=overrides)
        settle(cfg, overrides)
    cfg.env.tasks = min(cfg.env.tasks, 20_000)
    count, counter = cfg.train.tasks_per_step * cfg.train.group_size, Counter()
    return Lesson(name, cfg, setup.make_environments(cfg, count, "train", counter), counter)


def train(lessons: Sequence[Lesson], config: ModelConfig, minutes: float) -> HFPolicy:
    """Train new weights on some environments in turns, for a processor time."""
    tokenizer = build_tokenizer(
        [text for one in lessons for text in one.texts()], config.vocabulary
    )
    sampling = TinySamplingSettings(max_reply_tokens=max(one.room() for one in lessons))
    policy = HFPolicy(build_model(tokenizer, config, seed=0), tokenizer, sampling)
    for one in lessons:
        one.counter.cut = tokenize_with(tokenizer)
    began = time.process_time()
    # A learner that is thrown away shows how many updates fit into the time.
    rehearsal = HFPolicy(build_model(tokenizer, config, seed=0), tokenizer, sampling)
    teach(lessons, rehearsal, _TIMED * len(lessons), 10**6)
    pace = (time.process_time() - began) / (_TIMED * len(lessons))
    steps = max(int((60 * minutes - (time.process_time() - began)) / pace), len(lessons))
    teach(lessons, policy, steps, steps)
    return policy


def teach(lessons: Sequence[Lesson], policy: HFPolicy, steps: int, decay: int) -> None:
    """Take updates in which the environments take turns; the rate falls to 0 after `decay`."""
    agents = dict.fromkeys(
        agent for one in lessons for agent in one.environments[0].possible_agents
    )
    policies = dict.fromkeys(agents, policy)
    cfg = lessons[0].cfg.copy()
    cfg.learner.decay_updates = decay
    learner = setup.make_learner(cfg, policies)
    for step in range(steps):
        one = lessons[step % len(lessons)]
        collector = instantiate(one.cfg.learner.collect, _convert_="all")
        keys = setup.task_keys(one.environments[0])
        starts = setup.draw_starts(keys, one.cfg.train.tasks_per_step, 0, step)
        speaking = {agent: policies[agent] for agent in one.environments[0].possible_agents}
        players = (one.environments, speaking)
        learner.update(collector.gather(players, starts, one.cfg.train.group_size, step))


def measure(one: Lesson, policy: HFPolicy) -> Mapping[str, float]:
    """Return the greedy figures of a policy on evaluation tasks."""
    tasks, count = min(TASKS, RECIPES[one.name].tasks), one.counter
    environments = setup.make_environments(
        one.cfg, min(tasks, 50), "evaluation", count, tasks=tasks
    )
    keys = setup.task_keys(environments[0])
    starts = [Start(seed, key) for seed, key in enumerate(keys[:tasks])]
    speaking = dict.fromkeys(environments[0].possible_agents, policy)
    return summarize(play(environments, speaking, starts, seed=0, greedy=True))


def record(way: str, one: Lesson, policy: HFPolicy, minutes: float) -> None:
    """Measure a policy and write its row."""
    figures = measure(one, policy)
    row = {
        "way": way,
        "environment": one.name,
        "minutes": minutes,
        "parameters": sum(weights.numel() for weights in policy.model.parameters()),
        "figures": {key: value for key, value in figures.items() if "/" not in key},
    }
    with ROWS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    print(way, one.name, f"{figures.get(RECIPES[one.name].metric, 0.0):.3f}", flush=True)


def main(names: Sequence[str], minutes: float) -> None:
    """Train and measure both ways on some environments; on all if none is named."""
    torch.set_num_threads(1)
    ROWS.parent.mkdir(exist_ok=True)
    lines = ROWS.read_text("utf-8").splitlines() if ROWS.exists() else []
    done = {(row["way"], row["environment"]) for row in map(json.loads, lines)}
    names = names or [*RECIPES]
    for name in names:
        if ("apart", name) not in done:
            one = lesson(name)
            record("apart", one, train([one], SMALL, minutes / len(names)), minutes / len(names))
    if missing := [name for name in names if ("one", name) not in done]:
        lessons = [lesson(name) for name in names]
        policy = train(lessons, LARGE, minutes)
        policy.save(Path("outputs/one_policy"))
        for one in lessons:
            if one.name in missing:
                record("one", one, policy, minutes)


if __name__ == "__main__":
    options = [text for text in sys.argv[1:] if text.startswith("minutes=")]
    chosen = [text for text in sys.argv[1:] if text not in options]
    main(chosen, float(options[-1].partition("=")[2]) if options else MINUTES)
