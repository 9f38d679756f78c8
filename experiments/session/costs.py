"""Costs of a training step: tokens per second and peak memory."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Sequence

import torch

from laconic.learners.episode import Group


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
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux reports kilobytes, macOS bytes.
    return float(peak * (1 if sys.platform == "darwin" else 1024) / 1e9)
