"""Parsing of a server's answers: pure functions of status and body.

Source: the chat completion object of the OpenAI API reference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from laconic.envs.dialogue.budget import replace_surrogates
from laconic.envs.dialogue.messages import find_thought
from laconic.learners.interfaces import Usage

_SHOWN = 300
"""Number of characters of a body that an error message shows."""
_MAX_COUNT = 2**53
"""Number of tokens from which a server's count is taken for a mistake."""
_TOO_LONG = re.compile(
    r"context.{0,3}(length|window|size)"
    r"|\b(prompt|inputs?|messages?|conversation|string)\W{0,3}( is| are)? too long"
    r"|\b(prompt|inputs?)\W{0,3}( tokens?| token count| length)?[^.\"]{0,20} exceeds?\b"
    r"|\binputs?\b.{0,40} must (have less than|be less than|be <=)"
    r"|\btoo many (input |prompt )?tokens\b(?! per)"
    r"|reduce the length of the (messages|prompt|input)",
    re.IGNORECASE,
)
"""Wordings of servers for a conversation that is longer than the model's context."""
_LASTING = re.compile(
    r"\binsufficient[_ ]([a-z]+[_ ])?(quota|balance|credits?|funds)\b"
    r"|\bexceeded_current_quota\w*|\bbilling_(?!rate)\w+|\"billing\"|\bpayment_required\b"
    r"|\bcredit[_ ]balance\b.{0,20}\b(low|exhausted|negative)\b|\bcredit_balance_\w+"
    r"|\bout[_ ]of[_ ]credits?\b|\brequires more credits\b|\barrearage\b|\bin arrears\b"
    r"|\b(account|organization|project|key)_\w*(deactivated|disabled|suspended|inactive)\b"
    r"|\b(invalid|expired|revoked)_api_key\b|\bmodel_not_found\b",
    re.IGNORECASE,
)
"""Codes of errors that last, whatever their status. Prose alone is no sign: some servers speak of
quota and billing where a limit per minute is meant."""
_IN_PLACE_OF_TEXT = ("refusal", "tool_calls", "function_call", "audio")
"""Fields of a message with something that the server gives in place of a text."""
_ENDED = frozenset(
    ("stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "completed")
)
"""Finish reasons of a reply that the model itself ended, as servers and gateways spell them."""
_LIMITED = frozenset(("length", "max_tokens", "max_output_tokens", "model_length", "limit"))
"""Finish reasons of a reply that the limit of tokens ended."""
_BEHIND_TEXT = ("content_filter", "tool_calls", "function_call")
"""Further finish reasons of a text that can be heard: a filter cut it, or a call follows it."""
_SHOWN_REASON = 40
"""Number of characters of a finish reason that a warning shows."""
_THOUGHT_FIELDS = ("thinking", "reasoning", "text", "summary")
"""Fields that may hold the text of a part of type `thinking` or `reasoning`."""
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
"""Control characters except white space; a terminal that shows them would obey them."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A usable answer."""

    text: str
    """Text of the reply, with `?` for each control character and lone surrogate."""
    stopped: bool = False
    """True if the token limit or a filter ended the text, which is heard up to there."""
    thought: str = ""
    """Text of the thought, if the server separates it from the reply."""
    full: bool = False
    """True if the conversation is longer than the model's context, so there is no text."""
    withheld: str = ""
    """Reason for an empty text that is not the model's choice of silence (`content_filter`,
    `refusal`, `length`, `error`, or an unknown word); else empty. The text is also taken out where
    the server broke off for another reason than a limit or a filter."""
    usage: Usage = Usage()
    """Tokens and requests it took, without their price."""


class UnusableAnswerError(Exception):
    """A body with status 200 that is no chat completion."""

    def __init__(self, message: str, usage: Usage | None = None) -> None:
        """Keep the tokens that the server counted for it."""
        super().__init__(message)
        self.usage = usage or Usage()


def read(body: bytes, secret: str = "") -> Answer:
    """Parse the body of an answer with status 200.

    Args:
        body: body of the answer.
        secret: API key, which no error message may show.

    Raises:
        UnusableAnswerError: the body is no chat completion.
    """
    excerpt = show(body, secret)
    try:
        completion = json.loads(body)
    except (ValueError, RecursionError):
        raise UnusableAnswerError(f"a body that is no JSON: {excerpt}") from None
    usage = _usage(completion)
    try:
        choice = completion["choices"][0]
        message, reason = choice["message"], choice.get("finish_reason")
        content = message.get("content")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise UnusableAnswerError(f"no choices[0].message in {excerpt}", usage) from None
    thought = refused = ""
    if isinstance(content, list):
        refused = "refusal" if any(map(_is_refusal, content)) else ""
        text, thought = _read_parts(content)
        content = text if text is not None else "" if refused else content
    reason = _clean(reason.strip().lower())[:_SHOWN_REASON] if isinstance(reason, str) else ""
    replaced = next((name for name in _IN_PLACE_OF_TEXT if message.get(name)), refused)
    failed = "error" if completion.get("error") or choice.get("error") else ""
    # A list of failures would miss the words of the next server: unknown ones are none of choice.
    withheld = failed or replaced or ("" if reason in _ENDED else reason or "no finish reason")
    # A model that only thought may return no content, but then it returns a finish reason.
    if content is None and withheld != "no finish reason":
        content = ""
    if not isinstance(content, str):
        raise UnusableAnswerError(f"no text in choices[0].message of {excerpt}", usage)
    fields = (message.get(name) for name in ("reasoning_content", "reasoning"))
    thought = thought or next((text for text in fields if isinstance(text, str) and text), "")
    # A thought within the text is no reply yet.
    said = content if thought else find_thought(content)[1]
    if said.strip():
        heard = reason in (*_ENDED, *_LIMITED, *_BEHIND_TEXT, "")
        withheld = failed or ("" if heard else reason)
        content = "" if withheld else content
    return Answer(
        _clean(content),
        stopped=reason in _LIMITED or (reason == "content_filter" and not withheld),
        thought=_clean(thought),
        withheld=withheld,
        usage=replace(usage, withheld=int(bool(withheld))),
    )


def is_too_long(status: int, body: bytes) -> bool:
    """Return whether a server refused a conversation that is longer than the model's context."""
    text = body.decode("utf-8", "replace")
    return status in (400, 413, 422) and _TOO_LONG.search(text) is not None


def is_lasting(status: int, body: bytes) -> bool:
    """Return whether an error lasts, so that repeating the request cannot help."""
    return status in (402, 403) or _LASTING.search(body.decode("utf-8", "replace")) is not None


def show(body: bytes, secret: str) -> str:
    """Return the beginning of a body for a message; a quoted API key becomes `***`."""
    text = body.decode("utf-8", "replace")
    if secret:
        text = text.replace(secret, "***")
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def _clean(text: str) -> str:
    return _CONTROL.sub("?", replace_surrogates(text))


def _read_parts(parts: Sequence[Any]) -> tuple[str | None, str]:
    """Return text and thought of a content in parts; None for the text if no part is known."""
    texts = [_part_text(part, ("text", "output_text"), ("text",)) for part in parts]
    thoughts = [_part_text(part, ("thinking", "reasoning"), _THOUGHT_FIELDS) for part in parts]
    readable = not parts or any(text is not None for text in (*texts, *thoughts))
    return "".join(filter(None, texts)) if readable else None, "\n".join(filter(None, thoughts))


def _is_refusal(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "refusal"


def _part_text(part: Any, kinds: Sequence[str], fields: Sequence[str]) -> str | None:
    """Return the text of a part, or None if the part is of another kind.

    A bare string counts as a text. A field may hold parts of type `text` in place of a string.
    """
    if isinstance(part, str):
        return part if "text" in kinds else None
    if not isinstance(part, Mapping) or part.get("type") not in kinds:
        return None
    value = next((part[name] for name in fields if part.get(name)), "")
    inner = value if isinstance(value, list) else [value]
    texts = (item.get("text") if isinstance(item, Mapping) else item for item in inner)
    return "".join(text for text in texts if isinstance(text, str))


def _usage(completion: Any) -> Usage:
    """Return the server's token counts; without them the answer counts as uncounted."""
    usage = completion.get("usage") if isinstance(completion, dict) else None
    counts: dict[str, Any] = usage if isinstance(usage, dict) else {}
    read, written = counts.get("prompt_tokens", -1), counts.get("completion_tokens", -1)
    if not all(type(count) is int and 0 <= count < _MAX_COUNT for count in (read, written)):
        return Usage(uncounted=1)
    return Usage(prompt_tokens=read, completion_tokens=written)
