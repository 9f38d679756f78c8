"""Types that agents, engines and rollouts share.

A rollout hands a policy all requests of a round at once, so that one batched call serves every
agent of every episode. A policy is a set of weights, or a script, that replies for one or more
agents. A sampler samples for a policy: it takes token ids and returns token ids. It never sees
text, and its output is never tokenized again.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and calls that a reply took of a model server, by the server's own count."""

    prompt_tokens: int = 0
    """Tokens the server read."""
    completion_tokens: int = 0
    """Tokens the server wrote, those of a thought included."""
    calls: int = 0
    """Requests sent, repeated ones included."""
    uncounted: int = 0
    """Usable answers for which the server gave no token counts."""
    cost: float = 0.0
    """Price of these tokens, in the currency of the configured prices."""
    withheld: int = 0
    """Answers without a text for another reason than silence: filtered, refused, or a tool call."""
    uncharged: int = 0
    """Tokens behind the silence word, if the environment takes no thoughts to charge them to."""

    def __add__(self, other: Usage) -> Usage:
        """Add two usages field by field."""
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
    """Answer of a policy to one request."""

    message: str
    """Action for the environment; empty for silence."""
    prompt_ids: tuple[int, ...] = ()
    """Token ids before the reply that are new to the conversation."""
    reply_ids: tuple[int, ...] = ()
    """Token ids as sampled."""
    behavior_logprobs: tuple[float, ...] = ()
    """Log-probability of each reply token when it was sampled."""
    usage: Usage | None = None
    """Usage of a model server. None: no server was asked."""
    truncated: bool = False
    """True if the token limit ended the reply, not an end token."""
    thought: str = ""
    """Thought before the message; environments that take thoughts count its tokens."""
    version: int | None = None
    """Version of the weights that an engine sampled it with; None without an engine."""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Data of JSON types that features add, by the feature's name. Its own module types them."""


@dataclass(frozen=True, slots=True)
class Request:
    """One agent's turn: the text that is new to it, and the conversation so far."""

    agent: str
    """Name of the agent that is to reply."""
    text: str
    """Text that is new to the agent since its last reply."""
    history: tuple[Reply, ...] = ()
    """Earlier replies of the agent in this episode, oldest first."""
    texts: tuple[str, ...] = ()
    """Text that the agent read before each of these replies."""
    max_tokens: int | None = None
    """Maximum tokens that the environment will accept now. None: no limit."""
    max_thought_tokens: int | None = None
    """Maximum tokens of a thought before them. None: the environment takes no thoughts."""
    general: str = ""
    """Beginning of the conversation's first text, the same for all agents; empty if unknown."""
    info: Mapping[str, Any] = field(default_factory=dict)
    """The environment's info for the agent. Scripts may read it; language policies never do."""


@runtime_checkable
class Policy(Protocol):
    """Weights or a script that replies for one or more agents."""

    def reply(self, requests: Sequence[Request], *, seed: int, greedy: bool) -> list[Reply]:
        """Answer every request, in order; equal arguments and weights give equal replies."""
        ...


@runtime_checkable
class Streaming(Protocol):
    """A policy whose replies come one by one from elsewhere, and cost something each.

    A rollout takes them one by one, because replies that have come are worth keeping even if the
    rest never comes.
    """

    def stream(
        self, requests: Sequence[Request], *, seed: int, greedy: bool
    ) -> Iterator[tuple[int, Reply]]:
        """Yield each reply as it comes, with the index of its request.

        Every request is answered once. An error is raised after the last reply that came.
        """
        ...


@runtime_checkable
class Remembering(Protocol):
    """A policy that answers faster if it may keep computed states between rounds."""

    def remembering(self) -> AbstractContextManager[None]:
        """Keep computed states within the body, in which the weights stay the same."""
        ...


@runtime_checkable
class AsyncPolicy(Protocol):
    """A policy that an `AsyncSampler` lets answer single requests."""

    async def answer(
        self, request: Request, *, seed: int, greedy: bool, episode: int, version: int | None
    ) -> Reply:
        """Answer one request; see `learners.agents.policy.HFPolicy.answer`."""
        ...


class StopWord(Protocol):
    """The silence word as tokens and as strings; a reply ends where it is complete."""

    @property
    def stops(self) -> Sequence[str]:
        """Strings at which a server stops sampling."""
        ...

    def length(self, reply_ids: Sequence[int]) -> int | None:
        """Count the tokens up to the end of the word; None if the reply does not hold the word."""
        ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """A conversation to continue, with its sampling settings."""

    ids: tuple[int, ...]
    """Token ids of the conversation so far."""
    limit: int
    """Maximum number of reply tokens, the end token included; at least 1."""
    end_ids: tuple[int, ...]
    """Token ids that end a reply; the reply keeps the one that ended it."""
    temperature: float
    """Divisor of the logits; log-probabilities are those of the divided logits. 0 takes the most
    likely token, with its undivided log-probability."""
    seed: int
    """Seed of the sampling."""
    episode: int = 0
    """Index of the episode; all turns of an episode go to the same server."""
    version: int | None = None
    """Version of the weights to sample with; None for the newest."""
    reply_end: StopWord | None = field(default=None, compare=False)
    """The silence word, which also ends a reply. None: only end tokens and the limit end it."""

    @property
    def stops(self) -> tuple[str, ...]:
        """Strings at which a server stops sampling. The engine then cuts the reply exactly."""
        return () if self.reply_end is None else tuple(self.reply_end.stops)

    def length(self, ids: Sequence[int]) -> int | None:
        """Count the reply tokens up to the end of the silence word; None without the word."""
        return None if self.reply_end is None else self.reply_end.length(ids)


@dataclass(frozen=True, slots=True)
class SampledReply:
    """A reply exactly as it was sampled."""

    ids: tuple[int, ...]
    """Token ids, the end token included."""
    logprobs: tuple[float, ...]
    """Log-probability of each token under the engine's distribution, as many as `ids`."""
    version: int | None = None
    """Version of the weights that sampled it, counted by syncs; None if the engine has only one."""


@runtime_checkable
class Sampler(Protocol):
    """Samples replies for one policy."""

    def sample(self, prompts: Sequence[Prompt]) -> list[SampledReply]:
        """Sample one reply per prompt, in order."""
        ...


@runtime_checkable
class AsyncSampler(Sampler, Protocol):
    """Samples each prompt on its own, so a slow reply delays no other."""

    @property
    def version(self) -> int:
        """Version of the newest weights that may be sampled with."""
        ...

    async def sample_one(self, prompt: Prompt) -> SampledReply:
        """Sample one reply; await this on the event loop of `submit`."""
        ...

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine on the event loop that owns the engine's connections."""
        ...

    def verify(self) -> None:
        """Check that every server still has the weights of the last sync.

        Raises:
            ServerError: a server has other weights. Episodes since then must not be trained on.
        """
        ...
