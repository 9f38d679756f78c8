"""Makes the tiny policy: a tokenizer, a model, and supervised learning on scripted conversations.

    laconic warm-start

A teacher that is wordy on purpose plays the environment; a fresh model learns to speak like it.
Left out: no learning from reward, no data but what the benchmark generates, no resume (the run is
short). What it makes is a folder that stock `transformers` loads, with the log and the final
figures in it.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from laconic.envs.dialogue import DialogueEnv
from laconic.envs.errors import SettingError
from laconic.experiments.command_line.cli import program
from laconic.experiments.running.evaluation import evaluation_starts
from laconic.experiments.running.progress import Progress
from laconic.experiments.running.setup import check_counts, set_up_process
from laconic.learners.agents.base import Policy
from laconic.learners.agents.chat import tokenize_with
from laconic.learners.agents.hf import HFPolicy, SamplingSettings
from laconic.learners.agents.scripted import ScriptedPolicy
from laconic.learners.agents.tiny.build import SILENCE, build_model, build_tokenizer
from laconic.learners.algorithms.imitation import Demonstrator, demonstrations, imitation_loss
from laconic.learners.metrics import prefixed, summarise
from laconic.learners.rollout.play import Start, play
from laconic.learners.training.sequences import TokenSequence


@program("warm_start")
def main(cfg: DictConfig) -> float:
    """Make the policy that the configuration describes; returns the team's accuracy."""
    started = time.monotonic()
    check(cfg)
    set_up_process(cfg.threads)
    folder = _make_folder(cfg.output)
    teacher = instantiate(cfg.teacher)
    environments = [
        instantiate(cfg.env, split="train", _convert_="all") for _ in range(cfg.episodes_per_step)
    ]
    tokenizer = build_tokenizer(_texts(environments, teacher, cfg), cfg.shape.vocabulary)
    model = build_model(tokenizer, instantiate(cfg.shape), cfg.seed)
    most = cfg.max_reply_tokens
    speech = SamplingSettings(silence=SILENCE, explain_silence=False, max_reply_tokens=most)
    policy = HFPolicy(model, tokenizer, speech)
    demonstrator = Demonstrator(ScriptedPolicy(teacher, environments[0].tasks), policy)
    batches = _batches(environments, demonstrator, cfg)
    log = _learn(policy, batches, cfg)
    figures = _evaluate(policy, cfg)
    figures["parameters"] = sum(parameter.numel() for parameter in model.parameters())
    figures["minutes"] = round((time.monotonic() - started) / 60, 1)
    _write(folder, policy, cfg, log, figures)
    print(json.dumps(figures, indent=2))
    print(f"policy written to {folder}")
    return float(figures["greedy/accuracy"])


def check(cfg: DictConfig) -> None:
    """Refuse counts that are out of range before anything is built."""
    own = ("steps", "episodes_per_step", "microbatches", "warmup", "log_every", "log_tasks")
    ones = ("threads", "evaluation.tasks", "evaluation.batch", *own)
    check_counts(cfg, {"seed": 0, **dict.fromkeys(ones, 1)}, optional=("threads",))


def _make_folder(output: str) -> Path:
    """The folder of the policy, made before the work that it is to hold."""
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(
            f"output must be a folder that can be written to; got {output!r} ({error.strerror})"
        ) from error
    return folder


def _texts(environments: Sequence[DialogueEnv], teacher: Any, cfg: DictConfig) -> Iterator[str]:
    """What agents read and say in some demonstrated episodes, for the tokenizer to learn from."""
    policy = ScriptedPolicy(teacher, environments[0].tasks)
    for environment, start in zip(environments, _starts(cfg, -1), strict=True):
        observations, infos = environment.reset(seed=start.seed)
        yield from (observation["text"] for observation in observations.values())
        yield environment.task.text
    agents = environments[0].possible_agents
    for episode in play(environments, dict.fromkeys(agents, policy), _starts(cfg, -1), seed=0):
        yield from (turn.message for turn in episode.turns)


def _starts(cfg: DictConfig, step: int) -> list[Start]:
    seeds = np.random.default_rng((cfg.seed, step + 1)).integers(2**31, size=cfg.episodes_per_step)
    return [Start(int(seed)) for seed in seeds]


def _batches(
    environments: Sequence[DialogueEnv], demonstrator: Policy, cfg: DictConfig
) -> Iterator[list[TokenSequence]]:
    """One list of demonstrated conversations per training step."""
    policies = dict.fromkeys(environments[0].possible_agents, demonstrator)
    answering = set(environments[0].answering)
    generator = random.Random(cfg.seed)
    for step in range(cfg.steps):
        episodes = play(environments, policies, _starts(cfg, step), seed=step)
        yield [
            sequence
            for sequence in demonstrations(episodes)
            if sequence.agent in answering or generator.random() < cfg.others
        ]


def _learn(
    policy: HFPolicy, batches: Iterator[list[TokenSequence]], cfg: DictConfig
) -> list[dict[str, float]]:
    optimizer = torch.optim.AdamW(policy.model.parameters(), lr=cfg.lr, weight_decay=cfg.decay)
    log = []
    with Progress(cfg.steps, "warm start") as progress:
        for step, batch in enumerate(batches, start=1):
            rate = cfg.lr * _schedule(step, cfg.steps, cfg.warmup)
            for group in optimizer.param_groups:
                group["lr"] = rate
            loss = _imitate(policy, batch, optimizer, cfg.microbatches)
            progress.update(step, {"loss": loss})
            if step % cfg.log_every == 0 or step == cfg.steps:
                policy.save(Path(cfg.output))
                told = _accuracy_when_told(policy, cfg, cfg.log_tasks)
                log.append({"step": step, "loss": loss, "lr": rate, "accuracy_when_told": told})
                progress.note(f"step {step}: solves {told:.1%} when told all, loss {loss:.4f}")
    return log


def _imitate(
    policy: HFPolicy,
    sequences: Sequence[TokenSequence],
    optimizer: torch.optim.Optimizer,
    microbatches: int,
) -> float:
    optimizer.zero_grad(set_to_none=True)
    ordered = sorted(sequences, key=lambda one: len(one.token_ids))
    total = 0.0
    for part in np.array_split(np.arange(len(ordered)), microbatches):
        if len(part):
            loss = imitation_loss(policy, [ordered[i] for i in part]) / microbatches
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
    torch.nn.utils.clip_grad_norm_(policy.model.parameters(), 1.0)
    optimizer.step()
    return total


def _schedule(step: int, steps: int, warmup: int) -> float:
    """Linear warm-up, then a half cosine down to a twentieth."""
    if step <= warmup:
        return step / warmup
    part = (step - warmup) / max(steps - warmup, 1)
    return 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * part))


def _environments(policy: HFPolicy, cfg: DictConfig, tasks: int) -> list[DialogueEnv]:
    tokenize = tokenize_with(policy.tokenizer)
    return [
        instantiate(cfg.env, split="evaluation", tasks=tasks, tokenize=tokenize, _convert_="all")
        for _ in range(min(cfg.evaluation.batch, tasks))
    ]


def _accuracy_when_told(policy: HFPolicy, cfg: DictConfig, tasks: int) -> float:
    """How often the answering agents are right when every other agent says all it knows."""
    environments = _environments(policy, cfg, tasks)
    first = environments[0]
    # In the teacher's own wordings; others the policy has never read.
    manner = {"terse": 0.0, "silent_informed": 0.0, "silent_uninformed": 0.0}
    verbose = ScriptedPolicy(instantiate(cfg.teacher, **manner), first.tasks)
    team = {
        agent: policy if agent in first.answering else verbose for agent in first.possible_agents
    }
    episodes = play(environments, team, evaluation_starts(environments), seed=0, greedy=True)
    return summarise(episodes)["accuracy"]


def _evaluate(policy: HFPolicy, cfg: DictConfig) -> dict[str, float]:
    """Figures of the team, greedy and sampled, and of its answerer when told all."""
    environments = _environments(policy, cfg, cfg.evaluation.tasks)
    team = dict.fromkeys(environments[0].possible_agents, policy)
    starts = evaluation_starts(environments)
    greedy = summarise(play(environments, team, starts, seed=0, greedy=True))
    sampled = summarise(play(environments, team, starts, seed=0))
    return {
        "tasks": len(starts),
        "accuracy_when_told": _accuracy_when_told(policy, cfg, cfg.evaluation.tasks),
        **prefixed(greedy, "greedy/"),
        **prefixed(sampled, "sampled/"),
    }


def _write(
    folder: Path,
    policy: HFPolicy,
    cfg: DictConfig,
    log: Sequence[Mapping[str, float]],
    figures: Mapping[str, float],
) -> None:
    policy.save(folder)
    # Where it was written is no part of how it was made.
    recipe = {name: value for name, value in cfg.items() if name != "output"}
    OmegaConf.save(recipe, folder / "recipe.yaml")
    (folder / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in log))
    (folder / "figures.json").write_text(json.dumps(dict(figures), indent=2) + "\n")


if __name__ == "__main__":
    main()
