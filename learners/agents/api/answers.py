"""Reading what a server sends back: pure functions from status, headers and body.

Source: the chat completion object of the OpenAI API reference; `Retry-After` is RFC 9110, 10.2.3.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from laconic.envs.dialogue.tokens import well_formed
from laconic.learners.agents.base import Usage

_SHOWN = 300
"""Characters of a body that an error message shows."""
_AGAIN = frozenset((408, 409, 425, 429))
"""Statuses below 500 that may pass by themselves."""
_FULL = re.compile(r"context.{0,3}(length|window|size)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Answer:
    """A usable answer."""

    text: str
    """What the model wrote, control tokens and thoughts taken out by the server."""
    stopped: bool = False
    """Whether the limit ended it."""
    full: bool = False
    """Whether there is no text because the conversation is longer than the model reads."""
    usage: Usage = Usage()
    """Tokens and requests that it took, without their price."""


class FailedError(Exception):
    """One attempt came to nothing."""

    def __init__(
        self,
        came: str,
        *,
        again: bool = True,
        wait_seconds: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        """Say what came.

        Args:
            came: for the message of the error that ends it all.
            again: whether another attempt may succeed.
            wait_seconds: how long the server asks to be left alone; None where it does not.
            usage: what it took all the same.
        """
        super().__init__(came)
        self.again = again
        self.wait_seconds = wait_seconds
        self.usage = usage or Usage()


def read(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    """The answer in a response.

    Raises:
        FailedError: there is none; it says whether another attempt may have one.
    """
    if status != 200:
        _refuse(status, headers, body)
    try:
        plain = json.loads(body)
    except ValueError:
        raise FailedError(f"a body that is no JSON: {shown(body)}") from None
    usage = _usage(plain)
    try:
        choice = plain["choices"][0]
        message, reason = choice["message"], choice.get("finish_reason")
        content = message.get("content")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise FailedError(f"no choices[0].message in {shown(body)}", usage=usage) from None
    # Who wrote nothing but a thought may leave the content out, but says why it ended.
    silent = content is None and isinstance(reason, str)
    if not isinstance(content, str) and not silent:
        raise FailedError(f"no text in choices[0].message of {shown(body)}", usage=usage)
    return Answer(well_formed(content or ""), stopped=reason == "length", usage=usage)


def shown(body: bytes) -> str:
    """The beginning of a body for a message."""
    text = body[: 4 * _SHOWN].decode("utf-8", "replace")
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Seconds that a `Retry-After` header asks for, a number or a date; None where it says nothing.

    Args:
        value: of the header.
        now: the present time; None takes the clock's.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            until = parsedate_to_datetime(value)
        except ValueError:
            return None
        until = until if until.tzinfo else until.replace(tzinfo=UTC)
        seconds = (until - (now or datetime.now(UTC))).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _refuse(status: int, headers: Mapping[str, str], body: bytes) -> None:
    came = f"HTTP {status}: {shown(body)}"
    if status in _AGAIN or status >= 500:
        raise FailedError(came, wait_seconds=retry_after(headers.get("retry-after")))
    if status in (400, 413, 422) and _FULL.search(body.decode("utf-8", "replace")):
        raise FullError(came, again=False)
    raise FailedError(came, again=False)


class FullError(FailedError):
    """The conversation is longer than the model reads, as the server says."""


def _usage(plain: Any) -> Usage:
    """What the server says an answer took; one that does not say so is counted as such."""
    told = plain.get("usage") if isinstance(plain, dict) else None
    counts = told if isinstance(told, dict) else {}
    read, written = counts.get("prompt_tokens"), counts.get("completion_tokens")
    if not isinstance(read, int) or not isinstance(written, int) or min(read, written) < 0:
        return Usage(uncounted=1)
    return Usage(prompt_tokens=read, completion_tokens=written)
