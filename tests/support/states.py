"""Whether two states of a learner are one."""

from __future__ import annotations

from typing import Any

import torch


def alike(one: Any, other: Any) -> bool:
    """Equal to the last bit, in every tensor of two states."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other)
