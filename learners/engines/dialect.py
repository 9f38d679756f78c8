"""What the servers have in common: the questions that are put to them, in each one's own words."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from laconic.learners.engines.http import Server
from laconic.learners.errors import ServerError
from laconic.learners.interfaces import Prompt

_ROUNDING = 1e-4
"""A log-probability may lie so far above 0."""


@dataclass(frozen=True, slots=True)
class Described:
    """What a server says of itself; None where it does not say."""

    model: str
    """Name under which it serves the base."""
    positions: int | None = None
    """Most tokens of a conversation."""
    dtype: str | None = None
    """Type of its weights and passes, as torch names it."""
    rank: int | None = None
    """Highest rank of an adapter; 0 where it takes none."""
    adapters: int | None = None
    """Most adapters at a time."""
    processed: bool | None = None
    """Whether its log-probabilities are those of logits divided by the temperature."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What a server is to be started with."""

    model: str
    """Name or folder of the base."""
    port: int
    """Where it listens, on this machine alone."""
    dtype: str
    """Type of its weights and passes."""
    rank: int
    """Highest rank of an adapter; 0 for none."""
    adapters: int
    """Most adapters at a time."""
    positions: int | None
    """Most tokens of a conversation; None leaves it to the model."""


class Dialect(Protocol):
    """How one kind of server is spoken to. Names of adapters are those under which they load."""

    name: str
    """Of the kind."""
    health: str
    """Path that answers 200 once the server is up."""
    environment: dict[str, str]
    """What it has to find in its environment."""

    async def describe(self, server: Server) -> Described:
        """What the server is."""
        ...

    async def complete(
        self, server: Server, prompt: Prompt, model: str, adapter: str | None, likeliest: int = 0
    ) -> Raw:
        """Sample one reply, and say of so many of the likeliest tokens how likely they were."""
        ...

    async def adapters(self, server: Server) -> set[str]:
        """The adapters that are loaded."""
        ...

    async def load(self, server: Server, adapter: str, folder: str) -> None:
        """Load an adapter from a folder that the server sees."""
        ...

    async def unload(self, server: Server, adapter: str) -> None:
        """Let go of an adapter."""
        ...

    async def reload(self, server: Server, folder: str, version: str) -> None:
        """Put the whole model of a folder in the place of the present one."""
        ...

    async def version(self, server: Server) -> str | None:
        """The version that `reload` last set; another one after a restart. None: it has none."""
        ...

    def command(self, launch: Launch) -> list[str]:
        """The words with which a server is started, after those of the program."""
        ...


@dataclass(frozen=True, slots=True)
class Raw:
    """A reply as a server gave it, before anything of it is believed."""

    prompt_ids: tuple[int, ...]
    """The tokens that it says it read."""
    ids: tuple[int, ...]
    """The tokens that it says it sampled."""
    logprobs: tuple[float, ...]
    """Their log-probabilities."""
    likeliest: tuple[Mapping[int, float], ...] = ()
    """For each of them the log-probabilities of the tokens that were likeliest in its place; empty
    where none were asked for."""


def check_reply(raw: Raw, prompt: Prompt, url: str, vocabulary: int) -> Raw:
    """Return a reply without what was sampled behind the silence word.

    Raises:
        ServerError: it cannot be a reply to the prompt by a model with that many tokens; none of it
            may be trained on.
    """
    strange = next((token for token in raw.ids if not 0 <= token < vocabulary), None)
    if strange is not None:
        wrong = f"{strange} is none of the {vocabulary} tokens of the model"
    elif len(raw.ids) != len(raw.logprobs):
        wrong = f"it has {len(raw.ids)} tokens and {len(raw.logprobs)} log-probabilities"
    else:
        raw = _cut_behind_word(raw, prompt)
        wrong = _wrong(raw, prompt)
    if wrong:
        raise ServerError(
            f"{url} gave a reply that cannot be trained on: {wrong}. Nothing of it was kept; ask a"
            " server that takes and gives token ids as they are (docs/engines.md)"
        )
    return raw


def _cut_behind_word(raw: Raw, prompt: Prompt) -> Raw:
    size = prompt.length(raw.ids)
    if size is None:
        return raw
    ids, logprobs, likeliest = raw.ids[:size], raw.logprobs[:size], raw.likeliest[:size]
    return replace(raw, ids=ids, logprobs=logprobs, likeliest=likeliest)


def check_likeliest(raw: Raw, count: int, url: str, vocabulary: int) -> None:
    """Refuse a reply whose first token does not come with those that were likeliest.

    Raises:
        ServerError: there are fewer than were asked for, or some that the model does not have.
    """
    given = raw.likeliest[0] if raw.likeliest else {}
    if len(given) < min(count, vocabulary) or not all(0 <= one < vocabulary for one in given):
        raise ServerError(
            f"{url} gave the log-probabilities of {len(given)} tokens where those of the {count}"
            f" likeliest of {vocabulary} were asked for, so its weights cannot be proved; start it"
            f" so that it gives {count} (vLLM: --max-logprobs {count})"
        )


def _wrong(raw: Raw, prompt: Prompt) -> str:
    if raw.prompt_ids != prompt.ids:
        place = next(
            (
                at
                for at, pair in enumerate(zip(raw.prompt_ids, prompt.ids, strict=False))
                if len(set(pair)) > 1
            ),
            min(len(raw.prompt_ids), len(prompt.ids)),
        )
        return (
            f"of the {len(prompt.ids)} prompt tokens that were sent it read"
            f" {len(raw.prompt_ids)}, and they differ from token {place} on"
        )
    if not 0 < len(raw.ids) <= prompt.limit:
        return f"it has {len(raw.ids)} tokens, and 1 to {prompt.limit} were asked for"
    bad = [one for one in raw.logprobs if not (math.isfinite(one) and one <= _ROUNDING)]
    if bad:
        return f"{bad[0]!r} is no log-probability"
    return _wrong_end(raw.ids, prompt)


def _wrong_end(ids: Sequence[int], prompt: Prompt) -> str:
    ends = [place for place, token in enumerate(ids) if token in prompt.end_ids]
    if ends and ends[0] != len(ids) - 1:
        return f"it goes on after the end token {ids[ends[0]]}"
    if not ends and len(ids) < prompt.limit and prompt.length(ids) != len(ids):
        return (
            f"it ends with token {ids[-1]} after {len(ids)} of {prompt.limit} tokens, which is none"
            f" of the end tokens {list(prompt.end_ids)} and does not complete the silence word"
        )
    return ""


def ids_of(found: object) -> tuple[int, ...]:
    """Token ids of an answer; empty where there are none, for the check to refuse."""
    numbers = found if isinstance(found, list) else []
    return tuple(one for one in numbers if type(one) is int)


def numbers_of(found: object) -> tuple[float, ...]:
    """Log-probabilities of an answer; what is no number among them becomes NaN."""
    values: Collection[object] = found if isinstance(found, list) else []
    return tuple(float(one) if isinstance(one, int | float) else math.nan for one in values)
