"""Renders a conversation with the chat template of a model, which may come from a stranger.

transformers runs templates in a sandbox that reaches nothing outside. What it does not bound is how
long they take.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jinja2 import TemplateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transformers import PreTrainedTokenizerBase

MAX_SECONDS = 2.0
"""Most processor time for a conversation; usual templates take some milliseconds."""
MAX_CHARACTERS = 1_000_000
"""Most characters of a conversation of a few words."""


def render(
    tokenizer: PreTrainedTokenizerBase, messages: Sequence[Mapping[str, Any]], **settings: Any
) -> str:
    """Return a short conversation as the tokenizer's template shows it.

    Args:
        tokenizer: one with a chat template.
        messages: the conversation.
        **settings: further arguments of the template.

    Raises:
        TemplateError: the template refuses the conversation, or does not come to an end.
        TypeError: the template refuses the settings.
        ValueError: likewise.
    """
    conversation = [dict(message) for message in messages]
    try:
        with _bounded(MAX_SECONDS):
            text = str(tokenizer.apply_chat_template(conversation, tokenize=False, **settings))
    except (MemoryError, RecursionError, OverflowError) as error:
        raise TemplateError(f"it does not come to an end ({type(error).__name__})") from error
    if len(text) > MAX_CHARACTERS:
        raise TemplateError(f"it makes {len(text):,} characters of a few words")
    return text


@contextmanager
def _bounded(seconds: float) -> Iterator[None]:
    """Raise a `TemplateError` from Python code that takes more processor time than this.

    A template is compiled to Python, and one that loops passes lines of it. A signal would reach
    the main thread only.
    """
    end = time.thread_time() + seconds

    def trace(*_: Any) -> Any:
        if time.thread_time() > end:
            raise TemplateError(f"it takes more than {seconds:g} s for a few words")
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
