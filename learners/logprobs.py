"""Log-probabilities of sampled tokens under a model, with the output head only where it is needed.

The head of a language model is its widest layer; it is applied to the positions that predict a
generated token and to no other.
"""

from __future__ import annotations

import torch
from torch import Tensor
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
    inputs = {
        "input_ids": batch.token_ids,
        "attention_mask": batch.attention_mask.long(),
        "use_cache": False,
    }
    if not has_plain_head(model):
        logits: Tensor = model(**inputs).logits[:, :-1]
        return logits[positions]
    states: Tensor = model.base_model(**inputs).last_hidden_state[:, :-1]
    head: Tensor = model.get_output_embeddings()(states[positions])
    return head


def has_plain_head(model: PreTrainedModel) -> bool:
    """Whether the logits are the output head of the base model's last state, and nothing more.

    Some architectures scale or cap their logits afterwards. This is measured once per model on two
    tokens rather than read off a list of names.
    """
    known: bool | None = getattr(model, "_laconic_plain_head", None)
    if known is None:
        known = _measure_plain_head(model)
        model._laconic_plain_head = known  # type: ignore[assignment]
    return known


@torch.no_grad()
def _measure_plain_head(model: PreTrainedModel) -> bool:
    head = model.get_output_embeddings()
    if head is None or model.base_model is model:
        return False
    ids = torch.tensor([[0, 1]], device=model.device)
    try:
        own = head(model.base_model(input_ids=ids).last_hidden_state)
    except (AttributeError, TypeError):
        return False
    whole = model(input_ids=ids).logits
    return own.shape == whole.shape and torch.allclose(own, whole, rtol=1e-3, atol=1e-4)
