"""Measure the cost of the environment, and of a training step against its bare model calls.

    laconic measure-speed
    laconic measure-speed measure.environments=all
    laconic measure-speed -m agent=smollm2 env.rounds=2,8 measure.repetitions=3
    laconic measure-speed -m engine=own,batched agent=smollm2 measure.conversations=64

The program measures:

- environment steps per second with scripted agents, on one core;
- answers graded per second, for two benchmarks;
- the share of a training step that is spent neither in a policy nor in the learner;
- a training step (rollout and update) over its bare calls (`extras.speed.bare_calls`). The two take
  turns from the same weights, and ratios are taken in pairs, because machines are noisy;
- tokens sampled and trained per second, and the memory of a step beyond that of the model.

With `measure.environments` it measures several environments, each in a process of its own, and
writes one table. With `measure.conversations` it times an engine instead: sampling, and the whole
step around it, on conversations of a training. Processor time is that of this process and of all
that it started. The time of a server that was already running is unknown and left out.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
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
from laconic.envs.errors import SettingError, install
from laconic.envs.task import Task
from laconic.experiments.command_line.cli import program
from laconic.experiments.run_folder.folder import strict
from laconic.experiments.session.costs import now
from laconic.experiments.session.progress import Progress
from laconic.experiments.session.setup import (
    draw_starts,
    make_engine,
    make_environments,
    make_learner,
    make_team,
    set_up_process,
    task_keys,
)
from laconic.experiments.statistics.words import text_table
from laconic.extras.speed import check, environments
from laconic.extras.speed.bare_calls import Sample, StepTimer
from laconic.learners.agents.scripted import ScriptedTeam
from laconic.learners.engines.base import Engine
from laconic.learners.episode import Group
from laconic.learners.rollout.play import collect, play

_STARTING = 8
"""Number of answers per core that are graded first, to start the processes of graders."""


def rewritten(task: Task) -> str:
    r"""Return the reference answer of a `math` task in a form that takes algebra to judge."""
    single = "\\" in task.answer and not any(
        mark in task.answer for mark in ("(", "[", ",", "matrix")
    )
    number = re.fullmatch(r"-?\\frac\{\d+\}\{\d+\}", task.answer)
    return rf"\boxed{{0+{task.answer}}}" if single and not number else task.answer_text


@dataclass(frozen=True, slots=True)
class Grading:
    """Benchmark whose grading is timed."""

    benchmark: str
    """Name of the benchmark."""
    label: str
    """Label of the figure."""
    target: float
    """Target number of answers per second, on two cores."""
    answer: Callable[[Task], str] = attrgetter("answer_text")
    """Function that answers a task correctly; wrong answers are often graded faster."""


GRADINGS = {
    "programs_per_second": Grading("humaneval", "HumanEval programs graded per second", 20),
    "math_answers_per_second": Grading("math", "MATH answers graded per second", 200, rewritten),
}
"""Name of the figure in `speed.json` -> benchmark."""


@program("measure_speed")
def main(cfg: DictConfig) -> float:
    """Measure and print; return the ratio of step to bare calls.

    Several environments return their largest share of a step, and an engine its tokens per second.
    """
    check(cfg)
    if names := environments(cfg):
        return measure_environments(names)
    set_up_process(cfg.threads)
    team = make_team(cfg)
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
            "parameters": timer.parameters,
            "peak_gigabytes": timer.peak,
            "gigabytes_beyond_model": timer.beyond["step"],
            "bare_gigabytes_beyond_model": timer.beyond["bare"],
            **{
                name: graded_per_second(grading, cfg.measure.answers)
                for name, grading in GRADINGS.items()
            },
        }
    write(figures, Path(HydraConfig.get().runtime.output_dir))
    show(figures)
    return figures["step_over_bare"]


COLUMNS: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "env_steps_per_second": ("scripted steps/s", "{:,.0f}".format),
    "step_seconds": ("s/step", "{:.2f}".format),
    "environment_share": ("its share", "{:.1%}".format),
    "step_over_bare": ("step/bare", "{:.2f}".format),
    "sampled_tokens_per_second": ("sampled tokens/s", "{:,.0f}".format),
}
"""Figure in `speed.json` -> column and form in the table of environments."""


def measure_environments(names: Sequence[str]) -> float:
    """Measure each environment in a process of its own, with the settings of this one.

    Args:
        names: environments.

    Returns:
        The largest share of a training step that an environment takes.

    Raises:
        SettingError: the measurement of an environment failed.
    """
    hydra = HydraConfig.get()
    own = ("measure.environments=", "env=")
    typed = [text for text in hydra.overrides.task if not text.startswith(own)]
    figures: dict[str, dict[str, float]] = {}
    for name in names:
        folder = Path(hydra.runtime.output_dir) / name
        words = [*typed, f"env={name}", f"hydra.run.dir={folder}"]
        command = [sys.executable, "-m", "laconic", "measure-speed", *words]
        if subprocess.run(command, check=False).returncode:
            raise SettingError(
                f"env={name} could not be measured (its message is above); name other"
                " environments in measure.environments"
            )
        figures[name] = json.loads((folder / "speed.json").read_text("utf-8"))
    rows = [
        (name, *(form(measured[key]) for key, (_, form) in COLUMNS.items()))
        for name, measured in figures.items()
    ]
    heads = ("environment", *(head for head, _ in COLUMNS.values()))
    Console().print(text_table("environments", heads, rows, whole="first"))
    write(figures, Path(hydra.runtime.output_dir))
    return max(measured["environment_share"] for measured in figures.values())


def measure_engine(cfg: DictConfig, team: Any) -> float:
    """Time the engine of the configuration; return the tokens that it samples per second."""
    folder = Path(HydraConfig.get().runtime.output_dir)
    figures = time_engine(cfg, team, folder)
    write(figures, folder)
    rows = [(name.replace("_", " "), f"{value:,.2f}") for name, value in figures.items()]
    Console().print(text_table("engine", ("figure", "measured"), rows, whole="others"))
    return figures["sampled_tokens_per_second"]


def write(figures: Mapping[str, Any], folder: Path) -> None:
    """Write the figures into the run folder; what could not be measured is null."""
    (folder / "speed.json").write_text(json.dumps(strict(figures), indent=2) + "\n")


def scripted_steps_per_second(cfg: DictConfig) -> float:
    """Return the environment steps per second of one process with agents that say random words."""
    team = ScriptedTeam("random")
    [environment] = make_environments(cfg, 1, "train", team, instructions="full")
    starts = draw_starts((), cfg.measure.episodes, cfg.seed, 0)
    policies = team.policies(environment)
    messages = [
        [turn.message for turn in episode.turns]
        for episode in play([environment], policies, starts[:100], seed=cfg.seed)
    ]
    started, steps = time.perf_counter(), 0
    for number, start in enumerate(starts):
        environment.reset(seed=start.seed)
        words = messages[number % len(messages)]
        while environment.agents:
            environment.step(dict(zip(environment.agents, words, strict=False)))
            steps += 1
    return steps / (time.perf_counter() - started)


def graded_per_second(grading: Grading, count: int) -> float:
    """Return the number of correct answers that are graded per second, over `count` answers.

    Slow graders wait for other processes, so one thread per core asks them, as in rollouts.
    """
    graded, cores = envs.benchmark(grading.benchmark), os.cpu_count() or 1
    tasks = graded.generate(0, count + _STARTING * cores)

    def solved(task: Task) -> bool:
        return bool(graded.score(task, {f"{graded.roles[0]}_1": grading.answer(task)}).solved)

    with ThreadPoolExecutor(cores if graded.slow else 1) as threads:
        list(threads.map(solved, tasks[count:]))
        started = time.perf_counter()
        right = sum(threads.map(solved, tasks[:count]))
        return right / (time.perf_counter() - started)


def summarize(samples: Sequence[Sample]) -> dict[str, float]:
    """Return medians over the repetitions, with a bootstrap interval of the ratio."""
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
    """Print the figures with their targets."""
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
        ("the same of its bare calls, GB", f"{figures['bare_gigabytes_beyond_model']:.2f}", ""),
    ]
    for name, grading in GRADINGS.items():
        rows.append((grading.label, f"{figures[name]:.0f}", f">= {grading.target:g}"))
    Console().print(text_table("cost", ("figure", "measured", "target"), rows, whole="others"))


PARTS = ("rollout", "update", "sync")
"""Timed parts of a step."""


class Stopwatch:
    """Stopwatch of wall-clock and processor seconds."""

    def __init__(self, engine: Engine) -> None:
        """Start now."""
        self._psutil = require_psutil()
        # A server that this process did not start is not counted.
        self._counts = not engine.keeps_copies or getattr(engine, "start", False)
        self._last = self._read()

    def lap(self, name: str) -> dict[str, float]:
        """Return the time since the last lap, as `<name>_seconds` and `<name>_cpu_seconds`."""
        last, self._last = self._last, self._read()
        wall, processor = (after - before for before, after in zip(last, self._last, strict=True))
        lap = {f"{name}_seconds": wall}
        return lap | ({f"{name}_cpu_seconds": processor} if self._counts else {})

    def _read(self) -> tuple[float, float]:
        started = self._psutil.Process().children(recursive=True) if self._counts else []
        return now(), time.process_time() + sum(map(self._processor_seconds, started))

    def _processor_seconds(self, process: Any) -> float:
        try:
            times = process.cpu_times()
        except self._psutil.Error:
            return 0.0
        return float(times.user + times.system)


def require_psutil() -> Any:
    """Return the package psutil.

    Raises:
        SettingError: it is not installed.
    """
    try:
        import psutil
    except ImportError as error:
        raise SettingError(
            f"measure.conversations needs the package psutil: {install('engines')}"
        ) from error
    return psutil


def time_engine(cfg: DictConfig, team: Any, folder: Path) -> dict[str, float]:
    """Play conversations with the engine of a configuration, learn from them, and time both.

    The episodes of a group share a task, so conversations have common beginnings, as in training.

    Args:
        cfg: configuration; `measure.conversations` counts those of all agents, rounded up to whole
            groups.
        team: builder of the policies.
        folder: run folder.
    """
    (environment,) = make_environments(cfg, 1, "train", team)
    agents, size = len(environment.possible_agents), cfg.train.group_size
    tasks = -(-cfg.measure.conversations // (agents * size))
    environments = [environment, *make_environments(cfg, tasks * size - 1, "train", team)]
    policies = team.policies(environment)
    learner = make_learner(cfg, policies)
    starts = draw_starts(task_keys(environment), tasks, cfg.seed, 1)
    with make_engine(cfg) as engine:
        engine.open(policies, folder)
        watch = Stopwatch(engine)
        engine.sync()
        figures = watch.lap("first_sync")
        groups = collect(environments, policies, starts, size, seed=cfg.seed)
        figures |= watch.lap("rollout") | counts(groups)
        learner.update(groups)
        figures |= watch.lap("update")
        engine.sync()
        figures |= watch.lap("sync")
    return figures | rates(figures)


def counts(groups: Sequence[Group]) -> dict[str, float]:
    """Return the numbers of conversations and of sampled tokens."""
    episodes = [episode for group in groups for episode in group.episodes]
    turns = [turn for episode in episodes for turn in episode.turns]
    return {
        "conversations": float(
            sum(len({turn.agent for turn in episode.turns}) for episode in episodes)
        ),
        "sampled_tokens": float(sum(len(turn.reply_ids) for turn in turns)),
    }


def rates(figures: Mapping[str, float]) -> dict[str, float]:
    """Return the sampled tokens per second, and the seconds of a step: rollout, update, sync."""
    rated = {}
    for second in ("second", "cpu_second"):
        if f"rollout_{second}s" in figures:
            seconds = {part: figures[f"{part}_{second}s"] for part in PARTS}
            rated[f"sampled_tokens_per_{second}"] = figures["sampled_tokens"] / seconds["rollout"]
            rated[f"step_{second}s"] = sum(seconds.values())
    return rated


if __name__ == "__main__":
    main()
