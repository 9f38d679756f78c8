"""A chat template, cut into the text between messages, and the tokens of whole turns.

The template is rendered once around placeholders and cut at them. The parts open a conversation,
separate a reply from the next text, and ask for a reply. `TurnTokenizer` joins them with the texts
of agents, so that no message can close a turn, pose as another speaker or call a tool by spelling a
control token. A reply is never tokenized again.

The prompts of a short conversation are compared with the template's own rendering of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any, NamedTuple

from jinja2 import TemplateError
from transformers import PreTrainedTokenizerBase

from laconic.envs.errors import SettingError
from laconic.learners.agents.cache import remembered, warn_once
from laconic.learners.agents.render import TODAY, render
from laconic.learners.agents.thoughts import Markers, find_markers, lets_think
from laconic.learners.agents.turns import TurnTokenizer

_SYSTEM = "\ue000system\ue001"
_FIRST, _REPLY, _NEXT = "\ue000first\ue001", "\ue000reply\ue001", "\ue000next\ue001"
_LEFT, _RIGHT = " \n", "\n "
"""White space around a placeholder, of which a template that strips texts leaves nothing."""
_SAID = "x"
"""Text before what follows a reply, for tokenizers that treat the beginning of a text otherwise."""
_SAMPLE = (
    "Anna has 3 apples.\nHow many in all?",
    "Ben has 4, so 7.",
    "Are you sure?",
    "Yes",
    "Why?",
)
"""Text, reply, text, ... of the conversation that is compared with the template's rendering."""
GAP = "\n\n"
"""Text between the thought and the message of a reply, where we write it."""


class _Strips(NamedTuple):
    """Sides of a text at which a template strips white space."""

    left: bool = False
    right: bool = False

    def of(self, text: str) -> str:
        text = text.lstrip() if self.left else text
        return text.rstrip() if self.right else text


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
        name = tokenizer.name_or_path or "this tokenizer"
        if tokenizer.chat_template is None:
            warn_once(
                "the tokenizer of %s has no chat template; turns are written as 'User: ...' and"
                " 'Assistant: ...', which suits base models. Give a model with a chat template if"
                " it was trained to follow instructions",
                tokenizer.name_or_path or "this model",
            )
        settings = _with_date(dict(template or {}))
        parts = _parts(tokenizer, settings)
        turns = self._turns = TurnTokenizer(tokenizer)
        self.thoughts = find_markers(tokenizer, settings)
        """Markers of a thought within a reply; None if the template has no thoughts."""
        asking, shown = parts.asking, _header(parts, tokenizer, self.thoughts)
        header = shown or ""
        channels = self.thoughts is None and bool(turns.controls_in(turns.mark(header)))
        if channels:
            _warn_of_channels(name, header)
            asking, header = asking + header, ""
        elif self.thoughts is None and tokenizer.chat_template and lets_think(tokenizer, settings):
            _warn_of_thoughts(name)
        self.header = header
        """Text of the template between a thought, or where a reply is asked for, and its message;
        usually none."""
        self._opening, self._between = turns.mark(parts.opening), turns.mark(parts.between)
        self._asking = turns.mark(asking)
        self._strips, self._reply_strips = parts.strips, parts.reply_strips
        self._system = _system_parts(tokenizer, settings, parts.asking)
        self.end_id = next(iter(turns.controls_in(self._between)), None)
        """Control token with which the template ends a reply; None if it has none."""
        self._closing = ""
        if self.end_id is not None:
            end = turns.spelling(self.end_id)
            self._closing = self._between[: self._between.index(end)] + end
        self._unthought = ""
        if self.thoughts and self.thoughts.opened:
            self._unthought = turns.spelling(self.thoughts.end) + GAP
        self._asking_ids = turns.behind(_SAID, self._asking)
        # A group reads the same texts.
        self._opened = remembered(turns.encode)
        self._continued = remembered(lambda marked: turns.behind(_SAID, marked))
        if tokenizer.chat_template is not None:
            kept = shown is None or parts.before == asking + header
            self._compare(settings, asking.removeprefix(parts.asking), kept)

    @property
    def fixed_ids(self) -> tuple[int, ...]:
        """All tokens that the chat template writes, whatever agents say."""
        prompts = (*self.first_prompt(""), *self.first_prompt("", " "), *self.next_prompt("", ()))
        return (*prompts, *self.reply(""))

    def first_prompt(self, text: str, general: str = "") -> tuple[int, ...]:
        """Return the tokens before an agent's first reply.

        Args:
            text: text that the agent reads.
            general: text before it that all agents read. It becomes the system message if the
                template has one, and the beginning of the text otherwise.
        """
        opening, plain = self._opening, self._turns.plain
        if general and self._system:
            before, between, strips = self._system
            mark = self._turns.mark
            opening = mark(before) + plain(strips.of(general)) + mark(between)
        else:
            text = "\n".join(filter(None, (general, text)))
        return self._opened(opening + plain(self._strips.of(text)) + self._asking)

    def next_prompt(self, text: str, last_reply: Sequence[int]) -> tuple[int, ...]:
        """Return the tokens between an agent's last reply and its next one.

        Args:
            text: text that is new to the agent.
            last_reply: tokens of its last reply as sampled. If they include the end token, it is
                not written twice.
        """
        text = self._turns.plain(self._strips.of(text))
        ids = self._continued(self._between + text + self._asking)
        if last_reply and last_reply[-1] == self.end_id:
            return ids[ids.index(self.end_id) + 1 :]
        return ids

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the tokens of a text within a longer one, never control tokens."""
        return self._turns.behind(_SAID, self._turns.plain(text))

    def extend_prompt(self, prompt: Sequence[int], text: str) -> tuple[int, ...]:
        """Return a prompt with a text added to the end of its last message.

        The tokens of the prompt stay the same; those of the text stand before the ones that ask for
        a reply. A token that spans the border of the two is the exception.

        Args:
            prompt: tokens (prompt,) of `first_prompt` or `next_prompt`, with any before them.
            text: text that the agent reads after its own.

        Raises:
            SettingError: the prompt does not end as this template asks for a reply.
        """
        turns, added = self._turns, self._strips.of(text)
        end = len(prompt) - len(self._asking_ids)
        if end >= 0 and tuple(prompt[end:]) == self._asking_ids:
            return (*prompt[:end], *turns.behind(_SAID, turns.plain(added) + self._asking))
        asking = str(self._tokenizer.decode(list(self._asking_ids)))
        for size in range(1, len(self._asking_ids) + 1):
            ending = str(self._tokenizer.decode(list(prompt[-size:])))
            if ending.endswith(asking):
                added = ending.removesuffix(asking) + added
                asked = turns.behind(_SAID, turns.plain(added) + self._asking)
                return (*prompt[:-size], *asked)
        raise SettingError(
            f"expected a prompt that ends with the tokens {self._asking_ids!r}, with which the chat"
            f" template asks for a reply; got {tuple(prompt[max(end, 0) :])!r}: replies must be"
            " sampled with the chat template of the policy that learns from them"
        )

    def reply(self, message: str) -> tuple[int, ...]:
        """Return the tokens of a reply that says a message, without its end token."""
        message = self._turns.plain(self._reply_strips.of(message))
        ids = self._turns.behind(self._asking, self._start + message + self._closing)
        return ids[:-1] if self._closing else ids

    def silence(self, word: str) -> tuple[int, ...]:
        """Return the tokens of a reply that is silent; the word may be a control token."""
        return self._turns.behind(self._asking, self._start + self._turns.mark(word))

    def _compare(self, settings: Mapping[str, Any], channel: str, kept: bool) -> None:
        """Compare the prompts of a short conversation with the template's own rendering.

        Args:
            settings: further arguments of the template.
            channel: text behind what the template asks a reply with.
            kept: whether the template shows earlier replies as it asked for them; else, it drops
                thoughts that a conversation keeps.

        Raises:
            SettingError: a first prompt has other tokens, though the tokenizer finds all control
                tokens that the template writes.
        """
        tokenizer, (first, said, *_) = self._tokenizer, _SAMPLE
        controls, found = self._turns.controls, True

        def whole(*texts: str, **system: str) -> tuple[int, ...]:
            nonlocal found
            text = _conversation(tokenizer, texts, settings, **system) + channel
            ids = tuple(tokenizer.encode(text, add_special_tokens=False))
            written = self._turns.controls_in(self._turns.mark(text))
            found = found and written == [token for token in ids if token in controls]
            return ids

        expected_all, prompts = whole(*_SAMPLE), [(self.first_prompt(first), whole(first))]
        if self._system:
            prompts.append((self.first_prompt(first, said), whole(first, system=said)))
        name = tokenizer.name_or_path or "this tokenizer"
        for prompt, expected in prompts:
            if prompt != expected and found:
                raise SettingError(
                    f"the prompts of {name} differ from its chat template's own rendering:"
                    f" {_difference(tokenizer, prompt, expected)}. It shows a message alone in"
                    " another way than in a conversation; give a model with another chat template"
                )
        grown, expected = prompts[0][0], expected_all
        for reply, then in zip(_SAMPLE[1::2], _SAMPLE[2::2], strict=True):
            ids = self.reply(reply)
            ids = ids if self.end_id is None else (*ids, self.end_id)
            added = self.next_prompt(then, ids)
            grown = (*grown, *ids, *added)
        if not kept:
            grown, expected = added, expected[-len(added) :]
        if grown == expected:
            return
        reason = "the chat template of %s shows earlier turns otherwise than new ones; a"
        reason += " conversation keeps its tokens as they were read and sampled: %s"
        if not found:
            reason = "the tokenizer of %s takes control tokens of its chat template for text;"
            reason += " prompts have the control tokens: %s"
        warn_once(reason, name, _difference(tokenizer, grown, expected))

    @property
    def _start(self) -> str:
        """Text with which a reply without a thought begins."""
        return self._unthought + self._turns.mark(self.header)


class _Parts(NamedTuple):
    """Text of a template around the messages of a conversation, and how it changes them."""

    opening: str
    """Text before the first message."""
    before: str
    """Text between the first message and an earlier reply."""
    between: str
    """Text between a reply and the next message."""
    asking: str
    """Text that asks for a reply."""
    strips: _Strips = _Strips()
    """Sides at which texts that an agent reads are stripped."""
    reply_strips: _Strips = _Strips()
    """Sides at which replies are stripped."""


def _with_date(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the template's arguments, with a date.

    Raises:
        SettingError: the setting `today` is not a date.
    """
    today = str(settings.pop("today", None) or TODAY)
    try:
        datetime.fromisoformat(today)
    except ValueError:
        raise SettingError(
            f"agent.sampling.template.today must be a date such as {TODAY}; got {today!r}"
        ) from None
    return {**settings, "today": today}


def _warn_of_channels(name: str, header: str) -> None:
    """Warn that replies are asked for in the message channel, without a thought."""
    warn_once(
        "the chat template of %s writes replies in channels; replies are asked for in the channel"
        " of its messages (%r), so the model does not think before it speaks",
        name,
        header,
    )


def _warn_of_thoughts(name: str) -> None:
    """Warn that thoughts are messages."""
    warn_once(
        "the chat template of %s lets a model think, but shows no pair of control tokens around a"
        " thought; what the model thinks is said, charged and heard. Set"
        " agent.sampling.template.enable_thinking=false, or give another model",
        name,
    )


def _difference(
    tokenizer: PreTrainedTokenizerBase, prompt: Sequence[int], expected: Sequence[int]
) -> str:
    """Return the first difference of two lists of tokens, in words."""
    pairs = zip(prompt, expected, strict=False)
    place = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    context = tokenizer.decode(list(prompt[max(0, place - 8) : place]))
    ours, theirs = (
        tokenizer.convert_ids_to_tokens(list(ids[place : place + 4])) for ids in (prompt, expected)
    )
    return f"behind {context!r} the template has the tokens {theirs}, and the prompt {ours}"


def _conversation(
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[str],
    settings: Mapping[str, Any],
    system: str | None = None,
) -> str:
    """Render texts of user, assistant, user, ..., and the request for a reply.

    Raises:
        SettingError: the template refuses it.
    """
    messages = [
        {"role": "assistant" if index % 2 else "user", "content": text}
        for index, text in enumerate(texts)
    ]
    if system is not None:
        messages.insert(0, {"role": "system", "content": system})
    try:
        return render(tokenizer, messages, add_generation_prompt=True, **settings)
    except TemplateError as error:
        hidden = ("chat_template", "today")
        arguments = {name: value for name, value in settings.items() if name not in hidden}
        raise SettingError(
            "the chat template of this tokenizer refuses a conversation of user, assistant, user"
            f" with agent.sampling.template={arguments!r}: {error}"
        ) from error


def _parts(tokenizer: PreTrainedTokenizerBase, settings: Mapping[str, Any]) -> _Parts:
    """Cut a rendered conversation at its messages."""
    if tokenizer.chat_template is None:
        # No space at the end: most tokenizers put it into the first token of the reply.
        first = tokenizer.encode("")[:1]
        begins = bool(first) and first[0] == tokenizer.bos_token_id
        opening = f"{tokenizer.bos_token if begins else ''}User: "
        asking = "\nAssistant:"
        return _Parts(opening, asking, f"{tokenizer.eos_token or ''}\nUser: ", asking)
    places = (_FIRST, _REPLY, _NEXT)
    rendered = _conversation(tokenizer, places, settings)
    try:
        opening, rest = rendered.split(_FIRST)
        before, rest = rest.split(_REPLY)
        between, asking = rest.split(_NEXT)
    except ValueError:
        raise SettingError(
            "the chat template of this tokenizer does not show each message once, as user,"
            f" assistant, user; it gave {rendered!r}"
        ) from None
    padded = _conversation(tokenizer, [_LEFT + place + _RIGHT for place in places], settings)
    return _Parts(
        opening, before, between, asking, _strips(padded, _FIRST), _strips(padded, _REPLY)
    )


def _strips(rendered: str, place: str) -> _Strips:
    """Return at which sides of a placeholder the white space around it is gone."""
    return _Strips(_LEFT + place not in rendered, place + _RIGHT not in rendered)


def _header(
    parts: _Parts, tokenizer: PreTrainedTokenizerBase, thoughts: Markers | None
) -> str | None:
    """Return the text of a template between a thought and the message of an earlier reply.

    None where the template shows earlier replies otherwise than it asks for them.
    """
    asking, before = parts.asking, parts.before
    if thoughts is None:
        return before.removeprefix(asking) if before.startswith(asking) else None
    added = tokenizer.added_tokens_decoder
    begin, end = (re.escape(str(added[token])) for token in (thoughts.begin, thoughts.end))
    # Earlier replies have no thought, and may have none of the markers that asked for one.
    for start in (asking, re.split(f"{begin}|{end}", asking)[0]):
        if before.startswith(start):
            shown = before.removeprefix(start)
            return re.sub(rf"(?:{begin}.*?)?{end}\s*", "", shown, count=1, flags=re.DOTALL)
    return None


def _system_parts(
    tokenizer: PreTrainedTokenizerBase, settings: Mapping[str, Any], asking: str
) -> tuple[str, str, _Strips] | None:
    """Return the text before a system message, between it and the first text, and what is stripped.

    None where the template has no place for a system message: it refuses or drops it, or shows it
    as a text that a reply follows.
    """
    if tokenizer.chat_template is None:
        return None

    def rendered(text: str) -> str:
        messages = [{"role": "system", "content": text}, {"role": "user", "content": _FIRST}]
        return render(tokenizer, messages, **settings)

    try:
        before, rest = rendered(_SYSTEM).split(_SYSTEM)
        between, _ = rest.split(_FIRST)
        strips = _strips(rendered(_LEFT + _SYSTEM + _RIGHT), _SYSTEM)
    except (TemplateError, ValueError):
        return None
    return None if asking in between else (before, between, strips)
