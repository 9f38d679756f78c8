"""A cache of keys and values that has room for the tokens to come.

The cache of `transformers` grows by copying all it holds at every token, which took a seventh of a
training step of the tiny policy. This one writes into spare room and copies only when that is used
up. What attention reads has the same values in the same places.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer

ROOM = 32
"""Tokens for which there is room after a copy."""


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
        if buffer is None or not _begins(buffer, held) or buffer.shape[-2] < total:
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


def _begins(buffer: Tensor, held: Tensor | None) -> bool:
    """Whether what is held lies at the front of a buffer: rows that were picked are a copy."""
    if held is None or buffer.data_ptr() != held.data_ptr():
        return False
    return buffer.shape[:2] == held.shape[:2] and buffer.stride() == held.stride()


def shares_rows(cache: DynamicCache) -> bool:
    """Whether rows of a cache can be picked; those of recurrent layers cannot."""
    return all(isinstance(layer, DynamicLayer) for layer in cache.layers)
