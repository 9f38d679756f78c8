"""Log-probabilities of sampled tokens under a model, with the output head only where it is needed.

The head of a language model is its widest layer; it is applied to the positions that predict a
generated token and to no other, and where these are many, to a chunk of them at a time, in the
backward pass again. Whatever a model does to its logits afterwards (scaling, capping) it does to
these as to all. The replies of a conversation are read off one row, and so are equal
sequences, which members of a group often are once a team is sure of itself: no token goes through
the model twice. Gradient checkpointing works although the model is in evaluation mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache, PreTrainedModel
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutputWithPast

from laconic.learners.agents.cache import cache_argument
from laconic.learners.training.chunks import CHUNK, chosen_logprobs
from laconic.learners.training.prefixes import (
    Stage,
    can_share,
    cut,
    go_on,
    places_of,
    stages_of,
)
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
    size = targets.numel() * int(model.config.get_text_config().vocab_size)
    # Computed whole, logits are there three times.
    kept: list[Tensor] = []
    instead = _chunks(model, targets, temperature, kept) if 3 * size > CHUNK else None
    logits = _logits_at(model, token_ids, attention_mask, predicted, instead)
    if kept:
        # Weights in parts come together for a backward pass by way of what the model gave.
        chosen = kept[0] + 0 * logits[:, 0]
    else:
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
    apart: bool = False,
) -> list[TokenSequence]:
    """The sequences, in order, with the log-probabilities of a forward pass as behaviour.

    The model is as it was before the update; `max_tokens`: max. tokens, padding included, of one
    pass. Temperature as in `current_logprobs`. With `apart` those at sampling are kept beside
    them, as those of another engine.
    """
    found: dict[int, TokenSequence] = {}
    for part in microbatches(sequences, max_tokens):
        batch = collate(part, pad_id).to(model.device)
        rows = current_logprobs(model, batch, temperature).tolist()
        for one, row in zip(part, rows, strict=True):
            logprobs = tuple(row[: len(one.token_ids)])
            rollout = one.behaviour_logprobs if apart else None
            found[id(one)] = replace(one, behaviour_logprobs=logprobs, rollout_logprobs=rollout)
    return [found[id(one)] for one in sequences]


def _logits_at(
    model: PreTrainedModel,
    token_ids: Tensor,
    attention_mask: Tensor,
    positions: Tensor,
    instead: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """Logits (generated tokens, vocabulary) at the chosen positions (rows, tokens - 1).

    Or what is computed instead of the head, from states (1, generated tokens, width).
    """
    head = model.get_output_embeddings()
    compute = instead or (head and head.forward)
    token_ids, positions, read = _read_before(model, token_ids, attention_mask, positions)
    with (
        _computing(head, lambda states: compute(states[:, :-1][positions][None])),
        _gradient_checkpointing(model),
    ):
        logits: Tensor = model(input_ids=token_ids, **read).logits
    # A model that does not call its head as a module gives the logits of all positions.
    return logits[0] if logits.shape[:2] != token_ids.shape else logits[:, :-1][positions]


def _read_before(
    model: PreTrainedModel, token_ids: Tensor, attention_mask: Tensor, asked: Tensor
) -> tuple[Tensor, Tensor, dict[str, Any]]:
    """What is left to read of a batch once what its rows share was read.

    Returns:
        Tokens (rows, tokens), which of their states are asked for (rows, tokens - 1), and what the
        model is to be called with besides.
    """
    stages: list[Stage] = []
    if len(token_ids) > 1 and bool(asked.any(1).all()) and can_share(model):
        lengths, firsts = attention_mask.sum(1).tolist(), asked.int().argmax(1).tolist()
        stages = stages_of(token_ids, lengths, firsts)
    if not stages:
        mask = attention_mask.long()
        return token_ids, asked, {"attention_mask": mask, "use_cache": False}
    cache, held = DynamicCache(), attention_mask.new_zeros((1, 0)).long()
    for number, stage in enumerate(stages):
        ids = cut(stage, token_ids)
        mask = cut(stage, attention_mask).long()
        if number:
            cache, held = go_on(cache, held, stage)
        held = torch.cat([held, mask], dim=1)
        read = {
            "attention_mask": held,
            "position_ids": places_of(stage, token_ids.device),
            cache_argument(model): cache,
            "use_cache": True,
        }
        if stage is not stages[-1]:
            with _computing(model.get_output_embeddings(), lambda states: states[:, :1, :1]):
                model(input_ids=ids, **read)
    return ids, cut(stage, nn.functional.pad(asked, (0, 1)))[:, :-1], read


def _chunks(
    model: PreTrainedModel, targets: Tensor, temperature: float, kept: list[Tensor]
) -> Callable[[Tensor], Tensor] | None:
    """What to compute instead of the head: log-probabilities (1, generated tokens, 1).

    They are kept, because the model goes on to do with them what it does with logits.
    """
    head = model.get_output_embeddings()
    if head is None:
        return None
    forward, rows = head.forward, max(1, CHUNK // model.config.get_text_config().vocab_size)

    def logits_of(states: Tensor) -> Tensor:
        # Not [0], whose backward pass would make a matrix of its own.
        return _finished(model, head, forward(states[None])).squeeze(0)

    def instead(states: Tensor) -> Tensor:
        own = [one for one in head.parameters() if one.requires_grad]
        kept.append(chosen_logprobs(logits_of, own, states[0], targets, temperature, rows))
        return kept[0][None, :, None]

    return instead


class _Read(BaseModelOutputWithPast):
    """What a model without its head gives, whatever it is asked for."""

    def __getattr__(self, name: str) -> None:
        """Nothing."""


def _finished(model: PreTrainedModel, head: nn.Module, logits: Tensor) -> Tensor:
    """What the model makes of the logits of its head: others, or the same."""
    read = _Read(last_hidden_state=logits)
    with (
        _computing(model.base_model, lambda *_, **__: read),
        _computing(head, lambda _: logits),
    ):
        # Not as a module: weights in parts must not come together for this.
        finished: Tensor = model.forward(input_ids=logits.new_zeros(1, 1, dtype=torch.long)).logits
    return finished


@contextmanager
def _computing(module: nn.Module | None, forward: Callable[..., Any]) -> Iterator[None]:
    """While it lasts a module computes something else."""
    own = vars(module) if module is not None else {}
    before = {name: own[name] for name in ("forward",) if name in own}
    own["forward"] = forward
    try:
        yield
    finally:
        del own["forward"]
        own.update(before)


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
