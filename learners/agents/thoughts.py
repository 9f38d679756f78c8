"""Thoughts within replies: the tokens around them, found by what a chat template does.

No model and no token is known by name. A template shows where thoughts stand: around the thought of
a reply that has one, in how it asks for a reply, or in what it drops of earlier replies.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jinja2 import TemplateError
from transformers import PreTrainedTokenizerBase

from laconic.envs.errors import SettingError
from laconic.learners.agents.render import Budget, SlowTemplateError, render
from laconic.learners.agents.turns import control_words, pattern_of

_THOUGHT = "\ue000thought\ue001"
_FIRST, _REPLY, _NEXT = "\ue000first\ue001", "\ue000reply\ue001", "\ue000next\ue001"
_KEYS = ("reasoning_content", "reasoning", "thinking")
"""Keys of a message under which templates look for its thought."""
_KINDS = ("thinking", "thoughts", "reasoning")
"""Types of the part of a message that is its thought."""
_SWITCHES: tuple[dict[str, bool], ...] = ({}, {"enable_thinking": True}, {"enable_thinking": False})
_USER = {"role": "user", "content": _FIRST}
_LATER = {"role": "user", "content": _NEXT}
_MOST_TRIED = 24
"""Maximum control tokens of which all pairs are tried; templates name some ten."""


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


def find_markers(tokenizer: PreTrainedTokenizerBase, settings: Mapping[str, Any]) -> Markers | None:
    """Return the markers of a tokenizer's template; None where no pair of control tokens is found.

    The pair stands around the thought of a reply; or in what the template adds to ask for a reply;
    or around what it drops of earlier replies; or in a system text that it adds. Control tokens of
    the turns themselves are no markers.

    Args:
        tokenizer: a fast tokenizer.
        settings: further arguments of the template.

    Raises:
        SettingError: the template takes too long.
    """
    if tokenizer.chat_template is None:
        return None
    probe = _Probe(tokenizer, settings)
    pair = probe.shown() or probe.asked() or probe.dropped() or probe.told()
    if pair is None:
        return None
    asking = [word for word in probe.words_in(probe.asking({})) if word in pair]
    last = asking[-1] if asking else None
    begin, end = pair
    return Markers(probe.words[begin], probe.words[end], opened=last == begin, offered=last != end)


def lets_think(tokenizer: PreTrainedTokenizerBase, settings: Mapping[str, Any]) -> bool:
    """Return whether a template shows thoughts, or is asked for them."""
    probe = _Probe(tokenizer, settings)
    switched = probe.asking(_SWITCHES[1]) != probe.asking(_SWITCHES[2])
    shown = any(_THOUGHT in text for text in probe.with_thought())
    return switched or shown or bool(settings.get("enable_thinking"))


class _Probe:
    """Short conversations as one template renders them; a refused one is empty."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, settings: Mapping[str, Any]) -> None:
        self._tokenizer, self._settings = tokenizer, settings
        self._budget = Budget()
        self.words = control_words(tokenizer)
        self._pattern = pattern_of(self.words)

    def _rendered(self, messages: Sequence[Mapping[str, Any]], **more: Any) -> str:
        try:
            return render(self._tokenizer, messages, self._budget, **{**self._settings, **more})
        except SlowTemplateError as error:
            # Each further conversation, of which there may be hundreds, would take as long.
            raise SettingError(
                f"the chat template of this tokenizer refuses a conversation with a thought:"
                f" {error}; give another one as chat_template in agent.sampling.template"
            ) from error
        except TemplateError:
            return ""

    def words_in(self, text: str) -> list[str]:
        """Return the control tokens of a text, in order."""
        return self._pattern.findall(text)

    def asking(self, switch: Mapping[str, bool]) -> str:
        """Return the text with which the template asks for a reply."""
        text = self._rendered([_LATER], add_generation_prompt=True, **switch)
        return text.partition(_NEXT)[2]

    @cached_property
    def _turn(self) -> set[str]:
        """Control tokens that close a reply, and open or close a user's text."""
        _, _, rest = self._history.partition(_REPLY)
        return {*self.words_in(rest)}

    @cached_property
    def _history(self) -> str:
        return self._rendered([_USER, {"role": "assistant", "content": _REPLY}, _LATER])

    def with_thought(self) -> Iterator[str]:
        """Yield texts of a conversation that ends in a reply with a thought."""
        contents: list[Any] = [_REPLY]
        for kind in _KINDS:
            thought = {"type": kind, "text": _THOUGHT, kind: _THOUGHT}
            contents.append([thought, {"type": "text", "text": _REPLY}])
            contents.append({"blocks": [thought, {"type": "response", "text": _REPLY}]})
        for switch in _SWITCHES[:2]:
            for content in contents:
                keys = dict.fromkeys(_KEYS, _THOUGHT) if content == _REPLY else {}
                reply = {"role": "assistant", "content": content, **keys}
                yield self._rendered([_USER, reply], **switch)

    def shown(self) -> tuple[str, str] | None:
        """Return the pair that stands around the thought of a reply."""
        for text in self.with_thought():
            before, _, rest = text.partition(_FIRST)[2].partition(_THOUGHT)
            between, reply, _ = rest.partition(_REPLY)
            begins, ends = self.words_in(before), self.words_in(between)
            if reply and begins and ends and self._free(begins[-1], ends[0]):
                return begins[-1], ends[0]
        return None

    def asked(self) -> tuple[str, str] | None:
        """Return the pair of which at least one token asks for a reply and is not in a history."""
        usual = self.words_in(self._history.partition(_FIRST)[2].partition(_REPLY)[0])
        tails = [self.words_in(self.asking(switch)) for switch in _SWITCHES]
        added = [tail[len(os.path.commonprefix([tail, usual])) :] for tail in tails]
        switched = added[1] != added[2]
        for pair in added:
            if len(pair) == 2 and self._free(*pair) and (switched or self._belongs(*pair)):
                return pair[0], pair[1]
        for begin in (words[0] for words in added if len(words) == 1):
            ends = [end for end in self._named if self._free(begin, end)]
            dropping = [end for end in ends if self._drops(begin, end)]
            named = [end for end in self.words if _opposite(begin, end)]
            if dropping or named:
                return begin, [*dropping, *named][0]
        return None

    def dropped(self) -> tuple[str, str] | None:
        """Return the pair between which texts of earlier replies are dropped."""
        ends = [end for end in self._named if self._drops("", end)]
        for end in ends:
            named = [word for word in self.words if _opposite(word, end)]
            begins = named or [word for word in self._named if word not in ends]
            if len(begins) == 1 and self._free(begins[0], end):
                return begins[0], end
        if ends:
            return None
        pairs = ((begin, end) for begin in self._named for end in self._named)
        return next((pair for pair in pairs if self._free(*pair) and self._drops(*pair)), None)

    def told(self) -> tuple[str, str] | None:
        """Return the pair that only a system text of the template's own names."""
        system = {"role": "system", "content": _REPLY}
        given = self._rendered([system, _USER])
        if _REPLY not in given:
            return None
        opening = self._rendered([_USER]).partition(_FIRST)[0]
        words = dict.fromkeys(self.words_in(opening))
        pair = [word for word in words if word not in self.words_in(given)]
        return (pair[0], pair[1]) if len(pair) == 2 and self._free(*pair) else None

    @cached_property
    def _named(self) -> list[str]:
        """Control tokens that the template names, except those of turns."""
        source = self._tokenizer.get_chat_template(self._settings.get("chat_template"))
        words = dict.fromkeys(self.words_in(source))
        return [word for word in words if word not in self._turn][:_MOST_TRIED]

    def _free(self, begin: str, end: str) -> bool:
        """Return whether two control tokens can be markers."""
        return begin != end and not {begin, end} & self._turn

    def _belongs(self, begin: str, end: str) -> bool:
        return _opposite(begin, end) or self._drops(begin, end)

    def _drops(self, begin: str, end: str) -> bool:
        """Return whether the template drops a text between two words of an earlier reply."""
        reply = {"role": "assistant", "content": f"{begin}{_THOUGHT}{end}{_REPLY}"}
        text = self._rendered([_USER, reply, _LATER])
        return _REPLY in text and _THOUGHT not in text


def _opposite(begin: str, end: str) -> bool:
    """Return whether the names of two words differ by a slash, or by START and END.

    The names only tell which of several tokens opens a thought whose end is known.
    """
    ends = [f"{begin[:index]}/{begin[index:]}" for index in (1, 2)]
    for opposites in (("START", "END"), ("start", "end"), ("BEGIN", "END"), ("begin", "end")):
        if opposites[0] in begin:
            ends.append(begin.replace(*opposites))
    return end in ends
