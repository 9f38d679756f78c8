"""The silence word: how it ends a reply, and what the reply then says.

An agent stays silent by writing the silence word. The word ends the reply wherever it stands, so
nothing can be written behind it for free. What stands before it is the message. If that is only
dressing, such as quotes, Markdown or the agent's own name, the reply is silent.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from laconic.envs.dialogue.roster import role_of

_DRESSING = " \t\r\n\"'`*_~#<>[](){}|.,:;!?/\\-–—“”„‘’«»…\u200b\ufeff"
"""Characters that say nothing by themselves, such as quotes, brackets and Markdown."""
_LABELS = frozenset(("assistant", "reply", "response", "answer", "message"))
"""Words that some models write before a reply, beside the agent's name and role."""


class Split(NamedTuple):
    """A reply, split at the silence word."""

    message: str
    """Message of the agent; empty for silence."""
    rest: str
    """Text behind the silence word; empty where only dressing stands there."""


class SilenceWord:
    """The silence word of an agent, in all spellings that count as the word.

    A word in brackets, such as `<silence>`, counts in any case and with a slash (`<Silence>`,
    `<silence/>`, `</silence>`). Any other word counts as it is written, also within a longer word.
    """

    def __init__(self, word: str) -> None:
        """Build the pattern of the word."""
        self.word = word.strip()
        self._core = re.sub(r"^\W+|\W+$", "", self.word)
        opening, _, closing = self.word.partition(self._core or self.word)
        self._brackets = (opening, closing) if opening and closing else None
        pattern, flags = re.escape(self.word), 0
        if self._brackets:
            name = rf"\s*/?\s*{re.escape(self._core)}\s*/?\s*"
            pattern, flags = re.escape(opening) + name + re.escape(closing), re.IGNORECASE
        self._pattern = re.compile(pattern, flags)

    @property
    def spellings(self) -> tuple[str, ...]:
        """Stop strings for servers: the word as written, and the likeliest other spellings."""
        if self._brackets is None:
            return (self.word,)
        opening, closing = self._brackets
        names = (self._core, self._core.lower(), self._core.upper(), self._core.capitalize())
        forms = ("{}", "{}/", "{} /", "/{}")
        written = (opening + form.format(name) + closing for form in forms for name in names)
        return tuple(dict.fromkeys(written))

    def ends(self, text: str) -> bool:
        """Return whether the word stands in a text."""
        return self._pattern.search(text) is not None

    def split(self, text: str, agent: str = "", stopped: bool = False) -> Split:
        """Split a reply into its message and what stands behind the silence word.

        Args:
            text: the reply, without its thought.
            agent: name of the agent, which counts as dressing.
            stopped: whether the reply was ended by its limit. A reply that was stopped within the
                silence word is silent, because it had no room for the rest of the word.
        """
        match = self._pattern.search(text)
        if match is None:
            silent = self._is_bare(text, agent) or (stopped and self._is_begun(text, agent))
            return Split("" if silent else text.strip(), "")
        before, rest = text[: match.start()], text[match.end() :]
        message = "" if _is_dressing(before, agent) else before.strip()
        return Split(message, rest.strip() if rest.strip(_DRESSING) else "")

    def _is_bare(self, text: str, agent: str) -> bool:
        """Return whether a whole reply is the word without its brackets, as in `[silence]`."""
        text, core = text.strip(_DRESSING).casefold(), self._core.casefold()
        return bool(core) and text.endswith(core) and _is_dressing(text.removesuffix(core), agent)

    def _is_begun(self, text: str, agent: str) -> bool:
        """Return whether a reply ends within the word, with nothing but dressing before it."""
        text = text.strip().casefold()
        starts = {
            spelling[:size].casefold()
            for spelling in self.spellings
            for size in range(1, len(spelling))
        }
        return any(
            text.endswith(start) and _is_dressing(text.removesuffix(start), agent)
            for start in starts
        )


def _is_dressing(text: str, agent: str) -> bool:
    """Return whether a text says nothing: dressing, with at most the name of who speaks in it."""
    label, name = text.strip(_DRESSING).casefold(), agent.casefold()
    own = {name, name.replace("_", " "), role_of(name)} if name else set()
    return not label or label in own | _LABELS
