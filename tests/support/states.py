"""Whether two states of a learner are one."""

from __future__ import annotations

from typing import Any

import torch


def alike(first: Any, second: Any) -> bool:
    """Return whether two states are equal to the last bit."""
    if isinstance(first, torch.Tensor):
        return torch.equal(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(alike(first[k], second[k]) for k in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(alike, first, second))
    return bool(first == second)
