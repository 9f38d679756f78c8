"""Fraction of weights an update changed; bfloat16 may round small steps to zero."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from laconic.learners.distributed.processes import Processes

SAMPLED = 4096
"""Number of entries sampled from each tensor, about."""


class Changes:
    """Compares weights before and after an update, as far as some step had a gradient for them.

    Other weights, such as the embeddings of words that did not occur, cannot change.
    """

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        """Store a sample of every tensor."""
        self._parameters = list(parameters)
        self._before = [_sample(parameter).clone() for parameter in self._parameters]
        self._moved = [torch.zeros_like(sample, dtype=torch.bool) for sample in self._before]

    def note_gradients(self) -> None:
        """Record which weights the next step has a gradient for."""
        for parameter, moved in zip(self._parameters, self._moved, strict=True):
            if parameter.grad is not None:
                moved |= _sample(parameter.grad) != 0

    def fraction(self, processes: Processes) -> float | None:
        """Return the fraction of those weights that changed; None if there are none."""
        changed = moved = 0.0
        for parameter, before, had in zip(self._parameters, self._before, self._moved, strict=True):
            changed += float(((_sample(parameter) != before) & had).sum())
            moved += float(had.sum())
        sums = processes.total({"changed": changed, "moved": moved})
        return sums["changed"] / sums["moved"] if sums["moved"] else None


def _sample(tensor: Tensor) -> Tensor:
    """Return evenly spaced entries of a tensor, or of this process's shard of it."""
    local = tensor.to_local() if hasattr(tensor, "to_local") else tensor  # type: ignore[operator]
    flat = local.detach().reshape(-1)
    return flat[:: max(1, flat.numel() // SAMPLED)]
