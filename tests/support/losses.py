"""Small inputs of a loss, and its gradient."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from laconic.learners.training.objective import LossInputs, LossOutputs, Objective

LN2 = math.log(2)
PAPER = {"epsilon": 3e-4, "epsilon_high": 4e-4}
"""The bounds of GSPO's paper."""
WIDE = {"epsilon": 0.5, "epsilon_high": 9.0}
RATIOS = ("sequence", "sequence_token", "token", "none")
AVERAGES = ("sequence", "token", "sum")


def inputs(
    log_ratios: list[list[float]],
    mask: list[list[int]],
    advantages: list[float],
    *,
    behavior: float = -1.0,
    reference: list[list[float]] | None = None,
    dtype: torch.dtype = torch.float32,
) -> LossInputs:
    """Inputs with equal behavior log-probabilities and a current that is leaf of the graph."""
    current = torch.tensor(log_ratios, dtype=torch.float64) + behavior
    return LossInputs(
        current_logprobs=current.to(dtype).requires_grad_(),
        behavior_logprobs=torch.full_like(current, behavior).to(dtype),
        generated_mask=torch.tensor(mask, dtype=torch.bool),
        advantages=torch.tensor(advantages),
        reference_logprobs=None if reference is None else torch.tensor(reference),
    )


def gradient(objective: Objective, inputs: LossInputs) -> tuple[LossOutputs, Tensor]:
    """Return the outputs, and the gradient of the loss in the current log-probabilities."""
    outputs = objective(inputs)
    (grad,) = torch.autograd.grad(outputs.loss, inputs.current_logprobs)
    return outputs, grad
