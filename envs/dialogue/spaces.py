"""The spaces of a dialogue, a text space that holds any string, and who has them.

`gymnasium.spaces.Text` admits letters and digits unless it is given a charset, and refuses the
empty string, which here means silence. A charset of all Unicode takes seconds to build and tens of
megabytes to pickle, so membership is relaxed instead and sampling keeps to printable ASCII.
"""

from __future__ import annotations

import string
from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Space, Text
from pettingzoo import ParallelEnv

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


class TextEnv(ParallelEnv[str, dict[str, Any], str]):
    """An environment whose agents observe `text` and `tokens_left`, and say any string."""

    def _take_seats(self, agents: Iterable[str]) -> None:
        """Name the agents and build their spaces; nobody is there before a reset."""
        self.possible_agents = list(agents)
        self.agents: list[str] = []
        self._spaces = {agent: observation_space() for agent in self.possible_agents}
        self._actions = {agent: FreeText() for agent in self.possible_agents}

    def observation_space(self, agent: str) -> Space[Any]:
        """The observation space of an agent, the same object at every call."""
        return self._spaces[agent]

    def action_space(self, agent: str) -> Space[Any]:
        """The action space of an agent, the same object at every call."""
        return self._actions[agent]
