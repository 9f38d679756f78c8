"""Reading what a server sends back: pure functions of status, headers and body.

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

from laconic.envs.dialogue.budget import well_formed
from laconic.learners.agents.base import Usage

_SHOWN = 300
"""Characters of a body that an error message shows."""
_MAX_COUNT = 2**53
"""A server that claims more tokens than that does not count them."""
_AGAIN = frozenset((408, 409, 425, 429))
"""Statuses below 500 that may pass by themselves."""
_TOO_LONG = re.compile(r"context.{0,3}(length|window|size)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
"""Control characters other than white space: they would steer the terminal that shows them."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A usable answer."""

    text: str
    """What the model wrote; control characters and lone surrogates are each replaced by a `?`."""
    stopped: bool = False
    """Whether the limit ended it."""
    thought: str = ""
    """What the model thought before, where the server tells that apart from what it wrote."""
    full: bool = False
    """Whether there is no text because the conversation is longer than the model reads."""
    usage: Usage = Usage()
    """Tokens and requests that it took, without their price."""


class FailedError(Exception):
    """One attempt gave no usable answer."""

    def __init__(
        self,
        message: str,
        *,
        again: bool = True,
        full: bool = False,
        wait_seconds: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        """Say what came instead.

        Args:
            message: what came.
            again: whether another attempt may succeed.
            full: whether the conversation is longer than the model reads, as the server says.
            wait_seconds: the server's `Retry-After`; None without one.
            usage: tokens that the server counted all the same.
        """
        super().__init__(message)
        self.again, self.full, self.wait_seconds = again, full, wait_seconds
        self.usage = usage or Usage()


def read(body: bytes, secret: str = "") -> Answer:
    """The answer in the body of a response with status 200.

    Args:
        body: a chat completion, if all is well.
        secret: a key that no error message may show.

    Raises:
        FailedError: the body is no chat completion; another attempt may bring one.
    """
    shown = _shown(body, secret)
    try:
        plain = json.loads(body)
    except (ValueError, RecursionError):
        raise FailedError(f"a body that is no JSON: {shown}") from None
    usage = _usage(plain)
    try:
        choice = plain["choices"][0]
        message, reason = choice["message"], choice.get("finish_reason")
        content = message.get("content")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise FailedError(f"no choices[0].message in {shown}", usage=usage) from None
    # A model that only thought may have no content, but there is a reason why it ended.
    if content is None and isinstance(reason, str):
        content = ""
    if not isinstance(content, str):
        raise FailedError(f"no text in choices[0].message of {shown}", usage=usage)
    text, thought = _CONTROL.sub("?", well_formed(content)), _thought(message)
    return Answer(text, stopped=reason == "length", thought=thought, usage=usage)


def _thought(message: Mapping[str, Any]) -> str:
    """What was thought, under either of the names that servers have for it."""
    told = (message.get(name) for name in ("reasoning_content", "reasoning"))
    found = next((one for one in told if isinstance(one, str)), "")
    return _CONTROL.sub("?", well_formed(found))


def refused(status: int, headers: Mapping[str, str], body: bytes, secret: str = "") -> FailedError:
    """What a response with any other status means; arguments as of `read`."""
    message = f"HTTP {status}: {_shown(body, secret)}"
    if status in _AGAIN or status >= 500:
        return FailedError(message, wait_seconds=retry_after(headers.get("retry-after")))
    text = body.decode("utf-8", "replace")
    too_long = status in (400, 413, 422) and _TOO_LONG.search(text) is not None
    return FailedError(message, again=False, full=too_long)


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


def _shown(body: bytes, secret: str) -> str:
    """The beginning of a body for a message, without the key: servers quote keys they refuse."""
    text = body.decode("utf-8", "replace")
    if secret:
        text = text.replace(secret, "***")
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def _usage(plain: Any) -> Usage:
    """Tokens by the server's own count; an answer without it is counted as such."""
    told = plain.get("usage") if isinstance(plain, dict) else None
    counts: dict[str, Any] = told if isinstance(told, dict) else {}
    read, written = counts.get("prompt_tokens", -1), counts.get("completion_tokens", -1)
    if not all(type(one) is int and 0 <= one < _MAX_COUNT for one in (read, written)):
        return Usage(uncounted=1)
    return Usage(prompt_tokens=read, completion_tokens=written)
