"""Rendering of a chat template, and cutting it into the tokens between messages.

The template is rendered once around placeholders and cut at them. The parts open a conversation,
separate a reply from the next text, and ask for a reply. Texts of agents are tokenized separately,
so no message can close a turn, pose as another speaker or call a tool by spelling a special token.
A reply is never tokenized again.

A template may be malicious. transformers runs it in a sandbox that reaches nothing outside but does
not limit its time, so rendering is bounded here.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jinja2 import TemplateError
from transformers import PreTrainedTokenizerBase

from laconic.envs.dialogue.budget import well_formed
from laconic.envs.errors import SettingError
from laconic.learners.agents.cache import remembered, warn_once

MAX_SECONDS = 2.0
"""Maximum processor time to render a conversation; usual templates take some milliseconds."""
MAX_CHARACTERS = 1_000_000
"""Maximum characters of a rendered conversation of a few words."""
TODAY = "2026-01-01"
"""Date that chat templates show, unless `agent.sampling.template.today` sets another one."""
_TODAY_CALL = re.compile(r"""strftime_now\(\s*(?P<quote>['"])(?P<format>.*?)(?P=quote)\s*\)""")
"""Call with which a chat template writes the present date."""
_SYSTEM = "\ue000system\ue001"
_THOUGHT = "\ue000thought\ue001"
_FIRST, _REPLY, _NEXT = "\ue000first\ue001", "\ue000reply\ue001", "\ue000next\ue001"

_THOUGHT_KEYS = ("reasoning_content", "reasoning", "thinking")
"""Keys of a message under which templates look for its thought."""
GAP = "\n\n"
"""Text between the thought and the message of a reply, where we write it."""


@dataclass(frozen=True, slots=True)
class Markers:
    """Tokens around a thought, and whether a reply begins within one."""

    begin: int
    """Token that begins a thought."""
    end: int
    """Token that ends a thought."""
    opened: bool
    """True if the template itself begins the thought when it asks for a reply."""
    offered: bool
    """True if the template allows a thought; False if it asks for a reply with an empty one."""

    @property
    def count(self) -> int:
        """Number of markers in a reply with one thought."""
        return 2 - self.opened

    def inside(self, ids: Sequence[int]) -> list[bool]:
        """Return a mask (tokens,) that is True on thoughts and their markers."""
        mask, inside = [], self.opened
        for token in ids:
            inside = inside or token == self.begin
            mask.append(inside or token == self.end)
            inside = inside and token != self.end
        return mask

    def parts(self, ids: Sequence[int]) -> tuple[list[int], list[int], bool]:
        """Split a reply into the tokens of its thought and of its message, without markers.

        Returns:
            Thought, message, and whether the reply ends within a thought; then it says nothing.
        """
        inside, markers = self.inside(ids), (self.begin, self.end)
        pairs = [pair for pair in zip(ids, inside, strict=True) if pair[0] not in markers]
        unended = bool(ids) and inside[-1] and ids[-1] != self.end
        thought = [token for token, masked in pairs if masked]
        message = [] if unended else [token for token, masked in pairs if not masked]
        return thought, message, unended

    def within(self, ids: Sequence[int], thought: int, message: int) -> int:
        """Return the number of tokens of a reply before it exceeds a limit.

        Args:
            ids: tokens of the reply.
            thought: maximum tokens of a thought, without its markers.
            message: maximum tokens of everything else.
        """
        remaining = [message, thought + self.count]
        for index, inside in enumerate(self.inside(ids)):
            remaining[inside] -= 1
            if remaining[inside] < 0:
                return index
        return len(ids)


class ChatTemplate:
    """Tokens of one agent's conversation: text, reply, text, reply, ..."""

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, template: Mapping[str, Any] | None = None
    ) -> None:
        """Cut the chat template into its fixed parts.

        Args:
            tokenizer: a fast tokenizer; without a chat template, a plain one is used.
            template: further arguments of the chat template (`enable_thinking: false`).

        Raises:
            SettingError: the template refuses or changes a plain conversation.
        """
        self._tokenizer = tokenizer
        if tokenizer.chat_template is None:
            warn_once(
                "the tokenizer of %s has no chat template; turns are written as 'User: ...' and"
                " 'Assistant: ...', which suits base models. Give a model with a chat template if"
                " it was trained to follow instructions",
                tokenizer.name_or_path or "this model",
            )
        settings = _with_fixed_date(tokenizer, dict(template or {}))
        opening, between, asking, header = _parts(tokenizer, settings)
        self._opening = self._encode_fixed(opening)
        system = _system_parts(tokenizer, settings, asking)
        self._system = system and (self._encode_fixed(system[0]), self._encode_fixed(system[1]))
        self._between = self._encode_fixed(between)
        self._asking = self._encode_fixed(asking)
        controls = _controls(tokenizer)
        self._spelled = _spellings(tokenizer, controls)
        # A tokenizer's token for unknown words is not a control token.
        self._barred = controls - {tokenizer.unk_token_id}
        self.end_id = next((token for token in self._between if token in controls), None)
        """Control token with which the template ends a reply; None if it has none."""
        self.thoughts = find_markers(tokenizer, settings)
        """Markers of a thought within a reply; None if the template has no thoughts."""
        self.header: tuple[int, ...] = self._encode_fixed(header)
        """Tokens of the template between a thought and the message of a reply; usually none."""
        markers = {self.thoughts.begin, self.thoughts.end} if self.thoughts else set()
        if self.thoughts is None and controls.intersection(self.header):
            _warn_of_channels(tokenizer.name_or_path, header)
            self._asking, self.header = (*self._asking, *self.header), ()
        elif not controls.intersection(self.header) - markers:
            self.header = ()
        self.unthought: tuple[int, ...] = ()
        """Tokens with which a reply without a thought begins."""
        if self.thoughts and self.thoughts.opened:
            self.unthought = (self.thoughts.end, *self._encode_fixed(GAP))
        self.encode = remembered(self._encode)
        """Tokens of a text as an agent reads or says it, never control tokens; cached."""

    @property
    def fixed_ids(self) -> tuple[int, ...]:
        """All tokens that the chat template writes, whatever agents say."""
        parts = [self._opening, self._between, self._asking, self.header, self.unthought]
        return tuple(token for part in (*parts, *(self._system or ())) for token in part)

    def first_prompt(self, text: str, general: str = "") -> tuple[int, ...]:
        """Return the tokens before an agent's first reply.

        Args:
            text: text that the agent reads.
            general: text before it that all agents read. It becomes the system message if the
                template has one, and the beginning of the text otherwise.
        """
        if general and self._system:
            before, after = self._system
            opening = (*before, *self.encode(general), *after)
            return (*opening, *self.encode(text), *self._asking)
        whole = "\n".join(filter(None, (general, text)))
        return (*self._opening, *self.encode(whole), *self._asking)

    def next_prompt(self, text: str, last_reply: Sequence[int]) -> tuple[int, ...]:
        """Return the tokens between an agent's last reply and its next one.

        Args:
            text: text that is new to the agent.
            last_reply: tokens of its last reply as sampled. If they include the end token, it is
                not written twice.
        """
        between = self._between
        if last_reply and last_reply[-1] == self.end_id:
            between = between[between.index(last_reply[-1]) + 1 :]
        return (*between, *self.encode(text), *self._asking)

    def extend_prompt(self, prompt: Sequence[int], text: str) -> tuple[int, ...]:
        """Return a prompt with a text added to the end of its last message.

        The tokens of the prompt stay the same; those of the text stand before the ones that ask for
        a reply.

        Args:
            prompt: tokens (prompt,) of `first_prompt` or `next_prompt`, with any before them.
            text: text that the agent reads after its own.

        Raises:
            SettingError: the prompt does not end as this template asks for a reply.
        """
        end = len(prompt) - len(self._asking)
        if end < 0 or tuple(prompt[end:]) != self._asking:
            raise SettingError(
                f"expected a prompt that ends with the tokens {self._asking!r}, with which the chat"
                f" template asks for a reply; got {tuple(prompt[max(end, 0) :])!r}: replies must be"
                " sampled with the chat template of the policy that learns from them"
            )
        return (*prompt[:end], *self.encode(text), *self._asking)

    def _encode_fixed(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, add_special_tokens=False))

    def _encode(self, text: str) -> tuple[int, ...]:
        text, start, parts = well_formed(text), 0, []
        # Cut behind the first character of any text that spells an added token.
        while self._spelled and (match := self._spelled.search(text, start)):
            parts.append(text[start : match.start() + 1])
            start = match.start() + 1
        encode, ids = self._tokenizer.encode, []
        plain = {"add_special_tokens": False, "split_special_tokens": True}
        for part in [*parts, text[start:]]:
            tokens = list(encode(part, **plain))
            if not self._barred.isdisjoint(tokens):
                # Another spelling of a control token (case, vocabulary): encode by characters.
                tokens = [token for character in part for token in encode(character, **plain)]
            ids += [token for token in tokens if token not in self._barred]
        return tuple(ids)


def render(
    tokenizer: PreTrainedTokenizerBase, messages: Sequence[Mapping[str, Any]], **settings: Any
) -> str:
    """Render a short conversation with the tokenizer's chat template.

    Args:
        tokenizer: a tokenizer with a chat template.
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
    """Raise a `TemplateError` once the body has taken this processor time.

    Templates compile to Python, so a trace function sees every line of a loop. A signal would only
    reach the main thread.
    """
    end = time.thread_time() + seconds

    def trace(*_: Any) -> Any:
        if time.thread_time() > end:
            raise TemplateError(f"it takes more than {seconds:g} s for a few words")
        return trace

    before: Callable[..., Any] | None = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def _controls(tokenizer: PreTrainedTokenizerBase) -> set[int]:
    """Return the tokens outside ordinary text, such as `<|im_end|>` and `<tool_call>`.

    Runs of white space and single characters are ordinary, even if they were added.
    """
    added = tokenizer.added_tokens_decoder
    return {
        token_id
        for token_id, token in added.items()
        if not str(token).isspace() and len(str(token)) > 1
    }


def _spellings(
    tokenizer: PreTrainedTokenizerBase, controls: Collection[int]
) -> re.Pattern[str] | None:
    """Return a pattern of the control tokens that the tokenizer does not mark as special.

    Special ones need no pattern, because a fast tokenizer can split them.
    """
    added = tokenizer.added_tokens_decoder
    words = sorted(str(added[token]) for token in controls if not added[token].special)
    return re.compile("|".join(map(re.escape, words))) if words else None


def _with_fixed_date(
    tokenizer: PreTrainedTokenizerBase, settings: dict[str, Any]
) -> dict[str, Any]:
    """Return the template's arguments, with a fixed date where the template asks for today's.

    With today's date, prompts would change from day to day and a resumed run would differ from an
    uninterrupted one.

    Raises:
        SettingError: the setting `today` is not a date.
    """
    today = str(settings.pop("today", None) or TODAY)
    try:
        date = datetime.fromisoformat(today)
    except ValueError:
        raise SettingError(
            f"agent.sampling.template.today must be a date such as {TODAY}; got {today!r}"
        ) from None
    if "strftime_now" not in str(tokenizer.chat_template):
        return settings
    template = tokenizer.get_chat_template(settings.get("chat_template"))
    fixed = _TODAY_CALL.sub(lambda call: repr(date.strftime(call["format"])), template)
    warn_once(
        "the chat template of %s shows the date; it is %s in every run, so that prompts stay the"
        " same (agent.sampling.template.today)",
        tokenizer.name_or_path or "this tokenizer",
        today,
    )
    return {**settings, "chat_template": fixed}


def _warn_of_channels(name: str, header: str) -> None:
    """Warn that replies are asked for in the message channel, without a thought."""
    warn_once(
        "the chat template of %s writes replies in channels; replies are asked for in the channel"
        " of its messages (%r), so the model does not think before it speaks",
        name or "this tokenizer",
        header,
    )


def _parts(
    tokenizer: PreTrainedTokenizerBase, settings: dict[str, Any]
) -> tuple[str, str, str, str]:
    """Cut a rendered conversation at its messages.

    Returns:
        The opening of a conversation, the text behind a reply, the text that asks for the next
        reply, and the text between that and the message of a reply.
    """
    if tokenizer.chat_template is None:
        # No space at the end: most tokenizers put it into the first token of the reply.
        first = tokenizer.encode("")[:1]
        begins = bool(first) and first[0] == tokenizer.bos_token_id
        opening = f"{tokenizer.bos_token if begins else ''}User: "
        return opening, f"{tokenizer.eos_token or ''}\nUser: ", "\nAssistant:", ""
    messages = [
        {"role": "user", "content": _FIRST},
        {"role": "assistant", "content": _REPLY},
        {"role": "user", "content": _NEXT},
    ]
    try:
        rendered = render(tokenizer, messages, add_generation_prompt=True, **settings)
    except (TemplateError, TypeError, ValueError) as error:
        arguments = {name: value for name, value in settings.items() if name != "chat_template"}
        raise SettingError(
            "the chat template of this tokenizer refuses a conversation of user, assistant, user"
            f" with agent.sampling.template={arguments!r}: {error}"
        ) from error
    try:
        opening, rest = rendered.split(_FIRST)
        before, rest = rest.split(_REPLY)
        between, asking = rest.split(_NEXT)
    except ValueError:
        raise SettingError(
            "the chat template of this tokenizer does not show each message once, as user,"
            f" assistant, user; it gave {rendered!r}"
        ) from None
    header = before.removeprefix(asking) if before.startswith(asking) else ""
    return opening, between, asking, header


def _system_parts(
    tokenizer: PreTrainedTokenizerBase, settings: dict[str, Any], asking: str
) -> tuple[str, str] | None:
    """Return the text before a system message, and between it and the first text.

    None where the template has no place for a system message: it refuses or drops it, or shows it
    as a text that a reply follows.
    """
    if tokenizer.chat_template is None:
        return None
    messages = [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": _FIRST}]
    try:
        rendered = render(tokenizer, messages, **settings)
        before, rest = rendered.split(_SYSTEM)
        between, _ = rest.split(_FIRST)
    except (TemplateError, TypeError, ValueError):
        return None
    return None if asking in between else (before, between)


def find_markers(tokenizer: PreTrainedTokenizerBase, settings: Mapping[str, Any]) -> Markers | None:
    """Return the markers of a tokenizer's template; None where it knows of no thoughts.

    No model is known by name. The markers are a pair of added tokens whose names differ by a slash
    or by START and END. The template must use the pair in one of these ways: around the thought of
    a reply; as an empty thought that asks for a reply where thinking is off; with the first marker
    asking for a reply where thinking is on; or by dropping the thoughts of earlier replies. A pair
    around whole replies is no pair of markers.

    Args:
        tokenizer: a fast tokenizer.
        settings: further arguments of the template.
    """

    def rendered(messages: Sequence[Mapping[str, str]], more: Mapping[str, Any]) -> str:
        try:
            return render(tokenizer, messages, **{**settings, **more})
        except (TemplateError, TypeError, ValueError):
            return ""

    def asking(more: Mapping[str, Any]) -> str:
        """Return the text with which the template asks for a reply."""
        user = [{"role": "user", "content": _NEXT}]
        return rendered(user, {**more, "add_generation_prompt": True}).partition(_NEXT)[2].rstrip()

    words = {str(token): token_id for token_id, token in tokenizer.added_tokens_decoder.items()}
    pairs = [pair for pair in _pairs(words) if tokenizer.chat_template]
    for begin, end in pairs:
        if _separates_thoughts(rendered, asking, begin, end):
            tail = asking({})
            opened, empty = tail.endswith(begin), tail.endswith(end)
            return Markers(words[begin], words[end], opened=opened, offered=not empty)
    return None


def _pairs(words: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield pairs of words whose names differ by a slash, or by START and END."""
    opposites = (("START", "END"), ("start", "end"), ("BEGIN", "END"), ("begin", "end"))
    for word in words:
        ends = [f"{word[:index]}/{word[index:]}" for index in (1, 2)]
        ends += [word.replace(*pair) for pair in opposites if pair[0] in word]
        yield from ((word, end) for end in ends if end in words)


def _separates_thoughts(
    rendered: Callable[[Sequence[Mapping[str, str]], Mapping[str, Any]], str],
    asking: Callable[[Mapping[str, Any]], str],
    begin: str,
    end: str,
) -> bool:
    """Return whether the template has thoughts between two words."""
    user, later = {"role": "user", "content": "?"}, {"role": "user", "content": _NEXT}
    plain = {"role": "assistant", "content": _REPLY}
    _, _, after = rendered([user, plain, later], {}).partition(_REPLY)
    if end in after.partition(_NEXT)[0]:
        return False
    thinking = {**plain, **dict.fromkeys(_THOUGHT_KEYS, _THOUGHT)}
    before, _, rest = rendered([user, thinking], {}).partition(_THOUGHT)
    if begin in before and end in rest.partition(_REPLY)[0] and _REPLY in rest:
        return True
    for switch in ({}, {"enable_thinking": True}, {"enable_thinking": False}):
        tail = asking(switch)
        if tail.endswith(begin) or tail.removesuffix(end).rstrip().endswith(begin):
            return True
    spelled = {**plain, "content": f"{begin}{_THOUGHT}{end}{_REPLY}"}
    dropped = rendered([user, spelled, later], {})
    return _REPLY in dropped and _THOUGHT not in dropped
