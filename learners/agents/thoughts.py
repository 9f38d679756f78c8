"""What of a reply was thought and not said, told by the markers of a tokenizer's chat template.

No model is known by name. The markers are a pair of added tokens, one called as the other but for a
stroke or for END, between which the template puts the thought of a reply; or the empty thought with
which it asks for a reply where thinking is off; or the first of which it asks with where thinking
is on; or with which it drops the thoughts of earlier replies. A pair that encloses whole replies or
is not of that kind is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import TemplateError
from transformers import PreTrainedTokenizerBase

from laconic.learners.agents.template import render

_THOUGHT, _REPLY, _NEXT = "\ue000thought\ue001", "\ue000reply\ue001", "\ue000next\ue001"
_KEYS = ("reasoning_content", "reasoning", "thinking")
"""Where templates look for the thought of a message."""
GAP = "\n\n"
"""What a reply has between its thought and its message, where we write it."""


@dataclass(frozen=True, slots=True)
class Markers:
    """The tokens around a thought, and whether a reply begins within one."""

    begin: int
    """The token that begins it."""
    end: int
    """The token that ends it."""
    opened: bool
    """Whether the template begins the thought itself when it asks for a reply."""
    offered: bool
    """Whether it leaves room for one; not where it asks with an empty thought."""

    @property
    def count(self) -> int:
        """Markers of a reply with one thought."""
        return 2 - self.opened

    def inside(self, ids: Sequence[int]) -> list[bool]:
        """(tokens,) True on the tokens of thoughts, their markers among them."""
        found, inside = [], self.opened
        for token in ids:
            inside = inside or token == self.begin
            found.append(inside or token == self.end)
            inside = inside and token != self.end
        return found

    def parts(self, ids: Sequence[int]) -> tuple[list[int], list[int], bool]:
        """The tokens thought and said in a reply, markers in neither; whether it ends in thought.

        One that ends in thought says nothing.
        """
        inside, markers = self.inside(ids), (self.begin, self.end)
        pairs = [one for one in zip(ids, inside, strict=True) if one[0] not in markers]
        unended = bool(ids) and inside[-1] and ids[-1] != self.end
        thought = [token for token, mine in pairs if mine]
        return thought, [] if unended else [token for token, mine in pairs if not mine], unended

    def within(self, ids: Sequence[int], thought: int, said: int) -> int:
        """How many tokens of a reply there are until it goes beyond a limit.

        Args:
            ids: of the reply.
            thought: most tokens of a thought, without its markers.
            said: most tokens of everything else.
        """
        left = [said, thought + self.count]
        for place, inside in enumerate(self.inside(ids)):
            left[inside] -= 1
            if left[inside] < 0:
                return place
        return len(ids)


def find_markers(tokenizer: PreTrainedTokenizerBase, settings: Mapping[str, Any]) -> Markers | None:
    """The markers of a tokenizer's template; None where it knows of no thoughts.

    Args:
        tokenizer: a fast one.
        settings: further arguments of the template.
    """
    words = {str(token): one for one, token in tokenizer.added_tokens_decoder.items()}
    pairs = [pair for pair in _pairs(words) if tokenizer.chat_template]
    asking = _asking(tokenizer, settings) if pairs else ""
    for begin, end in pairs:
        if _thinks(tokenizer, settings, begin, end):
            tail = asking.rstrip()
            opened, empty = tail.endswith(begin), tail.endswith(end)
            return Markers(words[begin], words[end], opened=opened, offered=not empty)
    return None


def _pairs(words: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Words of which the second is called as the first, with a stroke or as its end."""
    named = (("START", "END"), ("start", "end"), ("BEGIN", "END"), ("begin", "end"))
    for word in words:
        ends = [f"{word[:place]}/{word[place:]}" for place in (1, 2)]
        ends += [word.replace(*pair) for pair in named if pair[0] in word]
        yield from ((word, end) for end in ends if end in words)


def _thinks(
    tokenizer: PreTrainedTokenizerBase, settings: Mapping[str, Any], begin: str, end: str
) -> bool:
    """Whether the template has thoughts between two words."""
    user, later = {"role": "user", "content": "?"}, {"role": "user", "content": _NEXT}
    plain = {"role": "assistant", "content": _REPLY}
    _, _, after = _rendered(tokenizer, [user, plain, later], settings).partition(_REPLY)
    if end in after.partition(_NEXT)[0]:
        return False
    told = {**plain, **dict.fromkeys(_KEYS, _THOUGHT)}
    before, _, rest = _rendered(tokenizer, [user, told], settings).partition(_THOUGHT)
    if begin in before and end in rest.partition(_REPLY)[0] and _REPLY in rest:
        return True
    for thinking in ({}, {"enable_thinking": True}, {"enable_thinking": False}):
        tail = _asking(tokenizer, {**settings, **thinking}).rstrip()
        if tail.endswith(begin) or tail.removesuffix(end).rstrip().endswith(begin):
            return True
    spelled = {**plain, "content": f"{begin}{_THOUGHT}{end}{_REPLY}"}
    dropped = _rendered(tokenizer, [user, spelled, later], settings)
    return _REPLY in dropped and _THOUGHT not in dropped


def _asking(tokenizer: PreTrainedTokenizerBase, settings: Mapping[str, Any]) -> str:
    """What the template puts before a reply that it asks for."""
    user = [{"role": "user", "content": _NEXT}]
    return _rendered(tokenizer, user, {**settings, "add_generation_prompt": True}).partition(_NEXT)[
        2
    ]


def _rendered(
    tokenizer: PreTrainedTokenizerBase,
    messages: Sequence[Mapping[str, str]],
    settings: Mapping[str, Any],
) -> str:
    """A conversation as the template shows it; empty where it refuses it."""
    try:
        return render(tokenizer, messages, **settings)
    except (TemplateError, TypeError, ValueError):
        return ""
