"""Measures what the environment costs, and a training step against its bare model calls.

    laconic measure-speed
    laconic measure-speed -m agent=smollm2 env.rounds=2,8 measure.repetitions=3
    laconic measure-speed -m engine=own,batched agent=smollm2 measure.conversations=64

Environment steps per second with scripted agents, on one core. Answers graded per second, which
does not depend on the environment chosen. The environment's own cost: the share of a training step
that is spent neither in a policy nor in the learner. And the whole step (rollout and update) as a
multiple of its bare calls (`extras.speed.bare_calls`): the two take turns in one process
from the same weights, and ratios are taken pair by pair, because machines are noisy. Beside them
tokens sampled and trained per second, and the memory of a step beyond the model's own.
With `measure.conversations` an engine is timed instead.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig
from rich.console import Console

from laconic import envs
from laconic.envs.errors import SettingError
from laconic.envs.task import Task
from laconic.experiments.command_line.cli import program
from laconic.experiments.reporting.words import text_table
from laconic.experiments.running.costs import now, peak_gigabytes
from laconic.experiments.running.progress import Progress
from laconic.experiments.running.setup import (
    draw_starts,
    make_engine,
    make_environments,
    make_learner,
    make_team,
    set_up_process,
    task_keys,
)
from laconic.extras.speed import check
from laconic.extras.speed.bare_calls import Sample, StepTimer
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.engines.base import Engine
from laconic.learners.episode import Group
from laconic.learners.rollout.play import collect, play

_STARTING = 8
"""Answers per core that are graded before the measured ones, to start what grading needs."""


def rewritten(task: Task) -> str:
    r"""The reference answer of a `math` task, in other words where these take algebra to judge."""
    single = "\\" in task.answer and not any(
        mark in task.answer for mark in ("(", "[", ",", "matrix")
    )
    number = re.fullmatch(r"-?\\frac\{\d+\}\{\d+\}", task.answer)
    return rf"\boxed{{0+{task.answer}}}" if single and not number else task.answer_text


@dataclass(frozen=True, slots=True)
class Grading:
    """A benchmark whose grading takes time."""

    benchmark: str
    """Its name in `envs.benchmark`."""
    label: str
    """How the figure is shown."""
    wanted: float
    """Answers per second, at the least, on two cores."""
    answer: Callable[[Task], str] = attrgetter("answer_text")
    """How a task is answered: rightly, since a wrong answer is often found sooner."""


GRADINGS = {
    "programs_per_second": Grading("humaneval", "HumanEval programs graded per second", 20),
    "math_answers_per_second": Grading("math", "MATH answers graded per second", 200, rewritten),
}
"""Name of the figure in `speed.json` -> what is graded."""


@program("measure_speed")
def main(cfg: DictConfig) -> float:
    """Measure and print; returns the step as a multiple of its bare calls, or tokens by second."""
    check(cfg)
    set_up_process(cfg.threads)
    team, before = make_team(cfg), peak_gigabytes()
    if cfg.measure.conversations is not None:
        return measure_engine(cfg, team)
    count = cfg.train.tasks_per_step * cfg.train.group_size
    timer = StepTimer(cfg, team, make_environments(cfg, count, "train", team))
    samples = []
    with Progress(cfg.measure.repetitions, "measure-speed", life_seconds=20) as progress:
        progress.begin("warm-up" if cfg.measure.warm_up else "step and bare calls")
        for repetition in range(not cfg.measure.warm_up, cfg.measure.repetitions + 1):
            sample = timer.measure(repetition)
            if repetition:
                samples.append(sample)
                progress.update(repetition, {})
            progress.begin("step and bare calls")
        progress.begin("environment and grading")
        figures = {
            "env_steps_per_second": scripted_steps_per_second(cfg),
            **summarize(samples),
            "peak_gigabytes": timer.peak,
            # Of a process that has done other things before, the peak may be that of theirs.
            "gigabytes_beyond_model": max(0.0, timer.peak - timer.own - before),
            **{name: graded_per_second(one, cfg.measure.answers) for name, one in GRADINGS.items()},
        }
    write(figures, Path(HydraConfig.get().runtime.output_dir))
    show(figures)
    return figures["step_over_bare"]


def measure_engine(cfg: DictConfig, team: Any) -> float:
    """Time the engine of the configuration; returns the tokens that it samples a second."""
    folder = Path(HydraConfig.get().runtime.output_dir)
    figures = time_engine(cfg, team, folder)
    write(figures, folder)
    rows = [(name.replace("_", " "), f"{value:,.2f}") for name, value in figures.items()]
    Console().print(text_table("engine", ("figure", "measured"), rows, whole="others"))
    return figures["sampled_tokens_per_second"]


def write(figures: Mapping[str, float], folder: Path) -> None:
    """Keep the figures in the run folder."""
    (folder / "speed.json").write_text(json.dumps(figures, indent=2) + "\n")


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


def graded_per_second(grading: Grading, count: int) -> float:
    """Right answers that are recognised per second, measured on `count` of them.

    Grading that waits for other processes is asked for by a thread per core, as in rollouts.
    """
    graded, cores = envs.benchmark(grading.benchmark), os.cpu_count() or 1
    tasks = graded.generate(0, count + _STARTING * cores)

    def solved(task: Task) -> bool:
        return graded.score(task, {f"{graded.roles[0]}_1": grading.answer(task)}).solved

    with ThreadPoolExecutor(cores if graded.slow else 1) as threads:
        list(threads.map(solved, tasks[count:]))
        begun = time.perf_counter()
        right = sum(threads.map(solved, tasks[:count]))
        return right / (time.perf_counter() - begun)


def summarize(samples: Sequence[Sample]) -> dict[str, float]:
    """Medians over the repetitions, and a bootstrap interval for that of the ratio."""
    ratios = np.array([sample.step / sample.bare for sample in samples])
    # Not `scipy.stats.bootstrap`, which refuses a single repetition.
    draws = np.random.default_rng(0).choice(ratios, size=(2000, len(ratios)))
    low, high = np.percentile(np.median(draws, axis=1), (2.5, 97.5))
    return {
        "step_seconds": median(sample.step for sample in samples),
        "bare_seconds": median(sample.bare for sample in samples),
        "step_over_bare": float(np.median(ratios)),
        "step_over_bare_low": float(low),
        "step_over_bare_high": float(high),
        "environment_share": median(sample.environment / sample.step for sample in samples),
        "sampled_tokens_per_second": median(sample.sampled for sample in samples),
        "trained_tokens_per_second": median(sample.trained for sample in samples),
        "repetitions": len(samples),
    }


def show(figures: Mapping[str, float]) -> None:
    """Print the figures with what they should be."""
    low, high = figures["step_over_bare_low"], figures["step_over_bare_high"]
    ratio = f"{figures['step_over_bare']:.2f} ({low:.2f} to {high:.2f})"
    share = f"{figures['environment_share']:.1%}"
    rows = [
        ("environment steps per second", f"{figures['env_steps_per_second']:,.0f}", ""),
        ("environment's share of a training step", share, "<= 3 %"),
        ("training step over its bare calls", ratio, "<= 1.15"),
        ("seconds per training step", f"{figures['step_seconds']:.2f}", ""),
        ("tokens sampled per second", f"{figures['sampled_tokens_per_second']:,.0f}", ""),
        ("tokens trained per second", f"{figures['trained_tokens_per_second']:,.0f}", ""),
        ("peak memory of a step, GB", f"{figures['peak_gigabytes']:.2f}", ""),
        ("beyond the model's own, GB", f"{figures['gigabytes_beyond_model']:.2f}", ""),
    ]
    for name, one in GRADINGS.items():
        rows.append((one.label, f"{figures[name]:.0f}", f">= {one.wanted:g}"))
    Console().print(text_table("cost", ("figure", "measured", "wanted"), rows, whole="others"))


if __name__ == "__main__":
    main()


PARTS = ("rollout", "update", "sync")
"""Of a step that are timed."""


class Watch:
    """Seconds, and seconds of processors, between one look and the next."""

    def __init__(self, engine: Engine) -> None:
        """Begin now."""
        self._psutil = require_psutil()
        # A server that was there before belongs to somebody else.
        self._counts = not engine.keeps_copies or getattr(engine, "start", False)
        self._last = self._read()

    def look(self, name: str) -> dict[str, float]:
        """What went by since the last look, as `<name>_seconds` and `<name>_cpu_seconds`."""
        last, self._last = self._last, self._read()
        wall, processor = (after - before for before, after in zip(last, self._last, strict=True))
        found = {f"{name}_seconds": wall}
        return found | ({f"{name}_cpu_seconds": processor} if self._counts else {})

    def _read(self) -> tuple[float, float]:
        started = self._psutil.Process().children(recursive=True) if self._counts else []
        return now(), time.process_time() + sum(map(self._processor_seconds, started))

    def _processor_seconds(self, process: Any) -> float:
        try:
            taken = process.cpu_times()
        except self._psutil.Error:
            return 0.0
        return float(taken.user + taken.system)


def require_psutil() -> Any:
    """The package that knows the processes of a machine, if it is installed.

    Raises:
        SettingError: it is not.
    """
    try:
        import psutil
    except ImportError as error:
        raise SettingError(
            "measure.conversations needs the package psutil: pip install 'laconic[engines]'"
        ) from error
    return psutil


def time_engine(cfg: DictConfig, team: Any, folder: Path) -> dict[str, float]:
    """Play so many conversations with the engine of a configuration, and learn from them.

    Args:
        cfg: of `measure-speed`; `measure.conversations` of all agents together, rounded up to whole
            groups.
        team: builds the policies.
        folder: of the run.
    """
    (one,) = make_environments(cfg, 1, "train", team)
    agents, size = len(one.possible_agents), cfg.train.group_size
    tasks = -(-cfg.measure.conversations // (agents * size))
    environments = [one, *make_environments(cfg, tasks * size - 1, "train", team)]
    policies = team.policies(one)
    learner = make_learner(cfg, policies)
    starts = draw_starts(task_keys(one), tasks, cfg.seed, 1)
    with make_engine(cfg) as engine:
        engine.open(policies, folder)
        watch = Watch(engine)
        engine.sync()
        found = watch.look("first_sync")
        groups = collect(environments, policies, starts, size, seed=cfg.seed)
        found |= watch.look("rollout") | counts(groups)
        learner.update(groups)
        found |= watch.look("update")
        engine.sync()
        found |= watch.look("sync")
    return found | rates(found)


def counts(groups: Sequence[Group]) -> dict[str, float]:
    """Conversations, and tokens that were sampled in them."""
    episodes = [episode for group in groups for episode in group.episodes]
    turns = [turn for episode in episodes for turn in episode.turns]
    return {
        "conversations": float(sum(len({turn.agent for turn in one.turns}) for one in episodes)),
        "sampled_tokens": float(sum(len(turn.reply_ids) for turn in turns)),
    }


def rates(found: Mapping[str, float]) -> dict[str, float]:
    """Tokens sampled by time, and the time of a step: play, update, and weights handed on."""
    rated = {}
    for second in ("second", "cpu_second"):
        if f"rollout_{second}s" in found:
            taken = {part: found[f"{part}_{second}s"] for part in PARTS}
            rated[f"sampled_tokens_per_{second}"] = found["sampled_tokens"] / taken["rollout"]
            rated[f"step_{second}s"] = sum(taken.values())
    return rated
