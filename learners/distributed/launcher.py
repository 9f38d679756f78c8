"""Environment variables of a launcher, read before torch or accelerate is imported."""

from __future__ import annotations

import os


def started() -> int:
    """Return how many processes a launcher has started; 1 without a launcher."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "LOCAL_RANK" in os.environ else 1


def rank() -> int:
    """Return the index of this process, from 0."""
    return int(os.environ.get("RANK", "0")) if started() > 1 else 0


def left_alone() -> bool:
    """Return whether accelerate's launcher started one process only, on a machine without GPUs.

    There it accepts a number of processes, and does not say that it starts one.
    """
    if "ACCELERATE_MIXED_PRECISION" not in os.environ or started() > 1:
        return False
    import torch

    return not torch.cuda.is_available()
