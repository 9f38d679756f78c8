"""Turning what an agent reads into tokens, for any tokenizer, without ever re-tokenising a reply.

The tokenizer's chat template is rendered once around placeholders and cut there into the tokens
that open a conversation, stand between a reply and the next text, and ask for a reply. What agents
read is tokenised apart from these, so that no message can close a turn, pose as another speaker or
call a tool by spelling a special or added token.

Also cuts texts into the tokens of a model as substrings, which budgets are counted with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, overload

from jinja2 import TemplateError
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerBase

from laconic.envs.dialogue.budget import Tokenize, well_formed
from laconic.envs.errors import SettingError
from laconic.learners.agents.cache import remembered, warn_once
from laconic.learners.agents.template import render
from laconic.learners.agents.thoughts import GAP, find_markers

TODAY = "2026-01-01"
"""The date that chat templates show, unless `agent.speech.template.today` sets another one."""
_TODAY_CALL = re.compile(r"""strftime_now\(\s*(?P<quote>['"])(?P<format>.*?)(?P=quote)\s*\)""")
"""Where a chat template writes the present date."""
_SYSTEM = "\ue000system\ue001"
_FIRST, _REPLY, _NEXT = "\ue000first\ue001", "\ue000reply\ue001", "\ue000next\ue001"


class Chat:
    """The token form of one agent's conversation: text, reply, text, reply, ..."""

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, template: Mapping[str, Any] | None = None
    ) -> None:
        """Cut the chat template into its fixed parts.

        Args:
            tokenizer: a fast tokenizer; without a chat template a plain one is used.
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
        self._opening = self._encode(opening)
        system = _system_parts(tokenizer, settings, asking)
        self._system = system and (self._encode(system[0]), self._encode(system[1]))
        self._between = self._encode(between)
        self._asking = self._encode(asking)
        controls = _controls(tokenizer)
        self._spelled = _spellings(tokenizer, controls)
        # What a tokenizer writes for words that it does not know is no control.
        self._barred = controls - {tokenizer.unk_token_id}
        self.end_id = next((token for token in self._between if token in controls), None)
        """The control token with which the template ends a reply; None where it has none."""
        self.thoughts = find_markers(tokenizer, settings)
        """The markers of what is thought in a reply; None where the template knows of none."""
        self.header: tuple[int, ...] = self._encode(header)
        """Tokens that the template has between a thought and the message of a reply; most have
        none."""
        if self.thoughts is None and controls.intersection(self.header):
            _warn_of_channels(tokenizer.name_or_path, header)
            self._asking, self.header = (*self._asking, *self.header), ()
        elif not controls.intersection(self.header) - self._thought_ids:
            self.header = ()
        self.unthought: tuple[int, ...] = ()
        """The tokens with which a reply begins that says something without a thought."""
        if self.thoughts and self.thoughts.opened:
            self.unthought = (self.thoughts.end, *self._encode(GAP))
        self._texts = remembered(self._encode_text)

    @property
    def fixed_ids(self) -> tuple[int, ...]:
        """Every token that the chat template writes, whatever agents say."""
        parts = [self._opening, self._between, self._asking, self.header, self.unthought]
        return tuple(token for part in (*parts, *(self._system or ())) for token in part)

    @property
    def _thought_ids(self) -> set[int]:
        """The markers of thoughts."""
        return {self.thoughts.begin, self.thoughts.end} if self.thoughts else set()

    def open(self, text: str, general: str = "") -> tuple[int, ...]:
        """The tokens before an agent's first reply.

        Args:
            text: what the agent reads.
            general: what it reads before that, as all agents do: the system message where the
                template has one of its own, or else the beginning of the text.
        """
        if general and self._system:
            before, after = self._system
            opening = (*before, *self._texts(general), *after)
            return (*opening, *self._texts(text), *self._asking)
        whole = "\n".join(filter(None, (general, text)))
        return (*self._opening, *self._texts(whole), *self._asking)

    def go_on(self, text: str, last_reply: Sequence[int]) -> tuple[int, ...]:
        """The tokens between an agent's last reply and its next one.

        Args:
            text: what is new to the agent.
            last_reply: tokens of its last reply as sampled. A reply that already ended itself is
                not ended twice.
        """
        between = self._between
        if last_reply and last_reply[-1] == self.end_id:
            between = between[between.index(last_reply[-1]) + 1 :]
        return (*between, *self._texts(text), *self._asking)

    def say(self, text: str) -> tuple[int, ...]:
        """The tokens of a text as an agent reads or says it, control tokens never among them."""
        return self._texts(text)

    def _encode(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, add_special_tokens=False))

    def _encode_text(self, text: str) -> tuple[int, ...]:
        found: list[int] = []
        for part in self._apart(well_formed(text)):
            ids = self._plain(part)
            if not self._barred.isdisjoint(ids):
                # Spelled in another way (another case, a vocabulary that holds it): by characters.
                ids = [one for character in part for one in self._plain(character)]
            found += [one for one in ids if one not in self._barred]
        return tuple(found)

    def _plain(self, text: str) -> list[int]:
        encode = self._tokenizer.encode
        return list(encode(text, add_special_tokens=False, split_special_tokens=True))

    def _apart(self, text: str) -> Iterator[str]:
        """The text, cut after the first character of everything that spells an added token."""
        start = 0
        while self._spelled and (found := self._spelled.search(text, start)):
            yield text[start : found.start() + 1]
            start = found.start() + 1
        yield text[start:]


def first_text(text: str, general: str, silence: str, explain: bool) -> tuple[str, str]:
    """Split the first text of a conversation, and add what the silence word is.

    Args:
        text: as the environment shows it.
        general: the part that all agents read, with which the text begins; may be empty.
        silence: the silence word.
        explain: whether to name the silence word, at the end of the general part if there is one.

    Returns:
        The general part, empty if the text does not begin with it, and the agent's own part.
    """
    rule = f"\nTo stay silent, reply with {silence} and nothing else." if explain else ""
    if not general or not text.startswith(general):
        return "", text + rule
    return general + rule, text.removeprefix(general).removeprefix("\n")


def _controls(tokenizer: PreTrainedTokenizerBase) -> set[int]:
    """The tokens outside the vocabulary of ordinary text, such as `<|im_end|>` and `<tool_call>`.

    Runs of white space and single characters are ordinary, also where they were added.
    """
    added = tokenizer.added_tokens_decoder
    return {one for one, token in added.items() if not str(token).isspace() and len(str(token)) > 1}


def _spellings(
    tokenizer: PreTrainedTokenizerBase, controls: Collection[int]
) -> re.Pattern[str] | None:
    """Matches the control tokens that the tokenizer does not know to be special.

    Special ones need no such care: a fast tokenizer can be told to split them.
    """
    added = tokenizer.added_tokens_decoder
    words = sorted(str(added[token]) for token in controls if not added[token].special)
    return re.compile("|".join(map(re.escape, words))) if words else None


def _with_fixed_date(
    tokenizer: PreTrainedTokenizerBase, settings: dict[str, Any]
) -> dict[str, Any]:
    """Return the template's arguments, with a fixed date where the template asks for today's.

    Prompts would otherwise change from day to day, and a resumed run would differ from a run that
    was not interrupted.

    Raises:
        SettingError: the setting `today` is not a date.
    """
    today = str(settings.pop("today", None) or TODAY)
    try:
        date = datetime.fromisoformat(today)
    except ValueError:
        raise SettingError(
            f"agent.speech.template.today must be a date such as {TODAY}; got {today!r}"
        ) from None
    if "strftime_now" not in str(tokenizer.chat_template):
        return settings
    template = tokenizer.get_chat_template(settings.get("chat_template"))
    fixed = _TODAY_CALL.sub(lambda call: repr(date.strftime(call["format"])), template)
    warn_once(
        "the chat template of %s shows the date; it is %s in every run, so that prompts stay the"
        " same (agent.speech.template.today)",
        tokenizer.name_or_path or "this tokenizer",
        today,
    )
    return {**settings, "chat_template": fixed}


def _warn_of_channels(name: str, header: str) -> None:
    """Say that replies are asked for without a thought."""
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
        What a conversation opens with, what follows a reply, what asks for the next one, and what
        the template has between that and the message of a reply.
    """
    if tokenizer.chat_template is None:
        # No space at the end: most tokenizers put it into the first token of the reply.
        opening = f"{_start(tokenizer)}User: "
        return opening, f"{tokenizer.eos_token or ''}\nUser: ", "\nAssistant:", ""
    messages = [
        {"role": "user", "content": _FIRST},
        {"role": "assistant", "content": _REPLY},
        {"role": "user", "content": _NEXT},
    ]
    try:
        rendered = render(tokenizer, messages, add_generation_prompt=True, **settings)
    except (TemplateError, TypeError, ValueError) as error:
        shown = {name: value for name, value in settings.items() if name != "chat_template"}
        raise SettingError(
            "the chat template of this tokenizer refuses a conversation of user, assistant, user"
            f" with agent.speech.template={shown!r}: {error}"
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
    return (
        opening,
        between,
        asking,
        before.removeprefix(asking) if before.startswith(asking) else "",
    )


def _system_parts(
    tokenizer: PreTrainedTokenizerBase, settings: dict[str, Any], asking: str
) -> tuple[str, str] | None:
    """What stands before a system message, and between it and the first text.

    None where the template has no place for one: it refuses or drops it, or shows it as if it were
    a text that a reply follows.
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


def _start(tokenizer: PreTrainedTokenizerBase) -> str:
    """The start token where the tokenizer itself puts one before a text, else nothing."""
    first = tokenizer.encode("")[:1]
    return str(tokenizer.bos_token) if first and first[0] == tokenizer.bos_token_id else ""


class Pieces(Sequence[str]):
    """The tokens of a text; most are only counted, so they are cut when somebody looks at them."""

    __slots__ = ("_count", "_cut", "_text")

    def __init__(self, text: str, count: int, cut: Callable[[str], tuple[str, ...]]) -> None:
        """Take a text, the number of its tokens, and what cuts it into them."""
        self._text, self._count, self._cut = text, count, cut

    def __len__(self) -> int:
        """How many tokens."""
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        """One token, or several."""
        return self._cut(self._text)[index]

    def __iter__(self) -> Iterator[str]:
        """Token by token."""
        return iter(self._cut(self._text))


def tokenize_with(tokenizer: PreTrainedTokenizerBase) -> Tokenize:
    """What cuts a text into the tokens of a model; they join back to the text.

    A character of several tokens belongs to the last of them, so a cut before it leaves it out.
    What a tokenizer drops between two tokens, such as spaces, belongs to the second. What spells a
    special token is text like any other.

    Args:
        tokenizer: a fast one. It is copied, so what is set on it later changes nothing here.
    """
    # Asked directly: the wrapper around it costs a short message as much again.
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    backend.no_padding()
    backend.no_truncation()
    backend.encode_special_tokens = True

    def cut(text: str) -> tuple[str, ...]:
        spans = backend.encode(well_formed(text), add_special_tokens=False).offsets
        if not spans:
            return (text,) if text else ()
        ends = [min(end, start) for (_, end), (start, _) in zip(spans, spans[1:], strict=False)]
        borders = [0, *ends, len(text)]
        return tuple(text[begin:end] for begin, end in zip(borders, borders[1:], strict=False))

    @remembered
    def tokenize(text: str) -> Pieces:
        # Without offsets, in half the time.
        (encoded,) = backend.encode_batch_fast([well_formed(text)], add_special_tokens=False)
        return Pieces(text, max(len(encoded), bool(text)), cut)

    return tokenize
