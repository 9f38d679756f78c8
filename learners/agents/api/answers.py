"""Reading what a server sends back: pure functions of status, headers and body.

Source: the chat completion object of the OpenAI API reference; `Retry-After` is RFC 9110, 10.2.3.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
_TOO_LONG = re.compile(
    r"context.{0,3}(length|window|size)"
    r"|\b(prompt|inputs?|messages?|conversation|string)\W{0,3}( is| are)? too long"
    r"|\b(prompt|inputs?)\W{0,3}( tokens?| token count| length)?[^.\"]{0,20} exceeds?\b"
    r"|\binputs?\b.{0,40} must (have less than|be less than|be <=)"
    r"|\btoo many (input |prompt )?tokens\b(?! per)"
    r"|reduce the length of the (messages|prompt|input)",
    re.IGNORECASE,
)
"""How servers say that a conversation is longer than the model reads."""
_WITHHELD = frozenset(("content_filter", "tool_calls", "function_call"))
"""Reasons for an end without a text that are none of the model's choice to say nothing."""
_THOUGHT_FIELDS = ("thinking", "reasoning", "text", "summary")
"""Where a part of type `thinking` or `reasoning` has its text."""
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
    withheld: str = ""
    """Why there is no text although the model did not choose to say nothing: `content_filter`,
    `refusal`, `tool_calls`; empty where there is a text, or silence."""
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
    thought = ""
    if isinstance(content, list):
        text, thought = _read_parts(content)
        content = content if text is None else text
    reason = reason if isinstance(reason, str) else None
    withheld = "refusal" if message.get("refusal") else reason if reason in _WITHHELD else ""
    # A model that only thought may have no content, but there is a reason why it ended.
    if content is None and (reason or withheld):
        content = ""
    if not isinstance(content, str):
        raise FailedError(f"no text in choices[0].message of {shown}", usage=usage)
    withheld = "" if content.strip() else withheld
    return Answer(
        _clean(content),
        stopped=reason in ("length", "content_filter") and not withheld,
        thought=_clean(thought or _thought(message)),
        withheld=withheld or "",
        usage=replace(usage, withheld=int(bool(withheld))),
    )


def _clean(text: str) -> str:
    return _CONTROL.sub("?", well_formed(text))


def _read_parts(parts: Sequence[Any]) -> tuple[str | None, str]:
    """Return the text and the thought of a content in parts; no text (None) without a known part.

    Thoughts are parts of type `thinking` or `reasoning`, as a text or as parts of their own.
    """
    texts = [_text_of_part(part, ("text", "output_text"), ("text",)) for part in parts]
    thoughts = [_text_of_part(part, ("thinking", "reasoning"), _THOUGHT_FIELDS) for part in parts]
    readable = not parts or any(text is not None for text in (*texts, *thoughts))
    thought = "\n".join(filter(None, thoughts))
    return "".join(filter(None, texts)) if readable else None, thought


def _text_of_part(part: Any, kinds: Sequence[str], fields: Sequence[str]) -> str | None:
    """Return the text of a part of one of some kinds; None where it is of another kind.

    A bare string is a text. A field may hold parts of type `text` in place of a string.
    """
    if isinstance(part, str):
        return part if "text" in kinds else None
    if not isinstance(part, Mapping) or part.get("type") not in kinds:
        return None
    value = next((part[name] for name in fields if part.get(name)), "")
    inner = value if isinstance(value, list) else [value]
    texts = (one.get("text") if isinstance(one, Mapping) else one for one in inner)
    return "".join(text for text in texts if isinstance(text, str))


def _thought(message: Mapping[str, Any]) -> str:
    """Return the thought of a message, under either of the names that servers have for it."""
    fields = (message.get(name) for name in ("reasoning_content", "reasoning"))
    return next((text for text in fields if isinstance(text, str)), "")


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
