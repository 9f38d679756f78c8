"""Log-probabilities of sampled tokens under a model, each token read once.

Three savings change no number beyond the order of sums:

- The output head is the widest layer of a language model. It runs only at positions that predict a
  generated token, and where these are many, in chunks (`learners.training.chunks`). Whatever a
  model does to its logits afterwards (scaling, capping) it does to these too.
- Several replies of one conversation, and equal sequences of a group, share one row.
- Rows share their beginnings. Prompts begin with the same rules, and the episodes of a group begin
  with the same prompt. A batch is read in stages, each on the keys and values of the stage before;
  gradients flow back through all of them (cf. prefix grouping, arXiv 2506.05433).

Gradient checkpointing works although the model is in evaluation mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os.path import commonprefix
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutputWithPast

from laconic.learners.agents.cache import cache_argument
from laconic.learners.training.chunks import CHUNK, chosen_logprobs
from laconic.learners.training.sequences import Batch, TokenSequence, collate, microbatches

WORTH = 0.75
"""Largest part of the tokens of whole rows for which a batch is read in stages."""


def current_logprobs(model: PreTrainedModel, batch: Batch, temperature: float = 1.0) -> Tensor:
    """Compute the log-probability of every generated token of a batch.

    Args:
        model: a causal language model on the device of the batch.
        batch: (sequences, tokens).
        temperature: divides the logits, as in sampling.

    Returns:
        (sequences, tokens) float32; [s, t] belongs to token t given the tokens before it. Tokens
        that were not generated have 0 without gradient.
    """
    rows, row_of = batch.row_of.unique(return_inverse=True)
    token_ids, attention_mask = batch.token_ids[rows], batch.attention_mask[rows]
    # The state at t - 1 predicts token t, of any sequence of the row.
    generated = batch.generated_mask[:, 1:]
    counts = torch.zeros_like(token_ids[:, 1:]).index_add(0, row_of, generated.long())
    predicted = counts > 0
    targets = token_ids[:, 1:][predicted]
    # A full matrix of logits would be in memory three times.
    size = 3 * targets.numel() * int(model.config.get_text_config().vocab_size)
    chunked: list[Tensor] = []
    compute = _chunked_head(model, targets, temperature, chunked) if size > CHUNK else None
    logits = _logits_at(model, token_ids, attention_mask, predicted, compute)
    if chunked:
        # FSDP2 gathers weights for the backward pass only if the model's own output takes part.
        chosen = chunked[0] + 0 * logits[:, 0]
    else:
        logprobs = torch.log_softmax(logits.float() / temperature, dim=-1)
        chosen = logprobs.gather(-1, targets[:, None]).squeeze(-1)
    of_rows = chosen.new_zeros(predicted.shape).masked_scatter(predicted, chosen)
    return nn.functional.pad(torch.where(generated, of_rows[row_of], 0.0), (1, 0))


@torch.no_grad()
def recomputed(
    model: PreTrainedModel,
    sequences: Sequence[TokenSequence],
    pad_id: int,
    temperature: float,
    max_tokens: int,
    keep_rollout: bool = False,
) -> list[TokenSequence]:
    """Replace the behavior log-probabilities of sequences by those of a forward pass.

    Args:
        model: the policy before the update.
        sequences: in any order, which the result keeps.
        pad_id: padding token.
        temperature: divides the logits, as in sampling.
        max_tokens: most tokens of one pass, padding included.
        keep_rollout: whether the log-probabilities at sampling stay as `rollout_logprobs`.
    """
    by_identity: dict[int, TokenSequence] = {}
    for part in microbatches(sequences, max_tokens):
        batch = collate(part, pad_id, model.device)
        rows = current_logprobs(model, batch, temperature).tolist()
        for sequence, row in zip(part, rows, strict=True):
            by_identity[id(sequence)] = replace(
                sequence,
                behavior_logprobs=tuple(row[: len(sequence.token_ids)]),
                rollout_logprobs=sequence.behavior_logprobs if keep_rollout else None,
            )
    return [by_identity[id(sequence)] for sequence in sequences]


def _logits_at(
    model: PreTrainedModel,
    token_ids: Tensor,
    attention_mask: Tensor,
    positions: Tensor,
    compute: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """Compute the logits (predictions, vocabulary) at chosen positions (rows, tokens - 1).

    `compute` replaces the head; it is called with states (1, predictions, width).
    """
    head = model.get_output_embeddings()
    compute = compute or (head and head.forward)
    checkpointed = [
        module for module in model.modules() if getattr(module, "gradient_checkpointing", False)
    ]
    inputs: dict[str, Any] = {"attention_mask": attention_mask.long(), "use_cache": False}
    stages: list[Stage] = []
    if len(token_ids) > 1 and not checkpointed and bool(positions.any(1).all()):
        lengths, firsts = attention_mask.sum(1).tolist(), positions.int().argmax(1).tolist()
        stages = plan_prefix_sharing(token_ids, lengths, firsts) if can_share(model) else []
    if stages:
        inputs = _read_prefixes(model, stages, token_ids, attention_mask)
        positions = stages[-1].gather(nn.functional.pad(positions, (0, 1)))[:, :-1]
        token_ids = stages[-1].gather(token_ids)
    # In evaluation mode these layers would keep their activations. Training mode for a module
    # below them, such as attention, would switch its dropout on.
    layers = [each for each in checkpointed if isinstance(each, GradientCheckpointingLayer)]
    for layer in layers:
        layer.training = torch.is_grad_enabled()
    try:
        with _patched_forward(head, lambda states: compute(states[:, :-1][positions][None])):
            logits: Tensor = model(input_ids=token_ids, **inputs).logits
    finally:
        for layer in layers:
            layer.training = False
    # A model that does not call its head as a module returns the logits of all positions.
    return logits[0] if logits.shape[:2] != token_ids.shape else logits[:, :-1][positions]


@contextmanager
def _patched_forward(module: nn.Module | None, forward: Callable[..., Any]) -> Iterator[None]:
    """Replace the forward pass of a module for a while."""
    attributes = vars(module) if module is not None else {}
    before = {name: attributes[name] for name in ("forward",) if name in attributes}
    attributes["forward"] = forward
    try:
        yield
    finally:
        del attributes["forward"]
        attributes.update(before)


# ---------------------------------------------------------------- chunks of the output head


class _HiddenStates(BaseModelOutputWithPast):
    """Output of a base model; every attribute beyond the hidden states is None."""

    def __getattr__(self, name: str) -> None:
        """Return None."""


def _chunked_head(
    model: PreTrainedModel, targets: Tensor, temperature: float, results: list[Tensor]
) -> Callable[[Tensor], Tensor] | None:
    """Return a replacement for the head that computes log-probabilities (1, predictions, 1).

    They are appended to `results` too, because the model treats its output like logits. None for a
    model without a head.
    """
    head = model.get_output_embeddings()
    if head is None:
        return None
    forward, rows = head.forward, max(1, CHUNK // model.config.get_text_config().vocab_size)

    def logits_of(states: Tensor) -> Tensor:
        # Indexing with [0] would allocate another matrix in the backward pass.
        return _postprocess_logits(model, head, forward(states[None])).squeeze(0)

    def compute(states: Tensor) -> Tensor:
        weights = [weight for weight in head.parameters() if weight.requires_grad]
        results.append(chosen_logprobs(logits_of, weights, states[0], targets, temperature, rows))
        return results[0][None, :, None]

    return compute


def _postprocess_logits(model: PreTrainedModel, head: nn.Module, logits: Tensor) -> Tensor:
    """Apply the model's own processing of its head's logits, such as a cap; often none."""
    output = _HiddenStates(last_hidden_state=logits)
    with (
        _patched_forward(model.base_model, lambda *_, **__: output),
        _patched_forward(head, lambda _: logits),
    ):
        # Not called as a module, so that FSDP2 gathers no weights for it.
        token_ids = logits.new_zeros(1, 1, dtype=torch.long)
        processed: Tensor = model.forward(input_ids=token_ids).logits
    return processed


# ---------------------------------------------------------------- shared prefixes


@dataclass(frozen=True, slots=True)
class Stage:
    """Texts that are read together, each as the continuation of a text of the stage before."""

    rows: tuple[int, ...]
    """(texts,) row of the batch that each text is cut from."""
    parents: tuple[int, ...]
    """(texts,) index of the text in the stage before that each text continues."""
    spans: tuple[tuple[int, int], ...]
    """(texts,) first token and end of each text in its row."""
    width: int
    """Tokens of the longest text."""

    @classmethod
    def of(cls, texts: Sequence[tuple[int, int, tuple[int, int]]]) -> Stage:
        """Make a stage of texts, each as (row, parent, span)."""
        rows, parents, spans = zip(*texts, strict=True)
        return cls(rows, parents, spans, max(end - begin for begin, end in spans))

    def gather(self, matrix: Tensor) -> Tensor:
        """Cut the texts (texts, width) out of a matrix (rows, tokens), padded on the right."""
        texts = matrix.new_zeros((len(self.rows), self.width))
        for text, (row, (begin, end)) in enumerate(zip(self.rows, self.spans, strict=True)):
            texts[text, : end - begin] = matrix[row, begin:end]
        return texts


def can_share(model: PreTrainedModel) -> bool:
    """Return whether several rows can read the same keys and values of a model, with gradients.

    They cannot in layers with a sliding window, which counts padding, or with another kind of
    memory; nor where weights are sharded, because all processes must make equal passes.
    """
    layers = DynamicCache(config=model.config).layers
    return (
        bool(layers)
        and all(type(layer) is DynamicLayer for layer in layers)
        and not any(hasattr(weight, "device_mesh") for weight in model.parameters())
    )


def plan_prefix_sharing(
    token_ids: Tensor, lengths: Sequence[int], first_positions: Sequence[int]
) -> list[Stage]:
    """Plan the stages that read a batch with the fewest tokens.

    Two plans compete: the beginning that all rows share, then the different prompts, then the rest
    of each row; or the shared beginning, then the rest.

    Args:
        token_ids: (rows, tokens), padded on the right.
        lengths: (rows,) tokens of each row.
        first_positions: (rows,) first position of each row whose state is needed.

    Returns:
        Stages, the last one with the end of every row; none where whole rows cost about the same.
    """
    prompts = [
        tuple(row[:first]) for row, first in zip(token_ids.tolist(), first_positions, strict=True)
    ]
    shared = len(commonprefix(prompts))
    numbers: dict[tuple[int, ...], int] = {}
    prompt_of = [numbers.setdefault(prompt, len(numbers)) for prompt in prompts]
    first_rows = [prompts.index(prompt) for prompt in numbers]
    opening = Stage.of([(0, 0, (0, shared))])
    middle = Stage.of([(row, 0, (shared, first_positions[row])) for row in first_rows])
    spans = list(zip(first_positions, lengths, strict=True))
    replies = Stage.of([(row, prompt_of[row], span) for row, span in enumerate(spans)])
    rests = Stage.of([(row, 0, (shared, length)) for row, length in enumerate(lengths)])
    plans = [
        [stage for stage in plan if stage.width]
        for plan in ([opening, middle, replies], [opening, rests])
    ]
    # A text without tokens would leave its row without a state to continue from.
    plans = [
        plan for plan in plans if all(end > begin for stage in plan for begin, end in stage.spans)
    ]
    costs = [sum(len(stage.rows) * stage.width for stage in plan) for plan in plans]
    cheapest = costs.index(min(costs))
    worth = costs[cheapest] <= WORTH * len(prompts) * max(lengths)
    return plans[cheapest] if worth else []


def _read_prefixes(
    model: PreTrainedModel, stages: Sequence[Stage], token_ids: Tensor, attention_mask: Tensor
) -> dict[str, Any]:
    """Read all stages but the last, and return the model's other arguments for the last one."""
    cache, mask = DynamicCache(), attention_mask.new_zeros((1, 0)).long()
    inputs: dict[str, Any] = {}
    for number, stage in enumerate(stages):
        if number:
            with _patched_forward(model.get_output_embeddings(), lambda states: states[:, :1, :1]):
                model(input_ids=stages[number - 1].gather(token_ids), **inputs)
            cache, mask = _expand_cache(cache, mask, stage)
        mask = torch.cat([mask, stage.gather(attention_mask).long()], dim=1)
        begins = torch.tensor([begin for begin, _ in stage.spans], device=mask.device)
        inputs = {
            "attention_mask": mask,
            "position_ids": begins[:, None] + torch.arange(stage.width, device=mask.device),
            cache_argument(model): cache,
            "use_cache": True,
        }
    return inputs


def _expand_cache(cache: DynamicCache, mask: Tensor, stage: Stage) -> tuple[DynamicCache, Tensor]:
    """Copy the keys, values and mask of each parent for the texts that continue it."""
    index, expanded = torch.tensor(stage.parents, device=mask.device), DynamicCache()
    for number, layer in enumerate(cast(list[Any], cache.layers)):
        # Selected by index, strided gradients would be added number by number.
        keys, values = (
            nn.functional.embedding(index, part.flatten(1)).view(-1, *part.shape[1:])
            for part in (layer.keys, layer.values)
        )
        expanded.update(keys, values, number)
    return expanded, mask.index_select(0, index)
