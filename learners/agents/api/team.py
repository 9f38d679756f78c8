"""Teams that speak with a model behind an OpenAI-compatible server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pettingzoo import ParallelEnv

from laconic.envs.dialogue.budget import split_words
from laconic.envs.errors import SettingError
from laconic.envs.task import Style
from laconic.learners.agents.api.client import client_of
from laconic.learners.agents.api.policy import ApiPolicy
from laconic.learners.agents.api.settings import ApiSamplingSettings, Prices, RequestLimits, Server
from laconic.learners.agents.chat import tokenize_with
from laconic.learners.agents.load import load_tokenizer


@dataclass
class ApiTeam:
    """A team in which one model behind a server speaks for every agent; nothing is trained."""

    model: str
    """Name by which the server knows the model."""
    base_url: str = "http://localhost:8000/v1"
    """Address before `/chat/completions`."""
    api_key_env: str | None = None
    """Environment variable that holds the key. None: no key is sent."""
    limits: RequestLimits = field(default_factory=RequestLimits)
    """How much is asked at a time, and how patiently."""
    speech: ApiSamplingSettings = field(default_factory=ApiSamplingSettings)
    """How the model speaks."""
    prices: Prices = field(default_factory=Prices)
    """What its tokens cost."""
    silent_when_full: bool = False
    """Answer a conversation that the server refuses as too long with silence, instead of ending."""
    tokenizer: str | None = None
    """Name or folder of the tokenizer in whose tokens budgets are counted. None counts words."""
    instructions: Style = "full"
    """The form of first observation the model understands; for `env.instructions`."""
    learning_rate: float = 1e-6
    """For `optimizer.lr`, so that a training composes; nothing here is trained."""

    def __post_init__(self) -> None:
        """Check what can be checked without asking."""
        self.server = Server(self.base_url, self.model, self.api_key_env, self.limits)

    @cached_property
    def tokenize(self) -> Callable[[str], Sequence[str]]:
        """Cuts text into tokens; environments count budgets with it.

        Raises:
            SettingError: the tokenizer cannot be loaded.
        """
        if self.tokenizer is None:
            return split_words
        try:
            tokenizer = load_tokenizer(self.tokenizer)
        except SettingError as error:
            raise SettingError(f"agent.tokenizer={self.tokenizer!r}: {error}") from error
        return tokenize_with(tokenizer)

    def policies(self, environment: ParallelEnv[str, Any, Any]) -> dict[str, ApiPolicy]:
        """One policy for all agents.

        Raises:
            SettingError: the library that speaks HTTP is not installed.
        """
        policy = ApiPolicy(
            client_of(self.server),
            self.speech,
            self.prices,
            silent_when_full=self.silent_when_full,
            tokenize=self.tokenize,
        )
        return dict.fromkeys(environment.possible_agents, policy)
