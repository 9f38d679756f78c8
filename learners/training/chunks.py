"""Log-probabilities of chosen tokens without the full matrix of logits in memory.

A chunk of logits is computed, reduced to one number per token, and freed. The backward pass
computes it again and turns it into its own gradient in place. Knows no model: logits come from a
function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.autograd.graph import get_gradient_edge

CHUNK = 2**26
"""Largest number of logits in memory at a time."""
_BLOCKS = 16
"""Number of blocks of a chunk that are converted to float32 one after the other."""


def chosen_logprobs(
    logits_of: Callable[[Tensor], Tensor],
    parameters: Sequence[Tensor],
    states: Tensor,
    targets: Tensor,
    temperature: float,
    rows: int,
) -> Tensor:
    """Compute the log-probabilities of the targets (tokens,), float32, with gradient.

    Args:
        logits_of: deterministic function from states (rows, width) to logits (rows, vocabulary),
            which are overwritten.
        parameters: its parameters that need a gradient.
        states: (tokens, width).
        targets: (tokens,) int64.
        temperature: divisor of the logits.
        rows: tokens of a chunk.
    """
    chosen: Tensor = _Chosen.apply(logits_of, targets, temperature, rows, states, *parameters)
    return chosen


class _Chosen(torch.autograd.Function):
    """Autograd function of `chosen_logprobs`."""

    @staticmethod
    def forward(
        ctx: Any,
        logits_of: Callable[[Tensor], Tensor],
        targets: Tensor,
        temperature: float,
        rows: int,
        states: Tensor,
        *parameters: Tensor,
    ) -> Tensor:
        chosen = states.new_empty(len(targets), dtype=torch.float32)
        totals = torch.empty_like(chosen)
        for place in _slices(len(targets), rows):
            logits = logits_of(states[place])
            for block, at in _blocks(logits, place):
                scaled = block.float().div_(temperature)
                chosen[at] = scaled.gather(1, targets[at, None])[:, 0]
                highest = scaled.amax(1, keepdim=True)
                totals[at] = scaled.sub_(highest).exp_().sum(1).log_() + highest[:, 0]
            del logits, block, scaled
        ctx.save_for_backward(targets, totals, states, *parameters)
        device = states.device.type
        ctx.autocast = device, torch.get_autocast_dtype(device), torch.is_autocast_enabled(device)
        ctx.settings = logits_of, temperature, rows
        return chosen.sub_(totals)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor | None, ...]:
        targets, totals, states, *parameters = ctx.saved_tensors
        logits_of, temperature, rows = ctx.settings
        slope_of_states = torch.empty_like(states)
        sums = [torch.zeros_like(parameter) for parameter in parameters]
        with torch.enable_grad(), torch.autocast(*ctx.autocast):
            for place in _slices(len(targets), rows):
                own = states[place].detach().requires_grad_()
                logits = logits_of(own)
                # Overwriting a view below would change its gradient edge.
                edge = get_gradient_edge(logits)
                # (1 for the target - softmax) / temperature, in place of the logits
                for block, at in _blocks(logits.detach(), place):
                    scaled = block.float().div_(temperature).sub_(totals[at, None]).exp_()
                    scaled[torch.arange(len(scaled)), targets[at]] -= 1
                    block.copy_(scaled.mul_(slopes[at, None] / -temperature))
                    del scaled
                slope, *slopes_of_parameters = torch.autograd.grad(
                    edge, (own, *parameters), logits.detach()
                )
                slope_of_states[place] = slope
                for total, part in zip(sums, slopes_of_parameters, strict=True):
                    total += part
                del logits, block, slope, slopes_of_parameters
        return None, None, None, None, slope_of_states, *sums


def _slices(count: int, size: int) -> Iterator[slice]:
    return (slice(first, min(first + size, count)) for first in range(0, count, size))


def _blocks(logits: Tensor, place: slice) -> Iterator[tuple[Tensor, slice]]:
    """Yield blocks of the rows of a chunk, with their place among all tokens."""
    for rows in _slices(len(logits), -(-len(logits) // _BLOCKS)):
        yield logits[rows], slice(place.start + rows.start, place.start + rows.stop)
