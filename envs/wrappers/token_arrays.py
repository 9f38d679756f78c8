"""Text as token ids: an int64 array in, a `MultiDiscrete` of ids out.

For any text environment. An observation is the last ids of what is new to the agent, filled up with
the padding id; an action is the ids before the first padding id, so one that begins with it is
silence. `BYTES` makes a token of every byte and needs no download; a model brings the codec of its
own tokenizer:

    Codec(tokenizer.encode, tokenizer.decode, len(tokenizer), tokenizer.pad_token_id)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Box, MultiDiscrete
from pettingzoo import ParallelEnv

from laconic.envs.checks import whole
from laconic.envs.errors import SettingError
from laconic.envs.wrappers.base import Array, ArrayWrapper, Infos, Started, text_of


@dataclass(frozen=True, slots=True)
class Codec:
    """From text to token ids and back."""

    encode: Callable[[str], Sequence[int]]
    """The ids of a text, each from 0 to `size` - 1."""
    decode: Callable[[Sequence[int]], str]
    """The text of some ids, whatever they are."""
    size: int
    """Number of different ids."""
    padding: int = 0
    """The id that stands for nothing."""

    def __post_init__(self) -> None:
        """Raise SettingError where the padding is none of the ids."""
        whole("padding", self.padding, 0, self.size - 1)


def _byte_ids(text: str) -> list[int]:
    return [byte + 1 for byte in text.encode("utf-8", "replace")]


def _byte_text(ids: Sequence[int]) -> str:
    return bytes(number - 1 for number in ids if number).decode("utf-8", "replace")


BYTES = Codec(_byte_ids, _byte_text, 257)
"""One token for every byte of UTF-8; 0 is the padding."""


class TokenArrays(ArrayWrapper):
    """Agents read and write token ids.

    Args:
        env: any text environment; an observation is a string or has one under `text`.
        codec: makes ids of text, and text of ids.
        observation_tokens: length of an observation; of a longer text the end is shown.
        action_tokens: length of an action.

    Raises:
        SettingError: a length is no whole number of at least 1.
    """

    def __init__(
        self,
        env: ParallelEnv[str, Any, Any],
        *,
        codec: Codec = BYTES,
        observation_tokens: int = 1024,
        action_tokens: int = 64,
    ) -> None:
        """Fix the shapes."""
        self._codec = codec
        self._length = whole("observation_tokens", observation_tokens, 1)
        self._words = whole("action_tokens", action_tokens, 1)
        space = Box(0, codec.size - 1, (self._length,), np.int64)
        super().__init__(env, space, lambda: MultiDiscrete([codec.size] * self._words))
        self._empty = np.full(self._length, codec.padding, np.int64)

    def _said(self, agent: str, action: Any) -> str:
        ids = np.asarray(action)
        if ids.dtype.kind not in "iu" or ids.astype(np.int64) not in self._actions[agent]:
            raise SettingError(
                f"the action of {agent!r} must be {self._words} ids from 0 to"
                f" {self._codec.size - 1}; got {action!r}"
            )
        padded = np.flatnonzero(ids == self._codec.padding)
        kept = ids[: padded[0]] if len(padded) else ids
        return self._codec.decode(kept.tolist()) if len(kept) else ""

    def _shown(self, observations: Mapping[str, Any], infos: Infos) -> Started:
        figures = {agent: self._figures(seen, infos[agent]) for agent, seen in observations.items()}
        shown = {agent: self._array(text_of(seen)) for agent, seen in observations.items()}
        self._seen |= shown
        return dict(shown), figures

    def _array(self, text: str) -> Array:
        ids = list(self._codec.encode(text))[-self._length :]
        array = self._empty.copy()
        array[: len(ids)] = ids
        return array
