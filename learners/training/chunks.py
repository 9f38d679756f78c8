"""Log-probabilities of chosen tokens, from logits that are never there all at once.

A chunk of logits is made, reduced to a number per token and let go; in the backward pass it is made
again, and turned into its own gradient in place. Knows no model: logits come from a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.autograd.graph import get_gradient_edge

CHUNK = 2**26
"""Most logits that are there at a time."""
_BLOCKS = 16
"""In so many parts a chunk in half precision is computed in float32."""


def chosen_logprobs(
    logits_of: Callable[[Tensor], Tensor],
    parameters: Sequence[Tensor],
    states: Tensor,
    targets: Tensor,
    temperature: float,
    rows: int,
) -> Tensor:
    """Log-probabilities of the targets (tokens,), float32, with gradient.

    Args:
        logits_of: from states (rows, width) to logits (rows, vocabulary), which are its caller's to
            overwrite; it computes the same whenever it is called.
        parameters: what it uses besides that wants a gradient.
        states: (tokens, width).
        targets: (tokens,) int64.
        temperature: logits are divided by it.
        rows: tokens of a chunk.
    """
    chosen: Tensor = _Chosen.apply(logits_of, targets, temperature, rows, states, *parameters)
    return chosen


class _Chosen(torch.autograd.Function):
    """See `chosen_logprobs`."""

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
        sums = [torch.zeros_like(one) for one in parameters]
        with torch.enable_grad(), torch.autocast(*ctx.autocast):
            for place in _slices(len(targets), rows):
                own = states[place].detach().requires_grad_()
                logits = logits_of(own)
                # Where it came from, which overwriting a view would change.
                edge = get_gradient_edge(logits)
                # (1 for the target - softmax) / temperature, in place of the logits
                for block, at in _blocks(logits.detach(), place):
                    scaled = block.float().div_(temperature).sub_(totals[at, None]).exp_()
                    scaled[torch.arange(len(scaled)), targets[at]] -= 1
                    block.copy_(scaled.mul_(slopes[at, None] / -temperature))
                    del scaled
                found = torch.autograd.grad(edge, (own, *parameters), logits.detach())
                slope_of_states[place] = found[0]
                for total, one in zip(sums, found[1:], strict=True):
                    total += one
                del logits, block, found
        return None, None, None, None, slope_of_states, *sums


def _slices(count: int, size: int) -> Iterator[slice]:
    return (slice(first, min(first + size, count)) for first in range(0, count, size))


def _blocks(logits: Tensor, place: slice) -> Iterator[tuple[Tensor, slice]]:
    """Rows of a chunk, some at a time, and where they stand among all tokens."""
    for rows in _slices(len(logits), -(-len(logits) // _BLOCKS)):
        yield logits[rows], slice(place.start + rows.start, place.start + rows.stop)
