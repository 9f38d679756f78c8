"""What need not be computed again, keys and values of tokens and tokens of texts, and what fits.

The cache of `transformers` copies all it holds at every token, a seventh of a training step of the
tiny policy; the one here writes into spare room.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from inspect import signature
from sys import getsizeof
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

Texts = TypeVar("Texts", bound=Sequence[Any])

warn_once = lru_cache(logging.getLogger(__name__).warning)

ROOM = 32
"""Tokens for which there is room after a copy."""
_BYTES = 4 * 2**30
_TEXT_BYTES = 64 * 2**20
"""Of the texts whose tokens are kept: the episodes of a group read and say much the same."""
NOTHING = np.zeros(0, np.int64)
"""The places of no tokens."""


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
    """An empty cache for a model; layers of kinds of their own (recurrent) stay as they are.

    Layers that look back a few tokens keep all of them too: which of them are seen is the mask's
    business.
    """
    cache = DynamicCache(config=model.config)
    attention = (DynamicLayer, DynamicSlidingWindowLayer)
    cache.layers = [RoomyLayer() if type(one) in attention else one for one in cache.layers]
    return cache


def cache_argument(model: PreTrainedModel) -> str:
    """As what a model is given keys and values: it has another name since `transformers` 5.24."""
    return "cache" if "cache" in signature(model.forward).parameters else "past_key_values"


def shares_rows(cache: DynamicCache) -> bool:
    """Whether rows of a cache can be picked; those of recurrent layers cannot."""
    return all(isinstance(layer, RoomyLayer) for layer in cache.layers)


class Memory:
    """Keys and values of conversations, each token once, for as long as the weights stay.

    They are found by the token ids that they stand for, so what a policy answers does not depend on
    what is held. Conversations with a common beginning have its places in common.
    """

    def __init__(self, model: PreTrainedModel, most: int = 0) -> None:
        """Start empty.

        Args:
            model: whose they are.
            most: tokens that are kept from one call to the next.
        """
        self.model = model
        self.keeps = most > 0
        self._most = most
        self._opening: tuple[int, ...] = ()
        self._places: dict[tuple[int, ...], np.ndarray] = {}
        # (tokens, heads, width): the keys of each layer, then its values; place 0 fills rows.
        self._states: list[Tensor] = []
        self._used = 1

    def longest(self, prompt: tuple[int, ...], ends: Iterable[int]) -> np.ndarray:
        """The places (tokens) of the longest beginning of a prompt that is held.

        Args:
            prompt: a conversation so far; its last token is always left to be read.
            ends: lengths of beginnings that may be held, longest first.
        """
        whole = len(prompt) - 1
        shared = len(self._opening) if prompt[: len(self._opening)] == self._opening else 0
        for end in (whole, *ends, shared):
            if end <= whole and (found := self._places.get(prompt[:end])) is not None:
                return found
        return NOTHING

    def read(self, texts: Sequence[tuple[int, ...]], held: Sequence[np.ndarray], pad: int) -> None:
        """Pass what is new in some texts through the model, and hold it.

        Args:
            texts: token ids.
            held: the places of what is held of each.
            pad: fills rows.
        """
        news = [text[len(past) :] for text, past in zip(texts, held, strict=True)]
        cache, mask = self.cache(held)
        width, past = max(map(len, news)), mask.shape[1]
        # On the right: keys and values of a row stay side by side, as windows count them.
        ids = torch.tensor([[*new, *[pad] * (width - len(new))] for new in news])
        there = torch.tensor([[1] * len(new) + [0] * (width - len(new)) for new in news])
        mask = torch.cat([mask, there], dim=1).to(self.model.device)
        self.model.base_model(
            input_ids=ids.to(mask.device),
            attention_mask=mask,
            position_ids=(mask.cumsum(-1) - 1).clamp(min=0)[:, past:],
            use_cache=True,
            **{cache_argument(self.model): cache},
        )
        self.hold(cache, texts, held, range(len(texts)), past)

    def share(self, text: tuple[int, ...], pad: int) -> None:
        """Read what several prompts begin with."""
        self.read([text], [NOTHING], pad)
        self._opening = text

    def hold(
        self,
        cache: DynamicCache,
        texts: Sequence[tuple[int, ...]],
        held: Sequence[np.ndarray],
        rows: Sequence[int],
        column: int,
    ) -> None:
        """Copy what is new in some texts out of a cache.

        Args:
            cache: has it from a column on.
            texts: token ids.
            held: the places of what is held of each.
            rows: of the cache, one for each text.
            column: where the new tokens of each text begin.
        """
        counts = [len(text) - len(past) for text, past in zip(texts, held, strict=True)]
        places = np.split(np.arange(self._used, self._used + sum(counts)), np.cumsum(counts)[:-1])
        self._put(
            cache, np.repeat(rows, counts), np.concatenate([*map(np.arange, counts)]) + column
        )
        for text, past, new in zip(texts, held, places, strict=True):
            self._places[text] = np.concatenate([past, new])

    def cache(self, held: Sequence[np.ndarray]) -> tuple[DynamicCache, Tensor]:
        """A cache of rows at some places, and its mask (rows, longest), padded on the left."""
        width = max(map(len, held))
        places = np.zeros((len(held), width), np.int64)
        for row, one in zip(places, held, strict=True):
            row[width - len(one) :] = one
        cache, index = roomy_cache(self.model), torch.from_numpy(places)
        layers: Any = cache.layers
        if width:
            flat = index.flatten().to(self.model.device)
            for number, layer in enumerate(layers):
                keys, values = self._states[2 * number : 2 * number + 2]
                layer.update(*(_rows(states, flat, len(held)) for states in (keys, values)))
        return cache, (index > 0).long()

    def settle(self) -> None:
        """Forget what there is no room for; to be called when a reply is done."""
        if self.keeps and self._used > self._most:
            self._places = {
                text: places for text, places in self._places.items() if places[-1] < self._most
            }
            self._used = self._most
            warn_once(
                "conversations have more than the %d tokens that are kept between rounds; the rest"
                " is read again in every round. Raise agent.speech.generate_tokens where there is"
                " memory",
                self._most,
            )

    def _put(self, cache: DynamicCache, rows: np.ndarray, columns: np.ndarray) -> None:
        """Append keys and values at some (row, column) of a cache to what is held."""
        begin, self._used = self._used, self._used + len(rows)
        device = self.model.device
        at = torch.from_numpy(rows).to(device), torch.from_numpy(columns).to(device)
        layers: Any = cache.layers
        states = (part for layer in layers for part in (layer.keys, layer.values))
        for number, part in enumerate(states):
            new = part[at[0], :, at[1]]
            if number == len(self._states):
                self._states.append(new.new_zeros((1, *new.shape[1:])))
            if self._used > len(self._states[number]):
                larger = new.new_empty((self._used * 3 // 2, *new.shape[1:]))
                larger[:begin] = self._states[number][:begin]
                self._states[number] = larger
            self._states[number][begin : self._used] = new


def _rows(states: Tensor, places: Tensor, count: int) -> Tensor:
    """What (tokens, heads, width) holds at (rows * length), as (rows, heads, length, width)."""
    return states.index_select(0, places).view(count, -1, *states.shape[1:]).transpose(1, 2)


def default_tokens(model: PreTrainedModel) -> int:
    """As many tokens as have 4 GiB of keys and values, in the numbers of the weights."""
    config = model.config.get_text_config()
    heads = getattr(config, "num_attention_heads", None) or 1
    width = getattr(config, "head_dim", None) or config.hidden_size // heads
    shared = getattr(config, "num_key_value_heads", None)
    heads = shared if isinstance(shared, int) else heads
    token = 2 * config.num_hidden_layers * heads * width * model.dtype.itemsize
    return _BYTES // int(token)


def calls(
    lengths: Sequence[int], limits: Sequence[int], positions: int | None, most: int
) -> Iterator[list[int]]:
    """Which rows go into which generate call.

    All rows of a call go on to the longest limit among them, so rows without that much room are
    called apart.

    Args:
        lengths: tokens of each prompt.
        limits: max. tokens of each reply; rows that may have none are in no call.
        positions: tokens that a conversation may have; None for any number.
        most: tokens, padding included, of one call. Where there are several, rows of like length
            are together; each has one row at least.
    """
    longest = max(limits, default=0)
    together: dict[int, list[int]] = {longest: []}
    for row, (length, limit) in enumerate(zip(lengths, limits, strict=True)):
        if limit > 0:
            fits = positions is None or length + longest <= positions
            together.setdefault(longest if fits else limit, []).append(row)
    for limit, rows in together.items():
        part: list[int] = rows
        if len(rows) * max((lengths[row] + limit for row in rows), default=0) > most:
            part = []
            for row in sorted(rows, key=lengths.__getitem__):
                if part and (len(part) + 1) * (lengths[row] + limit) > most:
                    yield part
                    part = []
                part.append(row)
        if part:
            yield part


def remembered(function: Callable[[str], Texts]) -> Callable[[str], Texts]:
    """A function of texts that keeps what it returned; it forgets all when that is 64 MiB."""
    kept: dict[str, Texts] = {}
    size = 0

    def call(text: str) -> Texts:
        nonlocal size
        found = kept.get(text)
        if found is None:
            found = function(text)
            # A token is a number and a reference to it.
            size += getsizeof(text) + 36 * len(found)
            if size > _TEXT_BYTES:
                kept.clear()
                size = 0
            kept[text] = found
        return found

    return call
