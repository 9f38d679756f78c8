"""What was said in an episode, and how it is shown to agents and to people."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

SILENT_ROUND = "Nobody spoke."


@dataclass(frozen=True, slots=True)
class Message:
    """One agent's words in one round, as published."""

    agent: str
    """Who spoke."""
    round: int
    """Round of the episode, from 0."""
    text: str
    """What was published; empty for silence."""
    tokens: int
    """Length of the text in tokens."""
    cut: bool = False
    """True when the agent wrote more than its budget allowed."""


def heard(messages: Iterable[Message], speakers: Collection[str]) -> str:
    """What a listener reads after a round: one line per message of those it hears.

    Further lines of a message are indented, so that no message can pose as another agent's.
    """
    lines = [
        f"{message.agent}: {indented(message.text)}"
        for message in messages
        if message.text and message.agent in speakers
    ]
    return "\n".join(lines) or SILENT_ROUND


def show(messages: Iterable[Message], closing: str = "") -> str:
    """The transcript as plain text, oldest first, silence included, further lines indented too.

    `closing` is a last line, such as the score; left out when empty.
    """
    lines = []
    for message in messages:
        words = printable(indented(message.text)) or "(silent)"
        mark = " [cut]" if message.cut else ""
        lines.append(f"[{message.round}] {message.agent} ({message.tokens}): {words}{mark}")
    return "\n".join([*lines, closing] if closing else lines)


def printable(text: str) -> str:
    """The text for people: control characters, which could rewrite a terminal, become U+FFFD."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def indented(text: str) -> str:
    """The text with all lines but the first indented."""
    return "\n  ".join(text.splitlines())
