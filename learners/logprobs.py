"""Log-probabilities of sampled tokens under a model, with the output head only where it is needed.

The head of a language model is its widest layer; it is applied to the positions that predict a
generated token and to no other. Whatever a model does to its logits afterwards (scaling, capping)
it does to these as to all.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from learners.sequences import Batch


def current_logprobs(model: PreTrainedModel, batch: Batch, temperature: float = 1.0) -> Tensor:
    """Log-probability of every generated token of a batch.

    Args:
        model: a causal language model.
        batch: (sequences, tokens) on the model's device.
        temperature: the logits are divided by it, as they were in sampling.

    Returns:
        (sequences, tokens) float32, [s, t] for token t given those before it; 0 where the token was
        not generated, without gradient.
    """
    # The state at t - 1 predicts token t.
    predicted = batch.generated_mask[:, 1:]
    targets = batch.token_ids[:, 1:][predicted]
    logits = _logits_at(model, batch, predicted)
    logprobs = torch.log_softmax(logits.float() / temperature, dim=-1)
    chosen = logprobs.gather(-1, targets[:, None]).squeeze(-1)
    result = chosen.new_zeros(batch.generated_mask.shape)
    result[:, 1:] = result[:, 1:].masked_scatter(predicted, chosen)
    return result


def _logits_at(model: PreTrainedModel, batch: Batch, positions: Tensor) -> Tensor:
    """Logits (generated tokens, vocabulary) at the chosen positions (sequences, tokens - 1)."""
    narrowed = False

    def narrow(head: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Hand the head the chosen states, as one sequence (1, generated tokens, width)."""
        nonlocal narrowed
        narrowed = True
        states, *others = arguments
        return (states[:, :-1][positions][None], *others)

    head = model.get_output_embeddings()
    handle = head.register_forward_pre_hook(narrow) if head is not None else None
    try:
        logits: Tensor = model(
            input_ids=batch.token_ids,
            attention_mask=batch.attention_mask.long(),
            use_cache=False,
        ).logits
    finally:
        if handle is not None:
            handle.remove()
    # A model that does not call its head as a module gives the logits of all positions.
    return logits[0] if narrowed else logits[:, :-1][positions]
