"""The contract between a rollout and whatever speaks: requests in, replies out.

A policy is a set of weights (or a script) that speaks for one or more agents. A rollout hands it
all requests of a round at once, so that one batched call serves every agent of every episode.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

from laconic.envs.checks import check_agents
from laconic.envs.dialogue.roster import role_of
from laconic.envs.errors import UnknownNameError

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a reply took of a model server, by the server's own count."""

    prompt_tokens: int = 0
    """Tokens the server read."""
    completion_tokens: int = 0
    """Tokens the server wrote, those of a thought among them."""
    calls: int = 0
    """Requests sent, repeated ones among them."""
    uncounted: int = 0
    """Usable answers of which the server did not say how many tokens they took."""
    cost: float = 0.0
    """Price of these tokens, in the currency of the configured prices."""
    withheld: int = 0
    """Answers without a text for another reason than silence: filtered, refused, or a tool call."""
    uncharged: int = 0
    """Tokens written behind the silence word where the environment takes no thoughts to charge."""

    def __add__(self, other: Usage) -> Usage:
        """What both took together."""
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.calls + other.calls,
            self.uncounted + other.uncounted,
            self.cost + other.cost,
            self.withheld + other.withheld,
            self.uncharged + other.uncharged,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """What a policy answers to one request."""

    message: str
    """The action for the environment; empty for silence."""
    prompt_ids: tuple[int, ...] = ()
    """Tokens that the policy put before the reply and that were new to the conversation."""
    reply_ids: tuple[int, ...] = ()
    """Tokens as sampled."""
    behavior_logprobs: tuple[float, ...] = ()
    """Log-probability of each reply token when it was sampled."""
    usage: Usage | None = None
    """What it took of a model server. None: no server was asked."""
    truncated: bool = False
    """Whether its limit of tokens stopped it, and not an end token of its own."""
    thought: str = ""
    """What was thought before the message; environments that take thoughts count it."""
    version: int | None = None
    """Version of the weights that an engine sampled it with; None without an engine."""


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
    max_thought_tokens: int | None = None
    """Most tokens that a thought before them may have there. None: the environment takes no
    thoughts."""
    general: str = ""
    """The part of the conversation's first text that all agents read alike, at its beginning; empty
    where there is none, or nothing is known of it."""
    info: Mapping[str, Any] = field(default_factory=dict)
    """The environment's info for the agent. Scripts may read it; language policies never do."""


@runtime_checkable
class Policy(Protocol):
    """Weights or a script that speaks for one or more agents."""

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Answer every request, in order; the same arguments and weights give the same replies."""
        ...


@runtime_checkable
class Streaming(Protocol):
    """A policy whose replies come one by one from elsewhere, and cost something each.

    What has come is worth keeping even if the rest never comes, so a rollout takes them one by one.
    """

    def stream(
        self, requests: Sequence[Request], *, seed: int, greedy: bool
    ) -> Iterator[tuple[int, Reply]]:
        """Each reply as it comes, with the place of its request.

        Every request is answered once. What goes wrong raises after the last reply that came.
        """
        ...


@runtime_checkable
class Remembering(Protocol):
    """A policy that answers sooner if it may keep what it computed of earlier rounds."""

    def remembering(self) -> AbstractContextManager[None]:
        """Within it conversations go on and the weights stay; afterwards nothing is kept."""
        ...


def by_agent(kind: str, named: Mapping[str, Value], agents: Sequence[str]) -> dict[str, Value]:
    """Return for each agent what a mapping of roles and agents holds for it.

    Args:
        kind: kind of the names, for the message.
        named: by role (`helper`) or agent (`helper_1`); an agent's own entry replaces its role's.
        agents: the agents of an environment, `<role>_<number>`.

    Returns:
        Agent -> value, without the agents for which neither they nor their role are named.

    Raises:
        SettingError: the environment does not name its agents by strings.
        UnknownNameError: a name is neither a role nor an agent of the environment.
    """
    check_agents(agents)
    known = {*agents, *map(role_of, agents)}
    for name in named:
        if name not in known:
            raise UnknownNameError(kind, name, known)
    return {
        agent: named[agent] if agent in named else named[role_of(agent)]
        for agent in agents
        if agent in named or role_of(agent) in named
    }
