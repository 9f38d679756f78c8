"""Text as token ids, for any text environment: int64 arrays in, a `MultiDiscrete` of ids out.

An observation is the last ids of the text that is new to the agent, followed by padding. An action
is the ids before the first padding id; one that begins with padding is silence. The codec `BYTES`
has a token for every byte and needs no download. A model's own tokenizer makes a codec too:

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
from laconic.envs.wrappers.base import Array, ArrayWrapper, Infos, ResetResult, text_of


@dataclass(frozen=True, slots=True)
class Codec:
    """Maps text to token ids and back."""

    encode: Callable[[str], Sequence[int]]
    """Returns the ids of a text, each from 0 to `size` - 1."""
    decode: Callable[[Sequence[int]], str]
    """Returns the text of any ids."""
    size: int
    """Number of different ids."""
    padding: int = 0
    """Id that fills arrays up."""

    def __post_init__(self) -> None:
        """Check that the padding is one of the ids; SettingError otherwise."""
        whole("padding", self.padding, 0, self.size - 1)


def _byte_ids(text: str) -> list[int]:
    return [byte + 1 for byte in text.encode("utf-8", "replace")]


def _byte_text(ids: Sequence[int]) -> str:
    return bytes(number - 1 for number in ids if number).decode("utf-8", "replace")


BYTES = Codec(_byte_ids, _byte_text, 257)
"""Codec with a token for every byte of UTF-8; 0 is the padding."""


class TokenArrays(ArrayWrapper):
    """Agents read and write token ids.

    Args:
        env: any text environment; an observation is a string or has one under `text`.
        codec: maps text to ids and back.
        observation_tokens: length of an observation; a longer text loses its beginning.
        action_tokens: length of an action.

    Raises:
        SettingError: a length is not a whole number of at least 1.
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
        self._observation_tokens = whole("observation_tokens", observation_tokens, 1)
        self._action_tokens = whole("action_tokens", action_tokens, 1)
        space = Box(0, codec.size - 1, (self._observation_tokens,), np.int64)
        super().__init__(env, space, lambda: MultiDiscrete([codec.size] * self._action_tokens))
        self._empty = np.full(self._observation_tokens, codec.padding, np.int64)

    def _message(self, agent: str, action: Any) -> str:
        ids = np.asarray(action)
        if ids.dtype.kind not in "iu" or ids.astype(np.int64) not in self._action_spaces[agent]:
            raise SettingError(
                f"the action of {agent!r} must be {self._action_tokens} ids from 0 to"
                f" {self._codec.size - 1}; got {action!r}"
            )
        padding = np.flatnonzero(ids == self._codec.padding)
        ids = ids[: padding[0]] if len(padding) else ids
        return self._codec.decode(ids.tolist()) if len(ids) else ""

    def _to_arrays(self, observations: Mapping[str, Any], infos: Infos) -> ResetResult:
        figures = {
            agent: self._figures(observation, infos[agent])
            for agent, observation in observations.items()
        }
        arrays = {agent: self._array(text_of(text)) for agent, text in observations.items()}
        self._last |= arrays
        return dict(arrays), figures

    def _array(self, text: str) -> Array:
        ids = list(self._codec.encode(text))[-self._observation_tokens :]
        array = self._empty.copy()
        array[: len(ids)] = ids
        return array
