"""What share of its weights an update has changed, which small steps in coarse numbers do not."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from laconic.learners.distributed.processes import Processes

SAMPLED = 4096
"""About as many numbers of each tensor are looked at."""


class Changes:
    """Compares weights with what they were, those that any step of the update had a gradient for.

    Others, such as the embeddings of words that did not occur, no step was to change.
    """

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        """Remember a sample of every tensor."""
        self._parameters = list(parameters)
        self._before = [_sample(one).clone() for one in self._parameters]
        self._moved = [torch.zeros_like(one, dtype=torch.bool) for one in self._before]

    def note_gradients(self) -> None:
        """Take in which weights the step that is about to be taken has a gradient for."""
        for parameter, moved in zip(self._parameters, self._moved, strict=True):
            if parameter.grad is not None:
                moved |= _sample(parameter.grad) != 0

    def share(self, processes: Processes) -> float | None:
        """Share of those weights that are not what they were; None where there are none."""
        changed = moved = 0.0
        for parameter, before, had in zip(self._parameters, self._before, self._moved, strict=True):
            changed += float(((_sample(parameter) != before) & had).sum())
            moved += float(had.sum())
        sums = processes.total({"changed": changed, "moved": moved})
        return sums["changed"] / sums["moved"] if sums["moved"] else None


def _sample(tensor: Tensor) -> Tensor:
    """Evenly spaced numbers of a tensor, or of this process's part of it."""
    local = tensor.to_local() if hasattr(tensor, "to_local") else tensor  # type: ignore[operator]
    flat = local.detach().reshape(-1)
    return flat[:: max(1, flat.numel() // SAMPLED)]
