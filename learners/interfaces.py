"""Types that agents, engines and rollouts share: prompts, sampled replies, and samplers.

A sampler takes token ids and returns token ids. It never sees text, and its output is never
tokenized again.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

T = TypeVar("T")


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
