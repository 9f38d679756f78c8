"""How a model server is asked: settings, checked where they are given."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from laconic.envs.errors import SettingError, UnknownNameError
from laconic.learners.agents.base import Usage
from laconic.learners.agents.sampling import check_count, check_word

LimitField = Literal["max_tokens", "max_completion_tokens"]
OWN_FIELDS = frozenset(
    ("model", "messages", "n", "seed", "stream", "temperature", "top_p", *get_args(LimitField))
)
"""Fields of a request that have settings of their own, or must be as they are."""


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """How much is asked at a time, and how patiently."""

    concurrency: int = 16
    """Most requests under way at a time."""
    requests_per_minute: float | None = None
    """Most requests sent in a minute; None: no limit."""
    timeout_seconds: float = 300.0
    """Longest time one request may take, its whole answer included."""
    attempts: int = 8
    """How often a request is sent before the evaluation gives up, the first time included."""
    first_wait_seconds: float = 1.0
    """Longest wait before the second attempt; it doubles from attempt to attempt, and what is
    waited is drawn from its upper half."""
    longest_wait_seconds: float = 60.0
    """Where that doubling ends."""
    longest_retry_after_seconds: float = 900.0
    """The longest `Retry-After` that is waited for; a server that asks for more ends the
    evaluation."""

    def __post_init__(self) -> None:
        """Check ranges."""
        check_count("limits.concurrency", self.concurrency)
        check_count("limits.attempts", self.attempts)
        if self.requests_per_minute is not None:
            _check_positive("limits.requests_per_minute", self.requests_per_minute)
        for name in (
            "timeout_seconds",
            "first_wait_seconds",
            "longest_wait_seconds",
            "longest_retry_after_seconds",
        ):
            _check_positive(f"limits.{name}", getattr(self, name))

    def wait_seconds(self, attempt: int, share: float) -> float:
        """How long to wait after a failed attempt.

        Args:
            attempt: which one failed, from 1.
            share: drawn from 0 to 1, so that clients that failed together come back apart.
        """
        doubled = self.first_wait_seconds * 2.0 ** min(attempt - 1, 64)
        return min(self.longest_wait_seconds, doubled) * (1 + share) / 2


@dataclass(frozen=True, slots=True)
class Server:
    """A server, and the model on it."""

    base_url: str
    """Address before `/chat/completions`; it usually ends in `/v1`."""
    model: str
    """Name by which the server knows the model."""
    api_key_env: str | None = None
    """Environment variable that holds the key. None: no key is sent."""
    limits: RequestLimits = field(default_factory=RequestLimits)
    """How much is asked at a time, and how patiently."""
    key_group: str = field(default="agent", compare=False)
    """Group of these settings in the configuration, for messages."""

    def __post_init__(self) -> None:
        """Check the address and the name of the key.

        Raises:
            SettingError: the address is no plain http address, or the key is not there.
        """
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingError(
                f"{self.key_group}.base_url must be an address such as http://localhost:8000/v1;"
                f" got {self.base_url!r}"
            )
        if parts.username or parts.password or parts.query or parts.fragment:
            # Not shown, because it may hold a secret that then stands in a log.
            raise SettingError(
                f"{self.key_group}.base_url must hold neither name and password nor anything after"
                " the path; the key belongs into an environment variable that"
                f" {self.key_group}.api_key_env names"
            )
        if not self.model:
            raise SettingError(f"{self.key_group}.model must name a model of the server; got ''")
        self.headers()

    @property
    def url(self) -> str:
        """Where chats are completed."""
        return f"{self.base_url.rstrip('/')}/chat/completions"

    def key(self) -> str:
        """The key, read anew from the environment; empty where none is configured.

        Raises:
            SettingError: the variable is not set, or holds what no header can; says its name only.
        """
        if self.api_key_env is None:
            return ""
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.api_key_env):
            # What stands here may be the key itself.
            raise SettingError(
                f"{self.key_group}.api_key_env must be the name of an environment variable, never"
                " the key; what it was set to is no such name"
            )
        key = os.environ.get(self.api_key_env, "").strip()
        if not key or not key.isascii() or not key.isprintable():
            raise SettingError(
                f"{self.key_group}.api_key_env={self.api_key_env}, but this environment variable"
                f" {'holds no key of plain characters' if key else 'is not set'}; export it, or set"
                f" {self.key_group}.api_key_env=null for a server without keys"
            )
        return key

    def headers(self) -> dict[str, str]:
        """What goes with every request. Never log it."""
        key = self.key()
        return {"Authorization": f"Bearer {key}"} if key else {}


@dataclass(frozen=True, slots=True)
class Prices:
    """What tokens cost, in any currency."""

    prompt: float = 0.0
    """A million tokens that the server reads."""
    completion: float = 0.0
    """A million tokens that it writes."""

    def __post_init__(self) -> None:
        """Check ranges."""
        for name in ("prompt", "completion"):
            price = getattr(self, name)
            if not _is_number(price) or not 0 <= price < math.inf:
                raise SettingError(f"agent.prices.{name} must be at least 0; got {price!r}")

    def cost(self, usage: Usage) -> float:
        """The price of what was used."""
        read, written = usage.prompt_tokens, usage.completion_tokens
        return (self.prompt * read + self.completion * written) / 1e6


@dataclass(frozen=True, slots=True)
class ApiSamplingSettings:
    """How a policy behind a server speaks."""

    silence: str = "<silence>"
    """The silence word. It ends a reply wherever it stands, so choose one that no message holds."""
    explain_silence: bool = True
    """Whether the first text of a conversation says what the silence word is."""
    max_reply_tokens: int = 256
    """Most tokens of a reply, whatever the environment would accept; the server's tokens."""
    thinking_tokens: int = 0
    """Tokens a reply may have beyond that, for models that think before they speak."""
    temperature: float | None = 1.0
    """Sampling temperature; greedy evaluation sends 0. None: never sent, for models that refuse
    it."""
    top_p: float | None = None
    """Share of the likeliest tokens that is sampled from. None: not sent."""
    seeded: bool = True
    """Whether sampled requests carry a `seed`; servers keep to it as well as they can."""
    limit_field: LimitField = "max_tokens"
    """The field that bounds a reply: `max_tokens`, or `max_completion_tokens` where a server wants
    that."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of a request, such as `chat_template_kwargs: {enable_thinking: false}`."""

    def __post_init__(self) -> None:
        """Check ranges."""
        check_word(self.silence)
        check_count("speech.max_reply_tokens", self.max_reply_tokens)
        check_count("speech.thinking_tokens", self.thinking_tokens, 0)
        if self.limit_field not in get_args(LimitField):
            raise UnknownNameError(
                "agent.speech.limit_field", self.limit_field, get_args(LimitField)
            )
        if self.temperature is not None:
            _check_positive("speech.temperature", self.temperature)
        if self.top_p is not None and not (_is_number(self.top_p) and 0 < self.top_p <= 1):
            raise SettingError(
                f"agent.speech.top_p must be above 0 and at most 1; got {self.top_p!r}"
            )
        taken = sorted(OWN_FIELDS & self.extra_body.keys())
        if taken:
            raise SettingError(
                f"agent.speech.extra_body must not hold {', '.join(taken)}, because other settings"
                " say that"
            )

    def fields(
        self,
        max_tokens: int | None,
        seed: int,
        greedy: bool,
        max_thought_tokens: int | None = None,
    ) -> dict[str, Any]:
        """The fields of a request that say how its answer is made.

        Args:
            max_tokens: tokens that the environment accepts. None: any number.
            seed: of the sampling.
            greedy: take the likeliest token at each step.
            max_thought_tokens: tokens of a thought that the environment accepts. None: any number.
        """
        most = self.max_reply_tokens
        if max_tokens is not None:
            # The token that ends a reply counts, too.
            most = min(most, max_tokens + 1)
        thinking = self.thinking_tokens
        if max_thought_tokens is not None:
            thinking = min(thinking, max_thought_tokens)
        found: dict[str, Any] = {self.limit_field: most + thinking}
        if self.temperature is not None:
            found["temperature"] = 0.0 if greedy else self.temperature
        if self.top_p is not None and not greedy:
            found["top_p"] = self.top_p
        if self.seeded and not greedy:
            found["seed"] = seed
        return {**self.extra_body, **found}


def _check_positive(name: str, value: object) -> None:
    if not _is_number(value) or not 0 < value < math.inf:  # type: ignore[operator]
        raise SettingError(f"agent.{name} must be a number above 0; got {value!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
