"""What a step of training costs: tokens by the second, and the most memory that was held."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Sequence

import torch

from laconic.learners.episode import Group


def now() -> float:
    """Seconds since some moment, read when the GPU has done all that it was told to do."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def tokens_per_second(groups: Sequence[Group], rollout: float, update: float) -> dict[str, float]:
    """Tokens of replies by the time of their sampling, and all tokens by that of the update.

    Empty where nobody speaks in tokens.
    """
    turns = [turn for group in groups for one in group.episodes for turn in one.turns]
    said = sum(len(turn.reply_ids) for turn in turns)
    read = sum(len(turn.prompt_ids) for turn in turns)
    if not said:
        return {}
    return {
        "time/sampled_tokens_per_second": said / rollout,
        "time/trained_tokens_per_second": (said + read) / update,
    }


def peak_gigabytes() -> float:
    """The most memory of this process so far: of its GPU where it has one, else of the machine."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 1e9
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Kilobytes, but on a Mac bytes.
    return float(peak * (1 if sys.platform == "darwin" else 1024) / 1e9)
