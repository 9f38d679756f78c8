"""The contract between a rollout and whatever speaks: requests in, replies out.

A policy is a set of weights (or a script) that speaks for one or more agents. A rollout hands it
all requests of a round at once, so that one batched call serves every agent of every episode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Reply:
    """What a policy answers to one request."""

    message: str
    """The action for the environment; empty for silence."""
    prompt_ids: tuple[int, ...] = ()
    """Tokens that the policy put before the reply and that were new to the conversation."""
    reply_ids: tuple[int, ...] = ()
    """Tokens as sampled."""
    behaviour_logprobs: tuple[float, ...] = ()
    """Log-probability of each reply token when it was sampled."""


@dataclass(frozen=True, slots=True)
class Request:
    """One agent's turn: what is new to it, and the conversation so far."""

    agent: str
    """Who is to speak."""
    text: str
    """What is new to the agent since its last reply."""
    history: tuple[Reply, ...] = ()
    """The agent's earlier replies of this episode with the tokens before them, oldest first."""
    texts: tuple[str, ...] = ()
    """What the agent read before each of these replies."""
    max_tokens: int | None = None
    """Most tokens the environment will accept now. None: no limit."""
    info: Mapping[str, Any] = field(default_factory=dict)
    """The environment's info for the agent. Scripts may read it; language policies never do."""


@runtime_checkable
class Policy(Protocol):
    """Weights or a script that speaks for one or more agents."""

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Answer every request, in order; the same arguments and weights give the same replies."""
        ...
