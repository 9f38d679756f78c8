"""Costs of a training: tokens per second, peak memory, and a forecast of its time."""

from __future__ import annotations

import re
import resource
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from math import ceil
from pathlib import Path

import torch

from laconic.experiments.session.progress import duration
from laconic.experiments.session.training_run import TrainingRun
from laconic.learners.agents.policy import HFPolicy
from laconic.learners.episode import Group
from laconic.learners.rollout.play import play

LARGE = 50_000_000
"""Parameters from which the time of a run is worth a forecast."""
TRIED = 8
"""Episodes that a forecast plays."""
TOGETHER = 256
"""Episodes that a GPU plays in the time of a few: on one H200 with Qwen3-0.6B's shape, rollouts of
256 took 13 to 21 s, and an evaluation of 16 took 25 s."""
STEP_OVER_ROLLOUT = 3.0
"""Time of a step over that of its rollout; 2.2 to 3.9 in trainings of SmolLM2 on
processor cores."""
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.M)


def now() -> float:
    """Read the clock after the GPU has finished its queue; seconds since an arbitrary moment."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def tokens_per_second(groups: Sequence[Group], rollout: float, update: float) -> dict[str, float]:
    """Return sampled tokens per second of rollout, and all tokens per second of update.

    Empty if no reply has tokens.
    """
    turns = [turn for group in groups for episode in group.episodes for turn in episode.turns]
    said = sum(len(turn.reply_ids) for turn in turns)
    read = sum(len(turn.prompt_ids) for turn in turns)
    if not said:
        return {}
    return {
        "time/sampled_tokens_per_second": said / rollout,
        "time/trained_tokens_per_second": (said + read) / update,
    }


def peak_gigabytes() -> float:
    """Return the peak memory of this process in GB: of its GPU if it has one, else of the host."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 1e9
    # A program that another one starts has that one's peak in `ru_maxrss`.
    with suppress(OSError, ValueError):
        (kilobytes,) = _PEAK.findall(Path("/proc/self/status").read_text("utf-8"))
        return int(kilobytes) * 1024 / 1e9
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux reports kilobytes, macOS bytes.
    return float(peak * (1 if sys.platform == "darwin" else 1024) / 1e9)


def forecast(run: TrainingRun) -> str:
    """Say how long a step and the whole run of a large model take; empty for small models.

    It plays a few evaluation tasks. Only one process with its own engine can try.
    """
    models = {id(each): each.model for each in run.policies.values() if isinstance(each, HFPolicy)}
    sizes = [sum(weights.numel() for weights in model.parameters()) for model in models.values()]
    alone = run.processes.count == 1 and not run.engine.keeps_copies
    if not alone or max(sizes, default=0) < LARGE or not run.starts:
        return ""
    run.phase = "trying some tasks", time.monotonic()
    starts, began = run.starts[:TRIED], time.perf_counter()
    with run.cuttable():
        play(run.evaluation, run.policies, starts, seed=0, greedy=True)
    seconds = time.perf_counter() - began
    if any(model.device.type == "cuda" for model in models.values()):
        return describe_forecast(run, seconds, TOGETHER)
    return describe_forecast(run, seconds / len(starts))


def describe_forecast(run: TrainingRun, seconds: float, together: int = 1) -> str:
    """Describe the time of a run that plays `together` episodes in this number of seconds."""
    settings = run.cfg.train
    batches = ceil(settings.tasks_per_step * settings.group_size / together)
    step = STEP_OVER_ROLLOUT * seconds * batches
    evaluation = seconds * ceil(len(run.starts) / together)
    whole = step * run.total + 2 * evaluation
    return (
        f"about {duration(step)} for a step of {settings.tasks_per_step} tasks x"
        f" {settings.group_size} episodes, {duration(evaluation)} for an evaluation of"
        f" {len(run.starts)} tasks, and {duration(whole)} in all; train.steps, evaluation.tasks and"
        " train.minutes make a run shorter"
    )
