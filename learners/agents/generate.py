"""Samples replies in batches and keeps token ids and log-probabilities as sampled.

The loop is `transformers`' own, with three additions:

- Tokens are drawn and their log-probabilities recorded in one pass over the vocabulary, which saves
  the forward pass that would recompute them.
- Equal prompts (a group starts from one state) go through the model once.
- Rows that have ended leave the batch instead of being padded until the longest has ended.

With a `ConversationCache` no token of a conversation goes through the model twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os.path import commonprefix
from typing import Any, NamedTuple

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

from laconic.learners.agents.cache import (
    ConversationCache,
    cache_argument,
    preallocated_cache,
    selects_rows,
    short_attention,
    warn_once,
)
from laconic.learners.agents.chat import ReplyEnd
from laconic.learners.errors import NumericalError

Sampled = tuple[tuple[int, ...], tuple[float, ...]]
"""Token ids of a reply and their log-probabilities."""

_MIN_ROWS = 16
"""Batches of up to this number of rows continue until all have ended; stopping saves nothing."""
_MIN_SHARED = 16
"""Tokens of a prefix common to all prompts that are worth a pass of their own."""
_FEW_ROWS = 4
"""Up to this number of rows are read in one pass, whatever their lengths."""
_PASS_TOKENS = 16384
"""Maximum tokens of a pass, padding included; one layer's activations of them are in memory."""
_CHUNK = 2**20
"""Numbers summed up at a time; more do not fit into a processor's caches."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Settings of one call of `generate`."""

    max_new_tokens: int
    """Maximum tokens of a reply, its end token included."""
    temperature: float
    """Divides the logits; log-probabilities are those of the divided logits."""
    greedy: bool
    """True to take the most likely token instead of a random one."""
    end_ids: tuple[int, ...]
    """Tokens that end a reply; kept in the reply."""
    pad_id: int
    """Token that pads rows to a common length."""
    reply_end: ReplyEnd | None = None
    """Finds the silence word, which also ends a reply. None: only end tokens and limits do."""


class Piece(NamedTuple):
    """Tokens that one call adds to a reply."""

    sampled: Sampled
    """New tokens and their log-probabilities."""
    ended: bool
    """True if an end token or the silence word ended the reply."""


class Rows(NamedTuple):
    """Conversations that go through the model together, padded on the left."""

    ids: Tensor
    """Token ids (rows, tokens)."""
    mask: Tensor
    """Attention mask (rows, tokens), 0 on padding."""
    first: int
    """Column at which the replies begin; some of their tokens may be there already."""


@dataclass(eq=False)
class RecordingSampler(LogitsProcessor):
    """Draws a token for each row and records its log-probability.

    `generate` then takes the likeliest token, because the score of the drawn one becomes infinite.

    Each row takes one uniform number u, and the first token whose cumulative probability exceeds u
    (inverse transform sampling). transformers computes a softmax and a random number for every
    entry of the vocabulary, which took a sixth of a small model's rollout on a processor.
    """

    temperature: float
    """Divides the logits; log-probabilities are those of the divided logits."""
    greedy: bool
    """Whether the likeliest token is taken instead of a drawn one."""
    _steps: list[Tensor] = field(default_factory=list)

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Draw from logits (rows, vocabulary), which are `generate`'s own copy and overwritten."""
        likeliest = scores.argmax(1, keepdim=True)
        weights = scores.sub_(scores.gather(1, likeliest)).div_(self.temperature).exp_()
        rows = max(1, _CHUNK // weights.shape[1])
        tokens, logprobs = [], []
        for part, first in zip(weights.split(rows), likeliest.split(rows), strict=True):
            # float32 would lose unlikely tokens in the sum of the others; MPS has nothing wider.
            dtype = torch.float32 if part.device.type == "mps" else torch.float64
            cumulative = part.cumsum(1, dtype=dtype)
            total = cumulative[:, -1:]
            token = first
            if not self.greedy:
                # Rounding may turn the largest share into the whole sum: clamp to the last token.
                share = torch.rand_like(total) * total
                token = torch.searchsorted(cumulative, share, right=True)
                token = token.clamp(max=cumulative.shape[1] - 1)
            tokens.append(token)
            logprobs.append(torch.log(part.gather(1, token) / total))
        self._steps.append(torch.cat(logprobs))
        return weights.scatter_(1, torch.cat(tokens), torch.inf)

    def finish(self) -> Tensor:
        """Return the log-probabilities (rows, tokens drawn), float32.

        `generate` may draw a last token that it does not return.

        Raises:
            NumericalError: the model's logits are not finite.
        """
        logprobs = torch.cat(self._steps, dim=1).float()
        if not torch.isfinite(logprobs).all():
            raise NumericalError(
                "the model's logits are not finite (NaN or infinite), so nothing can be drawn from"
                " them. Its weights have been damaged, as by a learning rate that is too high, or"
                " agent.precision is too coarse for it; continue from an earlier checkpoint"
            )
        return logprobs


class ReplyStopper(StoppingCriteria):
    """Stops each row at the silence word, and on request all rows once half of them have ended."""

    def __init__(
        self, sampling: Sampling, limits: Sequence[int], rows: Rows, stop_at_half: bool
    ) -> None:
        """Watch some rows.

        Args:
            sampling: its end tokens and silence word end a row.
            limits: maximum new tokens of each row.
            rows: the conversations.
            stop_at_half: whether to stop when half of the rows have ended.
        """
        self._reply_end, self._first = sampling.reply_end, rows.first
        self._stop_at_half = stop_at_half
        device = rows.ids.device
        self._end_ids = torch.tensor(sampling.end_ids, device=device, dtype=torch.long)
        self._left = torch.tensor(limits, device=device)
        self._ended = torch.zeros_like(self._left, dtype=torch.bool)
        self._ends = set(sampling.end_ids)
        self._done = [False] * len(limits)
        self.lengths: list[int | None] = [None] * len(limits)
        """Tokens of each row's reply up to the end of the silence word; None without the word."""

    def __call__(self, input_ids: Tensor, scores: Any, **kwargs: Any) -> Tensor:
        """Return which rows stop (rows,)."""
        if self._reply_end is not None:
            for row, token in enumerate(input_ids[:, -1].tolist()):
                if self._done[row]:
                    continue
                if token in self._ends:
                    self._done[row] = True
                elif self._reply_end.can_complete(token):
                    reply = input_ids[row, self._first :].tolist()
                    if self._reply_end.is_complete(reply):
                        self._done[row], self.lengths[row] = True, len(reply)
        device = input_ids.device
        silent = torch.tensor([length is not None for length in self.lengths], device=device)
        if not self._stop_at_half:
            return silent
        self._left -= 1
        self._ended |= torch.isin(input_ids[:, -1], self._end_ids) | (self._left <= 0) | silent
        return silent | (2 * self._ended.sum() >= len(self._ended))


@contextmanager
def seeded(device: torch.device, seed: int) -> Iterator[None]:
    """Seed torch's generators within the body, and restore them afterwards."""
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


# Not inference mode, in which autocast would convert every weight again at every token.
@torch.no_grad()
def generate(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    sampling: Sampling,
    limits: Sequence[int] = (),
    cache: ConversationCache | None = None,
    ends: Sequence[Sequence[int]] = (),
) -> list[Sampled]:
    """Sample one reply to each prompt.

    Args:
        model: a causal language model.
        prompts: token ids of each conversation so far.
        sampling: settings of the sampling.
        limits: maximum tokens of each reply; empty for `sampling.max_new_tokens`.
        cache: keys and values of earlier calls, extended by this one. None: nothing is kept.
        ends: for each prompt the lengths of its prefixes that may be cached, longest first.

    Returns:
        For each prompt the reply's token ids and their log-probabilities.
    """
    rows, limits = [*map(tuple, prompts)], limits or [sampling.max_new_tokens] * len(prompts)
    if not selects_rows(preallocated_cache(model)):
        if cache is not None:
            warn_once(
                "a %s has recurrent layers, whose states are not cached between rounds; whole"
                " conversations are read again in every round",
                type(model).__name__,
            )
        return _generate_by_length(model, rows, sampling, limits)
    cache = cache or ConversationCache(model)
    _read(cache, dict(zip(rows, ends or [()] * len(rows), strict=True)), sampling.pad_id)
    replies = _sample(cache, rows, limits, sampling)
    cache.evict()
    return replies


def _generate_by_length(
    model: PreTrainedModel,
    prompts: Sequence[tuple[int, ...]],
    sampling: Sampling,
    limits: Sequence[int],
) -> list[Sampled]:
    """Sample from a model with recurrent layers, whose state would include padding.

    Prompts of one length go through it together, so there is no padding before them.
    """
    lengths: dict[int, list[int]] = {}
    for row, prompt in enumerate(prompts):
        lengths.setdefault(len(prompt), []).append(row)
    replies: list[Sampled] = [((), ()) for _ in prompts]
    for group in lengths.values():
        ids, mask = pad_left([prompts[row] for row in group], sampling.pad_id, model.device)
        rows = Rows(ids, mask, ids.shape[1])
        pieces, _ = _continue(model, rows, sampling, [limits[row] for row in group])
        for row, piece in zip(group, pieces, strict=True):
            replies[row] = piece.sampled
    return replies


def _read(
    cache: ConversationCache, prompts: Mapping[tuple[int, ...], Sequence[int]], pad_id: int
) -> None:
    """Cache all of the prompts except their last token, which is read with the reply."""
    new = [text for text, ends in prompts.items() if not len(cache.longest_prefix(text, ends))]
    shared = tuple(commonprefix([prompt[:-1] for prompt in new]))
    if len(new) > 1 and len(shared) >= _MIN_SHARED:
        cache.share(shared, pad_id)
    prefixes = {text[:-1]: cache.longest_prefix(text, ends) for text, ends in prompts.items()}
    lengths = {
        text: len(text) - len(prefix)
        for text, prefix in prefixes.items()
        if len(text) > len(prefix)
    }
    for texts in _bucket_by_length(lengths):
        cache.read(texts, [prefixes[text] for text in texts], pad_id)


def _bucket_by_length(lengths: Mapping[tuple[int, ...], int]) -> Iterator[list[tuple[int, ...]]]:
    """Yield texts of similar length, with little padding and one pass per bucket."""
    bucket: list[tuple[int, ...]] = []
    for text in sorted(lengths, key=lengths.__getitem__):
        new = lengths[text]
        few = len(bucket) < _FEW_ROWS
        near = bucket and 4 * new <= 5 * lengths[bucket[0]]
        if bucket and (not (few or near) or new * (len(bucket) + 1) > _PASS_TOKENS):
            yield bucket
            bucket = []
        bucket.append(text)
    if bucket:
        yield bucket


def _sample(
    cache: ConversationCache,
    prompts: Sequence[tuple[int, ...]],
    limits: Sequence[int],
    sampling: Sampling,
) -> list[Sampled]:
    """Sample replies to prompts that are cached except for their last token.

    Whenever half of the rows have ended, the rest continue in a smaller batch.
    """
    model, prefixes = cache.model, [cache.longest_prefix(prompt, ()) for prompt in prompts]
    ids, mask = pad_left(prompts, sampling.pad_id, model.device)
    states, first = cache.rows(prefixes)[0], ids.shape[1]
    replies: list[Sampled] = [((), ()) for _ in prompts]
    active, remaining = list(range(len(prompts))), list(limits)
    while True:
        pieces, sequences = _continue(model, Rows(ids, mask, first), sampling, remaining, states)
        for row, (tokens, logprobs) in zip(active, (p.sampled for p in pieces), strict=True):
            replies[row] = (replies[row][0] + tokens, replies[row][1] + logprobs)
        remaining = [limits[row] - len(replies[row][0]) for row in active]
        unended = [i for i, piece in enumerate(pieces) if remaining[i] and not piece.ended]
        if cache.keeps:
            ended = [i for i in range(len(active)) if i not in set(unended)]
            rows = [active[i] for i in ended]
            texts = [prompts[row] + replies[row][0][:-1] for row in rows]
            cache.store(states, texts, [prefixes[row] for row in rows], ended, first - 1)
        if not unended:
            return replies
        new = sequences.shape[1] - ids.shape[1]
        active, remaining = [active[i] for i in unended], [remaining[i] for i in unended]
        index = torch.tensor(unended, device=ids.device)
        states.batch_select_indices(index)
        ids, mask = sequences[index], pad(mask[index], (0, new), value=1)


def _continue(
    model: PreTrainedModel,
    rows: Rows,
    sampling: Sampling,
    limits: Sequence[int],
    cache: DynamicCache | None = None,
) -> tuple[list[Piece], Tensor]:
    """Continue conversations, each by at most its limit of tokens.

    With a cache, whose rows can be selected, a large batch stops when half of its rows have ended.

    Args:
        model: a causal language model.
        rows: the conversations.
        sampling: settings of the sampling.
        limits: maximum new tokens of each row.
        cache: keys and values of all but the last token. None: all tokens are read.

    Returns:
        The new piece of each row, and the rows (rows, tokens and new tokens), padded on the right.
    """
    sampler = RecordingSampler(sampling.temperature, sampling.greedy)
    arguments: dict[str, Any] = {} if cache is None else {cache_argument(model): cache}
    criteria, stopper = StoppingCriteriaList(), None
    stop_at_half = cache is not None and len(rows.ids) > _MIN_ROWS
    if stop_at_half or sampling.reply_end is not None:
        stopper = ReplyStopper(sampling, limits, rows, stop_at_half)
        criteria.append(stopper)
    with short_attention():
        sequences: Tensor = model.generate(  # type: ignore[operator]
            input_ids=rows.ids,
            attention_mask=rows.mask,
            logits_processor=LogitsProcessorList([sampler]),
            do_sample=False,
            max_new_tokens=max(limits),
            eos_token_id=list(sampling.end_ids),
            pad_token_id=sampling.pad_id,
            # Weights are whole while episodes are played (`Processes.map_sharded`). Sharded models
            # would otherwise wait for the other processes at every token.
            synced_gpus=False,
            stopping_criteria=criteria,
            **arguments,
        )
    columns = rows.ids.shape[1]
    # Tokens of each reply that earlier calls have sampled.
    earlier = columns - rows.first
    words = stopper.lengths if stopper is not None else [None] * len(rows.ids)
    pieces = []
    for ids, logprobs, limit, word in zip(
        sequences[:, columns:].tolist(), sampler.finish().tolist(), limits, words, strict=True
    ):
        ends = [place for place, token in enumerate(ids) if token in sampling.end_ids]
        length = min(ends[0] + 1 if ends else len(ids), limit)
        if word is not None:
            length = min(length, word - earlier)
        ended = word is not None or ids[length - 1] in sampling.end_ids
        pieces.append(Piece((tuple(ids[:length]), tuple(logprobs[:length])), ended))
    return pieces, sequences


def pad_left(
    prompts: Sequence[Sequence[int]], pad_id: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Return prompts as ids (rows, longest) and attention mask, padded on the left."""
    longest = max(map(len, prompts))
    ids = [[pad_id] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
    mask = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)
