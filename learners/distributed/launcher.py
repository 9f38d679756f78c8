"""What a launcher has told this process of the others; read from the environment alone.

Knows neither torch nor accelerate, so that a program can ask before it imports them.
"""

from __future__ import annotations

import os


def started() -> int:
    """How many processes a launcher has started; 1 without a launcher."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "LOCAL_RANK" in os.environ else 1


def rank() -> int:
    """Which of them this one is, from 0."""
    return int(os.environ.get("RANK", "0")) if started() > 1 else 0


def left_alone() -> bool:
    """Whether accelerate's launcher started this process and no other, on a machine without GPUs.

    It takes a number of processes there, and does not say that it starts one.
    """
    if "ACCELERATE_MIXED_PRECISION" not in os.environ or started() > 1:
        return False
    import torch

    return not torch.cuda.is_available()
