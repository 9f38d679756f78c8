"""The spaces of a dialogue, and a text space that holds any string.

`gymnasium.spaces.Text` admits letters and digits unless it is given a charset, and refuses the
empty string, which here means silence. A charset of all Unicode takes seconds to build and tens of
megabytes to pickle, so membership is relaxed instead and sampling keeps to printable ASCII.
"""

from __future__ import annotations

import string
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Text

from laconic.envs.dialogue.budget import UNLIMITED

_SAMPLED = string.ascii_letters + string.digits + string.punctuation + " \n"
_SAMPLED_LENGTH = 64


class FreeText(Text):
    """All strings, the empty one among them; samples have at most 64 printable characters."""

    def __init__(self, seed: int | None = None) -> None:
        """Seed the sampling generator."""
        super().__init__(max_length=_SAMPLED_LENGTH, min_length=0, charset=_SAMPLED, seed=seed)

    def contains(self, x: Any) -> bool:
        """Whether `x` is a string."""
        return isinstance(x, str)

    def __repr__(self) -> str:
        """Show the space by its name alone."""
        return "FreeText()"

    def __eq__(self, other: object) -> bool:
        """All free text spaces are equal."""
        return isinstance(other, FreeText)


def observation_space() -> Dict:
    """What an agent of a dialogue observes: `text` and `tokens_left`, int32 of shape (4,)."""
    left = Box(0, UNLIMITED, shape=(4,), dtype=np.int32)
    return Dict({"text": FreeText(), "tokens_left": left})
