"""Minibatches cut into forward passes that fit the memory, and their metrics put together again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from statistics import fmean

import torch
from torch import Tensor
from torch.nn.functional import pad

from laconic.learners.distributed.processes import Processes
from laconic.learners.training.objective import LossInputs
from laconic.learners.training.sequences import TokenSequence

_LIKE_LENGTH = 1.5
"""Sequences go through one forward pass while the longest is at most so many times the shortest."""


def microbatches(sequences: Sequence[TokenSequence], max_tokens: int) -> list[list[TokenSequence]]:
    """Cut a minibatch into forward passes of sequences of like length, which need little padding.

    Args:
        sequences: of one minibatch.
        max_tokens: most tokens, padding included, of a part; a longer sequence is one by itself.
    """
    parts: list[list[TokenSequence]] = []
    for sequence in sorted(sequences, key=lambda one: len(one.token_ids)):
        length = len(sequence.token_ids)
        fits = parts and length * (len(parts[-1]) + 1) <= max_tokens
        if fits and length <= _LIKE_LENGTH * len(parts[-1][0].token_ids):
            parts[-1].append(sequence)
        else:
            parts.append([sequence])
    return parts


def passes(
    sequences: Sequence[TokenSequence], max_tokens: int, processes: Processes
) -> list[tuple[list[TokenSequence], float]]:
    """The forward passes that this process makes for a minibatch of all processes.

    Sequences are dealt out by length, so that each has as many as others, and as long ones. Equal
    ones stay together, because a pass takes them through the model once.

    Args:
        sequences: of one minibatch, the same on all processes.
        max_tokens: see `microbatches`.
        processes: those that share it; one alone sees to all.

    Returns:
        Sequences and the factor of their loss. Where weights are in parts all processes make the
        same number of passes, of which those that only keep step have the factor 0, and the sum of
        gradients is made out of their mean.
    """
    if processes.count == 1:
        return [(part, 1.0) for part in microbatches(sequences, max_tokens)]
    equal: dict[tuple[int, ...], list[TokenSequence]] = {}
    for one in sorted(sequences, key=lambda one: len(one.token_ids)):
        equal.setdefault(one.token_ids, []).append(one)
    kinds = list(equal.values())
    shares = [
        microbatches([one for kind in kinds[rank :: processes.count] for one in kind], max_tokens)
        for rank in range(processes.count)
    ]
    own = shares[processes.rank]
    if not processes.sharded:
        return [(part, 1.0) for part in own]
    idle = max(map(len, shares)) - len(own)
    return [(part, float(processes.count)) for part in own] + [(kinds[0][:1], 0.0)] * idle


def of_all(parts: list[LossInputs], processes: Processes) -> list[LossInputs]:
    """The parts of a minibatch on all processes; of several processes without gradient."""
    if processes.count == 1:
        return parts
    plain = [{one.name: getattr(part, one.name) for one in fields(part)} for part in parts]
    return [LossInputs(**one) for one in processes.gather(plain)]


def joined(parts: Sequence[LossInputs]) -> LossInputs:
    """Put the parts of a minibatch together, so that its metrics are measured on the whole.

    Args:
        parts: at least one, all with a reference or none.

    Returns:
        The minibatch without gradient, padded on the right to its longest sequence.
    """

    def stacked(matrices: Sequence[Tensor]) -> Tensor:
        width = max(matrix.shape[1] for matrix in matrices)
        return torch.cat([pad(one.detach(), (0, width - one.shape[1])) for one in matrices])

    references = [one.reference_logprobs for one in parts if one.reference_logprobs is not None]
    return LossInputs(
        current_logprobs=stacked([one.current_logprobs for one in parts]),
        behaviour_logprobs=stacked([one.behaviour_logprobs for one in parts]),
        generated_mask=stacked([one.generated_mask for one in parts]),
        advantages=torch.cat([one.advantages for one in parts]),
        reference_logprobs=stacked(references) if references else None,
        divisor=parts[0].divisor,
    )


_OVER_STEPS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "steps": sum,
    "skipped_steps": sum,
    "sequences": sum,
    "ratio_min": min,
    "ratio_max": max,
}


def over_steps(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Make one row of metrics of those of all optimiser steps of an update.

    Args:
        rows: one per step; a metric may be missing from some.

    Returns:
        Counts are summed, extremes kept, and of the rest it is the mean over the rows that have it.
    """
    metrics = {"steps": 0.0, "skipped_steps": 0.0}
    for name in dict.fromkeys(name for row in rows for name in row):
        metrics[name] = float(_OVER_STEPS.get(name, fmean)([r[name] for r in rows if name in r]))
    return metrics
