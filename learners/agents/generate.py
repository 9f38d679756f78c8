"""Batched sampling that keeps token ids and log-probabilities as sampled.

Sampling is `transformers`' own. Three things are added to it: the log-probability of every token is
recorded while it is sampled, which saves the forward pass that would recompute it; prompts that
occur several times (a group starts from one state) go through the model once; and replies that have
ended, silent ones at once, leave the batch instead of being padded until the longest has ended.
The cache of `transformers` copies all it holds at every token, a seventh of a training step of the
tiny policy; the one here writes into spare room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers import (
    DynamicCache,
    LogitsProcessor,
    LogitsProcessorList,
    PreTrainedModel,
    StoppingCriteria,
    StoppingCriteriaList,
)
from transformers.cache_utils import DynamicLayer

Sampled = tuple[tuple[int, ...], tuple[float, ...]]
"""Token ids of a reply and their log-probabilities."""

_MIN_ROWS = 16
"""Batches of so few rows go on until all have ended; leaving earlier would save nothing."""
ROOM = 32
"""Tokens for which there is room after a copy."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How replies are drawn."""

    max_new_tokens: int
    """Max. tokens of a reply, its end token among them."""
    temperature: float
    """Divides the logits; log-probabilities are those of the divided ones."""
    greedy: bool
    """Take the likeliest token instead of drawing one."""
    end_ids: tuple[int, ...]
    """Tokens that end a reply; kept in the reply."""
    pad_id: int
    """Fills rows up to a common length."""


class LogprobRecorder(LogitsProcessor):
    """Records log p(token) of each sampled token: a processor that changes nothing.

    It sees the logits of step t, and at step t + 1 the token drawn from them, so only one step's
    distribution is ever held.
    """

    def __init__(self, temperature: float) -> None:
        """Start an empty record."""
        self._temperature = temperature
        self._distribution: Tensor | None = None
        self._steps: list[Tensor] = []

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Settle the last step's tokens (rows, length) and hold this step's logits."""
        self._settle(input_ids)
        self._distribution = torch.log_softmax(scores.float() / self._temperature, dim=-1)
        return scores

    def finish(self, sequences: Tensor) -> Tensor:
        """Log-probabilities (rows, new tokens) of the finished sequences.

        `generate` may run a step that it then takes back; what was recorded of it comes last.
        """
        self._settle(sequences)
        return torch.stack(self._steps, dim=1)

    def _settle(self, ids: Tensor) -> None:
        if self._distribution is not None:
            self._steps.append(self._distribution.gather(-1, ids[:, -1:]).squeeze(-1))


class HalfEnded(StoppingCriteria):
    """Stops all rows once half of them have ended, for those that have not to go on alone."""

    def __init__(self, end_ids: Sequence[int], rows: int, device: torch.device) -> None:
        """Know the tokens that end a reply, and how many rows there are."""
        self._end_ids = torch.tensor(end_ids, device=device, dtype=torch.long)
        self._ended = torch.zeros(rows, dtype=torch.bool, device=device)

    def __call__(self, input_ids: Tensor, scores: Any, **kwargs: Any) -> Tensor:
        """Whether to stop (rows,); no row stops before the others."""
        self._ended |= torch.isin(input_ids[:, -1], self._end_ids)
        return (2 * self._ended.sum() >= len(self._ended)).expand(len(self._ended))


class RoomyLayer(DynamicLayer):
    """Keys and values (rows, heads, tokens, width) of one layer, at the front of larger buffers."""

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        self._buffers: dict[str, Tensor] = {}

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Add keys and values (rows, heads, new tokens, width); return all there are."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self.keys = self._appended("keys", self.keys, key_states)
        self.values = self._appended("values", self.values, value_states)
        return self.keys, self.values

    def _appended(self, name: str, held: Tensor | None, new: Tensor) -> Tensor:
        length = 0 if held is None or not held.numel() else held.shape[-2]
        total = length + new.shape[-2]
        buffer = self._buffers.get(name)
        # Rows that were picked are a copy, and no longer lie at the front of the buffer.
        if (
            buffer is None
            or held is None
            or buffer.data_ptr() != held.data_ptr()
            or buffer.shape[:2] != held.shape[:2]
            or buffer.stride() != held.stride()
            or buffer.shape[-2] < total
        ):
            buffer = new.new_empty((*new.shape[:2], total + ROOM, new.shape[-1]))
            if held is not None and length:
                buffer[..., :length, :] = held
            self._buffers[name] = buffer
        buffer[..., length:total, :] = new
        return buffer[..., :total, :]


def roomy_cache(model: PreTrainedModel) -> DynamicCache:
    """An empty cache for a model; layers of kinds of their own (sliding, recurrent) stay as is."""
    cache = DynamicCache(config=model.config)
    cache.layers = [
        RoomyLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers
    ]
    return cache


def shares_rows(cache: DynamicCache) -> bool:
    """Whether rows of a cache can be picked; those of recurrent layers cannot."""
    return all(isinstance(layer, DynamicLayer) for layer in cache.layers)


@contextmanager
def seeded(device: torch.device, seed: int) -> Iterator[None]:
    """What is drawn within it follows from the seed; generators go on as if nothing had been."""
    cuda, mps = device.type == "cuda", device.type == "mps"
    before = torch.mps.get_rng_state() if mps else None
    with torch.random.fork_rng(devices=[device] if cuda else []):
        # `torch.manual_seed` would seed every device.
        torch.default_generator.manual_seed(seed)
        if cuda:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        if mps:
            torch.mps.manual_seed(seed)
        try:
            yield
        finally:
            if before is not None:
                torch.mps.set_rng_state(before)


@torch.inference_mode()
def generate(
    model: PreTrainedModel, prompts: Sequence[Sequence[int]], sampling: Sampling
) -> list[Sampled]:
    """Sample one reply to each prompt.

    Args:
        model: a causal language model.
        prompts: token ids of each conversation so far.
        sampling: how to draw.

    Returns:
        For each prompt the reply's token ids and their log-probabilities.
    """
    unique = list(dict.fromkeys(map(tuple, prompts)))
    places = {prompt: place for place, prompt in enumerate(unique)}
    rows = torch.tensor([places[tuple(prompt)] for prompt in prompts], device=model.device)
    ids, mask = pad_left(unique, sampling.pad_id, model.device)
    cache = roomy_cache(model)
    if not shares_rows(cache):
        return _go_on(model, ids[rows], mask[rows], sampling, sampling.max_new_tokens)[0]
    if len(unique) < len(prompts) and ids.shape[1] > 1:
        # All prompts but their last token fill the cache, computed once for equal ones.
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        model.base_model(
            input_ids=ids[:, :-1],
            attention_mask=mask[:, :-1],
            position_ids=positions[:, :-1],
            past_key_values=cache,
            use_cache=True,
        )
        cache.batch_select_indices(rows)
    return _sample(model, ids[rows], mask[rows], sampling, cache)


def _sample(
    model: PreTrainedModel, ids: Tensor, mask: Tensor, sampling: Sampling, cache: DynamicCache
) -> list[Sampled]:
    """Replies to conversations (rows, tokens), in which fewer and fewer rows go on."""
    replies: list[Sampled] = [((), ()) for _ in ids]
    going, left = list(range(len(ids))), sampling.max_new_tokens
    while True:
        found, sequences = _go_on(model, ids, mask, sampling, left, cache)
        for row, (more, logprobs) in zip(going, found, strict=True):
            replies[row] = (replies[row][0] + more, replies[row][1] + logprobs)
        new = sequences.shape[1] - ids.shape[1]
        left -= new
        kept = [i for i, (more, _) in enumerate(found) if more[-1] not in sampling.end_ids]
        if not kept or not left:
            return replies
        going = [going[row] for row in kept]
        picked = torch.tensor(kept, device=ids.device)
        cache.batch_select_indices(picked)
        ids, mask = sequences[picked], pad(mask[picked], (0, new), value=1)


def _go_on(
    model: PreTrainedModel,
    ids: Tensor,
    mask: Tensor,
    sampling: Sampling,
    max_tokens: int,
    cache: DynamicCache | None = None,
) -> tuple[list[Sampled], Tensor]:
    """Continue conversations (rows, tokens) by at most so many tokens.

    With a cache, whose rows can be picked, it ends when half of many rows have ended.

    Returns:
        What is new in each row, and the rows (rows, tokens and new tokens), padded on the right.
    """
    recorder = LogprobRecorder(sampling.temperature)
    arguments: dict[str, Any] = {}
    drawing: dict[str, Any] = {"do_sample": False}
    if not sampling.greedy:
        # From the whole distribution, as the recorded log-probabilities say.
        drawing = {"do_sample": True, "temperature": sampling.temperature, "top_k": 0, "top_p": 1.0}
    if cache is not None:
        arguments["past_key_values"] = cache
        if len(ids) > _MIN_ROWS:
            half = HalfEnded(sampling.end_ids, len(ids), ids.device)
            arguments["stopping_criteria"] = StoppingCriteriaList([half])
    sequences: Tensor = model.generate(  # type: ignore[operator]
        input_ids=ids,
        attention_mask=mask,
        logits_processor=LogitsProcessorList([recorder]),
        **drawing,
        max_new_tokens=max_tokens,
        eos_token_id=list(sampling.end_ids),
        pad_token_id=sampling.pad_id,
        # Weights are whole while episodes are played (`Processes.map_sharded`); models that are in
        # parts otherwise would wait for the other processes at every token.
        synced_gpus=False,
        **arguments,
    )
    logprobs = recorder.finish(sequences)
    new = sequences[:, ids.shape[1] :].tolist()
    return _trim(new, logprobs.tolist(), sampling.end_ids), sequences


def pad_left(
    prompts: Sequence[Sequence[int]], pad_id: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Prompts as ids (rows, longest) and attention mask, padded on the left."""
    longest = max(map(len, prompts))
    ids = [[pad_id] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
    mask = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


def _trim(
    rows: list[list[int]], logprobs: list[list[float]], end_ids: Sequence[int]
) -> list[Sampled]:
    """Drop what follows the first end token of each row."""
    trimmed = []
    for ids, values in zip(rows, logprobs, strict=True):
        ends = [place for place, token in enumerate(ids) if token in end_ids]
        length = ends[0] + 1 if ends else len(ids)
        trimmed.append((tuple(ids[:length]), tuple(values[:length])))
    return trimmed
