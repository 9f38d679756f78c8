"""Log-probabilities of sampled tokens under a model, with the output head only where it is needed.

The head of a language model is its widest layer; it is applied to the positions that predict a
generated token and to no other. Whatever a model does to its logits afterwards (scaling, capping)
it does to these as to all. The replies of a conversation are read off one row, and so are equal
sequences, which members of a group often are once a team is sure of itself: no token goes through
the model twice. Gradient checkpointing works although the model is in evaluation mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.modeling_layers import GradientCheckpointingLayer

from laconic.learners.training.sequences import Batch, TokenSequence, collate, microbatches


def current_logprobs(model: PreTrainedModel, batch: Batch, temperature: float = 1.0) -> Tensor:
    """Log-probability of every generated token of a batch on the model's device.

    The logits are divided by the temperature, as they were in sampling.

    Returns:
        (sequences, tokens) float32, [s, t] for token t given those before it; 0 where the token was
        not generated, without gradient.
    """
    hosts, row_of = batch.hosts.unique(return_inverse=True)
    token_ids, attention_mask = batch.token_ids[hosts], batch.attention_mask[hosts]
    # The state at t - 1 predicts token t, of any sequence of the row.
    generated = batch.generated_mask[:, 1:]
    counts = torch.zeros_like(token_ids[:, 1:]).index_add(0, row_of, generated.long())
    predicted = counts > 0
    targets = token_ids[:, 1:][predicted]
    logits = _logits_at(model, token_ids, attention_mask, predicted)
    logprobs = torch.log_softmax(logits.float() / temperature, dim=-1)
    chosen = logprobs.gather(-1, targets[:, None]).squeeze(-1)
    found = chosen.new_zeros(predicted.shape).masked_scatter(predicted, chosen)[row_of]
    return nn.functional.pad(torch.where(generated, found, 0.0), (1, 0))


@torch.no_grad()
def recomputed(
    model: PreTrainedModel,
    sequences: Sequence[TokenSequence],
    pad_id: int,
    temperature: float,
    max_tokens: int,
) -> list[TokenSequence]:
    """The sequences, in order, with the log-probabilities of a forward pass as behaviour.

    The model is the one that sampled them, unchanged since; `max_tokens`: max. tokens, padding
    included, of one pass. Temperature as in `current_logprobs`.
    """
    found: dict[int, TokenSequence] = {}
    for part in microbatches(sequences, max_tokens):
        batch = collate(part, pad_id).to(model.device)
        rows = current_logprobs(model, batch, temperature).tolist()
        for one, row in zip(part, rows, strict=True):
            logprobs = tuple(row[: len(one.token_ids)])
            found[id(one)] = replace(one, behaviour_logprobs=logprobs)
    return [found[id(one)] for one in sequences]


def _logits_at(
    model: PreTrainedModel, token_ids: Tensor, attention_mask: Tensor, positions: Tensor
) -> Tensor:
    """Logits (generated tokens, vocabulary) at the chosen positions (rows, tokens - 1)."""
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
        with _gradient_checkpointing(model):
            logits: Tensor = model(
                input_ids=token_ids, attention_mask=attention_mask.long(), use_cache=False
            ).logits
    finally:
        if handle is not None:
            handle.remove()
    # A model that does not call its head as a module gives the logits of all positions.
    return logits[0] if narrowed else logits[:, :-1][positions]


@contextmanager
def _gradient_checkpointing(model: PreTrainedModel) -> Iterator[None]:
    """Put layers with gradient checkpointing on, and nothing below them, into training mode.

    In evaluation mode they would keep their activations; in training mode a module below them, such
    as attention, would switch its dropout on.
    """
    layers = [
        module
        for module in model.modules()
        if isinstance(module, GradientCheckpointingLayer) and module.gradient_checkpointing
    ]
    for layer in layers:
        layer.training = torch.is_grad_enabled()
    try:
        yield
    finally:
        for layer in layers:
            layer.training = False
