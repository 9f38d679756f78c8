"""Batched sampling that keeps token ids and log-probabilities as sampled.

The loop is `transformers`' own. Three things are added to it: tokens are drawn, and their
log-probabilities recorded, in one pass (`drawing`), which saves the forward pass that would
recompute them; prompts that occur several times (a group starts from one state) go through the
model once; and replies that have ended, silent ones at once, leave the batch instead of being
padded until the longest has ended.
With a `Memory` no token of a conversation goes through the model twice, at any number of rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os.path import commonprefix
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers import (
    DynamicCache,
    LogitsProcessorList,
    PreTrainedModel,
    StoppingCriteria,
    StoppingCriteriaList,
)

from laconic.envs.errors import SettingError
from laconic.learners.agents.cache import (
    Memory,
    cache_argument,
    roomy_cache,
    shares_rows,
    warn_once,
)
from laconic.learners.agents.drawing import Drawing
from laconic.learners.agents.silence import ReplyEnd

Sampled = tuple[tuple[int, ...], tuple[float, ...]]
"""Token ids of a reply and their log-probabilities."""


class Piece(NamedTuple):
    """What one call has added to a reply."""

    sampled: Sampled
    """The new tokens."""
    ended: bool
    """Whether an end token or the silence word has ended the reply."""


_MIN_ROWS = 16
"""Batches of so few rows go on until all have ended; leaving earlier would save nothing."""
_SHARED = 16
"""A beginning of so many tokens is worth a pass of its own, if all prompts have it in common."""
_FEW = 4
"""So few rows are read in one pass, of whatever length they are."""
_PASS = 16384
"""Tokens, padding included, that are read in one pass; what a layer computes of them is in memory
at a time."""


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
    reply_end: ReplyEnd | None = None
    """Finds the silence word, which ends a reply too. None: only end tokens and limits do."""


class WordEnded(StoppingCriteria):
    """Stops each row at the token that completes the silence word."""

    def __init__(self, reply_end: ReplyEnd, end_ids: Sequence[int], rows: int, first: int) -> None:
        """Watch some rows.

        Args:
            reply_end: finds the word.
            end_ids: tokens that end a reply, behind which nothing is looked for.
            rows: number of rows.
            first: column at which the replies begin.
        """
        self._reply_end, self._end_ids, self._first = reply_end, set(end_ids), first
        self.lengths: list[int | None] = [None] * rows
        """For each row the tokens of its reply up to the end of the word; None without the word."""
        self._over = [False] * rows

    def __call__(self, input_ids: Tensor, scores: Any, **kwargs: Any) -> Tensor:
        """Return which rows have ended by the word (rows,)."""
        for row, token in enumerate(input_ids[:, -1].tolist()):
            if self._over[row]:
                continue
            if token in self._end_ids:
                self._over[row] = True
            elif self._reply_end.can_complete(token):
                reply = input_ids[row, self._first :].tolist()
                if self._reply_end.is_complete(reply):
                    self._over[row], self.lengths[row] = True, len(reply)
        return self.ended(input_ids.device)

    def ended(self, device: torch.device) -> Tensor:
        """Return which rows have ended by the word (rows,)."""
        return torch.tensor([length is not None for length in self.lengths], device=device)


class HalfEnded(StoppingCriteria):
    """Stops all rows once half of them have ended, for those that have not to go on alone."""

    def __init__(
        self,
        end_ids: Sequence[int],
        limits: Sequence[int],
        device: torch.device,
        word: WordEnded | None = None,
    ) -> None:
        """Take what ends a row.

        Args:
            end_ids: tokens that end a reply.
            limits: how many tokens each row may have.
            device: of the rows.
            word: knows which rows the silence word has ended; called before this one.
        """
        self._word = word
        self._end_ids = torch.tensor(end_ids, device=device, dtype=torch.long)
        self._left = torch.tensor(limits, device=device)
        self._ended = torch.zeros_like(self._left, dtype=torch.bool)

    def __call__(self, input_ids: Tensor, scores: Any, **kwargs: Any) -> Tensor:
        """Whether to stop (rows,); no row stops before the others."""
        self._left -= 1
        self._ended |= torch.isin(input_ids[:, -1], self._end_ids) | (self._left <= 0)
        if self._word is not None:
            self._ended |= self._word.ended(input_ids.device)
        return (2 * self._ended.sum() >= len(self._ended)).expand(len(self._ended))


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


# Not inference mode, in which autocast would convert every weight again at every token.
@torch.no_grad()
def generate(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    sampling: Sampling,
    limits: Sequence[int] = (),
    memory: Memory | None = None,
    ends: Sequence[Sequence[int]] = (),
) -> list[Sampled]:
    """Sample one reply to each prompt.

    Args:
        model: a causal language model.
        prompts: token ids of each conversation so far.
        sampling: how to draw.
        limits: max. tokens of each reply; empty for those of the sampling.
        memory: what is held of earlier calls, and takes up this one; None holds nothing.
        ends: for each prompt the lengths of its beginnings that may be held, longest first.

    Returns:
        For each prompt the reply's token ids and their log-probabilities.
    """
    rows, limits = [*map(tuple, prompts)], limits or [sampling.max_new_tokens] * len(prompts)
    if not shares_rows(roomy_cache(model)):
        if memory is not None:
            warn_once(
                "a %s has more than keys and values of tokens to remember; whole conversations are"
                " read again in every round",
                type(model).__name__,
            )
        return _by_length(model, rows, sampling, limits)
    memory = memory or Memory(model)
    _read(memory, dict(zip(rows, ends or [()] * len(rows), strict=True)), sampling.pad_id)
    replies = _sample(memory, rows, limits, sampling)
    memory.settle()
    return replies


def _by_length(
    model: PreTrainedModel,
    prompts: Sequence[tuple[int, ...]],
    sampling: Sampling,
    limits: Sequence[int],
) -> list[Sampled]:
    """Sample from a model with recurrent layers, whose state padding would change.

    Prompts of one length go through it together, so there is no padding before them.
    """
    lengths: dict[int, list[int]] = {}
    for row, prompt in enumerate(prompts):
        lengths.setdefault(len(prompt), []).append(row)
    replies: list[Sampled] = [((), ()) for _ in prompts]
    for group in lengths.values():
        ids, mask = pad_left([prompts[row] for row in group], sampling.pad_id, model.device)
        rows = Rows(ids, mask, ids.shape[1])
        pieces, _ = _go_on(model, rows, sampling, [limits[row] for row in group])
        for row, piece in zip(group, pieces, strict=True):
            replies[row] = piece.sampled
    return replies


_CHECKED: set[tuple[type, torch.dtype]] = set()
"""Classes of models, with their types of numbers, that `check_sampling` has passed."""


@torch.no_grad()
def check_sampling(model: PreTrainedModel, name: str, exact: bool) -> None:
    """Refuse a model that gives other log-probabilities in a batch than alone.

    Such a model ignores the attention mask, or its cache has a form that is not known here. Every
    importance ratio would be wrong. Each class of models is checked once.

    Args:
        model: a causal language model.
        name: of the model, for the message.
        exact: whether all is computed in float32.

    Raises:
        SettingError: says how far the two are apart, or what failed.
    """
    kind = (type(model), model.dtype)
    if kind in _CHECKED:
        return
    size = len(model.get_input_embeddings().weight)  # type: ignore[arg-type]
    prompts = [tuple(place % size for place in range(first, last)) for first, last in _CHECK_SPANS]
    sampling = Sampling(4, 1.0, greedy=False, end_ids=(), pad_id=0)
    refusal = f"agent.model={name!r} is a {type(model).__name__}, which cannot be sampled from here"
    try:
        with seeded(model.device, 0):
            replies = generate(model, prompts, sampling)
    except (AttributeError, TypeError, ValueError) as error:
        raise SettingError(
            f"{refusal}: {type(error).__name__}: {error}; take a model with attention layers"
        ) from error
    apart = [
        abs(alone - logprob)
        for prompt, (ids, logprobs) in zip(prompts, replies, strict=True)
        for alone, logprob in zip(_alone(model, prompt, ids), logprobs, strict=True)
    ]
    distance = sum(apart) / len(apart)
    if not distance <= (0.01 if exact else 0.2):
        raise SettingError(
            f"{refusal}: its log-probabilities in a padded batch are {distance:.2g} nats a"
            " token from those of a row alone, so every importance ratio would be wrong; take a"
            " model that heeds its attention mask"
        )
    _CHECKED.add(kind)


_CHECK_SPANS = ((5, 9), (7, 19), (5, 9))
"""Token ids of the prompts that `check_sampling` reads: two lengths, and one prompt twice."""


def _alone(model: PreTrainedModel, prompt: Sequence[int], reply: Sequence[int]) -> list[float]:
    """Return the log-probability of each token of a reply, by a plain pass without padding."""
    ids = torch.tensor([[*prompt, *reply]], device=model.device)
    logits = model(input_ids=ids, use_cache=False).logits[0, len(prompt) - 1 : -1]
    rows = torch.log_softmax(logits.float(), dim=-1)
    return [float(row[token]) for row, token in zip(rows, reply, strict=True)]


def _read(memory: Memory, prompts: Mapping[tuple[int, ...], Sequence[int]], pad_id: int) -> None:
    """Have all of the prompts in memory but their last token, which is read with the reply."""
    fresh = [prompt for prompt, ends in prompts.items() if not len(memory.longest(prompt, ends))]
    shared = tuple(commonprefix([prompt[:-1] for prompt in fresh]))
    if len(fresh) > 1 and len(shared) >= _SHARED:
        memory.share(shared, pad_id)
    held = {prompt[:-1]: memory.longest(prompt, ends) for prompt, ends in prompts.items()}
    new = {text: len(text) - len(past) for text, past in held.items() if len(text) > len(past)}
    for texts in _alike(new):
        memory.read(texts, [held[text] for text in texts], pad_id)


def _alike(lengths: Mapping[tuple[int, ...], int]) -> Iterator[list[tuple[int, ...]]]:
    """Texts by length, in parts that take little padding and one pass each."""
    part: list[tuple[int, ...]] = []
    for text in sorted(lengths, key=lengths.__getitem__):
        new = lengths[text]
        few = len(part) < _FEW
        near = part and 4 * new <= 5 * lengths[part[0]]
        if part and (not (few or near) or new * (len(part) + 1) > _PASS):
            yield part
            part = []
        part.append(text)
    if part:
        yield part


def _sample(
    memory: Memory,
    prompts: Sequence[tuple[int, ...]],
    limits: Sequence[int],
    sampling: Sampling,
) -> list[Sampled]:
    """Replies to conversations of which all but the last token is held; fewer and fewer go on."""
    model, held = memory.model, [memory.longest(prompt, ()) for prompt in prompts]
    ids, mask = pad_left(prompts, sampling.pad_id, model.device)
    cache, first = memory.cache(held)[0], ids.shape[1]
    replies: list[Sampled] = [((), ()) for _ in prompts]
    going, left = list(range(len(prompts))), list(limits)
    while True:
        pieces, sequences = _go_on(model, Rows(ids, mask, first), sampling, left, cache)
        for row, (more, logprobs) in zip(going, (one.sampled for one in pieces), strict=True):
            replies[row] = (replies[row][0] + more, replies[row][1] + logprobs)
        rest = [limits[row] - len(replies[row][0]) for row in going]
        kept = [i for i, piece in enumerate(pieces) if rest[i] and not piece.ended]
        if memory.keeps:
            gone = [i for i in range(len(going)) if i not in set(kept)]
            rows = [going[i] for i in gone]
            texts = [prompts[row] + replies[row][0][:-1] for row in rows]
            memory.hold(cache, texts, [held[row] for row in rows], gone, first - 1)
        if not kept:
            return replies
        new = sequences.shape[1] - ids.shape[1]
        going, left = [going[i] for i in kept], [rest[i] for i in kept]
        picked = torch.tensor(kept, device=ids.device)
        cache.batch_select_indices(picked)
        ids, mask = sequences[picked], pad(mask[picked], (0, new), value=1)


class Rows(NamedTuple):
    """Conversations that go through the model together, padded on the left."""

    ids: Tensor
    """(rows, tokens) token ids."""
    mask: Tensor
    """(rows, tokens) attention mask, 0 on padding."""
    first: int
    """Column at which the replies begin; some of their tokens may be there already."""


def _go_on(
    model: PreTrainedModel,
    rows: Rows,
    sampling: Sampling,
    limits: Sequence[int],
    cache: DynamicCache | None = None,
) -> tuple[list[Piece], Tensor]:
    """Continue conversations, each by as many tokens as it may have.

    With a cache, whose rows can be picked, it ends when half of many rows have ended.

    Args:
        model: a causal language model.
        rows: the conversations.
        sampling: how to draw.
        limits: most new tokens of each row.
        cache: keys and values of all but the last token; None reads all of it.

    Returns:
        What is new in each row, and the rows (rows, tokens and new tokens), padded on the right.
    """
    drawing = Drawing(sampling.temperature, sampling.greedy)
    arguments: dict[str, Any] = {}
    criteria, word = StoppingCriteriaList(), None
    if sampling.reply_end is not None:
        word = WordEnded(sampling.reply_end, sampling.end_ids, len(rows.ids), rows.first)
        criteria.append(word)
    if cache is not None:
        arguments[cache_argument(model)] = cache
        if len(rows.ids) > _MIN_ROWS:
            criteria.append(HalfEnded(sampling.end_ids, limits, rows.ids.device, word))
    sequences: Tensor = model.generate(  # type: ignore[operator]
        input_ids=rows.ids,
        attention_mask=rows.mask,
        logits_processor=LogitsProcessorList([drawing]),
        do_sample=False,
        max_new_tokens=max(limits),
        eos_token_id=list(sampling.end_ids),
        pad_token_id=sampling.pad_id,
        # Weights are whole while episodes are played (`Processes.map_sharded`); models that are in
        # parts otherwise would wait for the other processes at every token.
        synced_gpus=False,
        stopping_criteria=criteria,
        **arguments,
    )
    columns = rows.ids.shape[1]
    # Tokens up to the end of the word, without those that were there before.
    by_word = [
        None if length is None else length - (columns - rows.first)
        for length in (word.lengths if word is not None else [None] * len(rows.ids))
    ]
    most = [
        limit if length is None else min(limit, length)
        for limit, length in zip(limits, by_word, strict=True)
    ]
    new = sequences[:, columns:].tolist()
    trimmed = _trim(new, drawing.finish().tolist(), most, sampling.end_ids)
    pieces = [
        Piece(one, length is not None or one[0][-1] in sampling.end_ids)
        for one, length in zip(trimmed, by_word, strict=True)
    ]
    return pieces, sequences


def pad_left(
    prompts: Sequence[Sequence[int]], pad_id: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Prompts as ids (rows, longest) and attention mask, padded on the left."""
    longest = max(map(len, prompts))
    ids = [[pad_id] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
    mask = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


def _trim(
    rows: list[list[int]],
    logprobs: list[list[float]],
    limits: Sequence[int],
    end_ids: Sequence[int],
) -> list[Sampled]:
    """Drop what follows the first end token of each row, or its limit (the end of the word)."""
    trimmed = []
    for ids, values, limit in zip(rows, logprobs, limits, strict=True):
        ends = [place for place, token in enumerate(ids) if token in end_ids]
        length = min(ends[0] + 1 if ends else len(ids), limit)
        trimmed.append((tuple(ids[:length]), tuple(values[:length])))
    return trimmed
