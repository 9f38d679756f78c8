"""Settings of a model server, checked when they are set."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

from laconic.envs.checks import (
    Bound,
    Count,
    NotNegative,
    Positive,
    Whole,
    Word,
    check_fields,
)
from laconic.envs.errors import SettingError
from laconic.learners.agents.sampling import check_word
from laconic.learners.interfaces import Usage

LimitField = Literal["max_tokens", "max_completion_tokens"]
RESERVED_FIELDS = frozenset(
    ("model", "messages", "n", "seed", "stream", "temperature", "top_p", *get_args(LimitField))
)
"""Request fields that have their own settings, or that users must not change."""
REMEDIES = {
    "max_tokens": "limit_field=max_completion_tokens",
    "max_completion_tokens": "limit_field=max_tokens",
    "temperature": "temperature=null",
    "top_p": "top_p=null",
    "seed": "seeded=false",
}
"""Setting of `agent.sampling` that sends a request without a field."""


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Bounds on the requests to a server."""

    concurrency: Count = 16
    """Maximum number of concurrent requests."""
    requests_per_minute: Positive | None = None
    """Maximum number of requests per minute, evenly spaced; None for no limit."""
    timeout_seconds: Positive = 300.0
    """Maximum seconds for one request, its whole answer included."""
    attempts: Count = 16
    """Maximum number of times a request is sent before the evaluation ends with an error."""

    def __post_init__(self) -> None:
        """Check ranges (`SettingError`)."""
        check_fields(self, "agent.limits")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model on a server."""

    base_url: str
    """Address before `/chat/completions`; it usually ends in `/v1`."""
    model: str
    """Name of the model on the server."""
    api_key_env: str | None = None
    """Environment variable that holds the API key; None to send no key."""
    limits: RequestLimits = field(default_factory=RequestLimits)
    """Bounds on the requests."""
    config_group: str = field(default="agent", compare=False)
    """Config group of these settings, for error messages."""

    def __post_init__(self) -> None:
        """Check address, model and key.

        Raises:
            SettingError: the address is no plain HTTP address, or the key is not set.
        """
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingError(
                f"{self.config_group}.base_url must be an address such as http://localhost:8000/v1;"
                f" got {self.base_url!r}"
            )
        if parts.username or parts.password or parts.query or parts.fragment:
            # Not shown, because it may hold a secret, which then stands in a log.
            raise SettingError(
                f"{self.config_group}.base_url must hold neither name and password nor anything"
                " after the path. Put the key into an environment variable and name that in"
                f" {self.config_group}.api_key_env"
            )
        if not self.model:
            raise SettingError(f"{self.config_group}.model must name a model of the server; got ''")
        self.key()

    @property
    def url(self) -> str:
        """Address of chat completions."""
        return f"{self.base_url.rstrip('/')}/chat/completions"

    def key(self) -> str:
        """Return the API key from the environment; empty if no key is configured.

        Raises:
            SettingError: the variable is not set, or its value cannot be a header. The message
                shows its name only.
        """
        if self.api_key_env is None:
            return ""
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.api_key_env):
            # Not shown, because it may be the key itself.
            raise SettingError(
                f"{self.config_group}.api_key_env must be the name of an environment variable,"
                " never the key; its value is no such name"
            )
        key = os.environ.get(self.api_key_env, "").strip()
        if not key or not key.isascii() or not key.isprintable():
            problem = "holds no key of printable ASCII characters" if key else "is not set"
            raise SettingError(
                f"{self.config_group}.api_key_env={self.api_key_env}, but this environment variable"
                f" {problem}. Export it, or set {self.config_group}.api_key_env=null for a server"
                " without keys"
            )
        return key


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of tokens, in any currency."""

    prompt: NotNegative = 0.0
    """Price of a million tokens that the server reads."""
    completion: NotNegative = 0.0
    """Price of a million tokens that the server writes."""

    def __post_init__(self) -> None:
        """Check ranges (`SettingError`)."""
        check_fields(self, "agent.prices")

    def cost(self, usage: Usage) -> float:
        """Return the price of the tokens used."""
        read, written = usage.prompt_tokens, usage.completion_tokens
        return (self.prompt * read + self.completion * written) / 1e6


@dataclass(frozen=True, slots=True)
class ApiSamplingSettings:
    """Sampling settings of a policy behind a server."""

    silence: Word = "<silence>"
    """The silence word. It ends a reply anywhere, so choose one that no message contains."""
    explain_silence: bool = True
    """True if the first text of a conversation explains the silence word."""
    max_reply_tokens: Count = 256
    """Maximum number of tokens of a reply, in the server's tokens."""
    thinking_tokens: Whole = 0
    """Additional tokens for models that think before they reply."""
    temperature: Positive | None = 1.0
    """Sampling temperature; greedy evaluation sends 0. None to send none, for models that refuse
    it."""
    top_p: Annotated[float, Bound(gt=0, le=1)] | None = None
    """Probability mass of the most likely tokens to sample from; None to send none."""
    seeded: bool = True
    """True if sampled requests carry a `seed`; not every server follows it."""
    limit_field: LimitField = "max_tokens"
    """Request field for the token limit; some servers want `max_completion_tokens`."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Additional request fields, such as `chat_template_kwargs: {enable_thinking: false}`."""

    def __post_init__(self) -> None:
        """Check ranges (`SettingError`, `UnknownNameError`)."""
        check_word(self.silence)
        check_fields(self, "agent.sampling")
        reserved = sorted(RESERVED_FIELDS & self.extra_body.keys())
        if reserved:
            raise SettingError(
                f"agent.sampling.extra_body must not hold {', '.join(reserved)}; these have their"
                " own settings in agent.sampling"
            )

    def fields(
        self,
        max_tokens: int | None,
        seed: int,
        greedy: bool,
        max_thought_tokens: int | None = None,
    ) -> dict[str, Any]:
        """Return the request fields for sampling.

        Args:
            max_tokens: number of tokens that the environment accepts; None for any number.
            seed: seed of the sampling.
            greedy: take the most likely token at each step.
            max_thought_tokens: number of thought tokens that the environment accepts; None for any
                number.
        """
        limit, thinking = self.max_reply_tokens, self.thinking_tokens
        if max_tokens is not None:
            # The token that ends a reply counts too.
            limit = min(limit, max_tokens + 1)
        if max_thought_tokens is not None:
            thinking = min(thinking, max_thought_tokens)
        fields: dict[str, Any] = {**self.extra_body, self.limit_field: limit + thinking}
        if self.temperature is not None:
            fields["temperature"] = 0.0 if greedy else self.temperature
        if self.top_p is not None and not greedy:
            fields["top_p"] = self.top_p
        if self.seeded and not greedy:
            fields["seed"] = seed
        return fields
